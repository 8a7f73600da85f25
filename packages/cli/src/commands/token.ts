import { type Command, Option } from 'commander';
import { pathOf } from '../client.js';
import { duration } from '../duration.js';
import { MusterError } from '../errors.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addList, addRemove } from './resource.js';

interface EnrolToken {
  readonly id: string;
  readonly token?: string;
  readonly uses_left: number;
  readonly expires_at: string;
  readonly created_by: string;
}

/** Tokens with which agents enrol. */
export function addToken(program: Command, shell: Shell): void {
  const token = subcommand(program, {
    usage: 'token',
    summary: 'enrolment tokens: with one, a new agent registers its own key',
    examples: ['muster token create --uses 10 --ttl 1h'],
  });
  const create = clientCommand(token, {
    usage: 'create',
    summary: 'make a token; it is shown once',
    examples: ['muster token create --uses 1 --ttl 1h', 'muster token create --uses 200 --ttl 1d --json'],
  });
  create.option('--uses <n>', 'how many agents may enrol with it', wholeNumber, 1).addOption(ttlOption('1h'));
  does<{ readonly uses: number; readonly ttl: number }>(create, shell, async (call) => {
    const { uses, ttl } = call.options;
    const made = await call.client.post<EnrolToken>(call.client.inOrg('tokens'), { uses, ttl: Math.ceil(ttl) });
    call.out.document(made);
    call.out.line(made.token);
    call.out.note(`for ${uses} ${uses === 1 ? 'agent' : 'agents'}, until ${timeText(made.expires_at)}`);
  });
  addList<EnrolToken>(token, shell, {
    summary: 'tokens that have not expired, and how many more agents each lets in',
    examples: ['muster token list'],
    read: ({ client }) => client.get(client.inOrg('tokens')),
    columns: {
      Id: ({ id }) => id,
      'Uses left': ({ uses_left }) => uses_left,
      Expires: ({ expires_at }) => timeText(expires_at),
      'Created by': ({ created_by }) => created_by,
    },
  });
  addRemove(token, shell, {
    usage: 'rm <id>',
    summary: 'make a token useless',
    examples: ['muster token rm ID', 'muster token rm ID --yes'],
    question: (id = '') => `Delete token ${printable(id)}?`,
    path: ({ client }, id = '') => client.inOrg('tokens', id),
    done: (id) => ({ document: { id, deleted: true }, line: `deleted token ${id}` }),
  });
}

interface AccessToken {
  readonly id: string;
  readonly token?: string;
  readonly user?: string;
  readonly service?: string;
  readonly expires_at: string;
  readonly created_by: string;
}

interface ServiceFlag {
  readonly service?: string;
}

interface TokenFlags extends ServiceFlag {
  readonly user?: string;
  readonly organization?: string;
  readonly ttl: number;
}

/** A service's tokens belong to its organization, a user's to the user. */
function tokensOf({ client, options: { service } }: Call<ServiceFlag>): string {
  return service === undefined ? pathOf('access_tokens') : client.inOrg('services', service, 'access_tokens');
}

function bearer({ user, service }: AccessToken): string {
  return service === undefined ? (user ?? '') : `service ${service}`;
}

/** Tokens that scripts bear instead of signing. */
export function addAccessToken(program: Command, shell: Shell): void {
  const token = subcommand(program, {
    usage: 'access-token',
    summary: 'bearer tokens for scripts (MUSTER_TOKEN)',
    examples: ['muster access-token create --user ci --ttl 30d', 'muster access-token create --service relay'],
  });
  const create = clientCommand(token, {
    usage: 'create',
    summary: 'make a bearer token; it is shown once',
    examples: ['muster access-token create --user ci --ttl 30d', 'MUSTER_TOKEN=TOKEN muster push list'],
  });
  create
    .option('--user <name>', 'the user it stands for; yourself when absent')
    .option('--service <name>', 'the service it stands for')
    .option('--organization <name>', 'of a user: where its requests for jobs go whose paths name none')
    .addOption(ttlOption('30d'));
  does<TokenFlags>(create, shell, async (call) => {
    const { user, service, organization, ttl } = call.options;
    if (user !== undefined && service !== undefined) {
      throw new MusterError('usage', { reason: 'give either --user NAME or --service NAME' });
    }
    if (service !== undefined && organization !== undefined) {
      throw new MusterError('usage', { reason: 'a service is of its organization: --organization goes with users' });
    }
    const made = await call.client.post<AccessToken>(tokensOf(call), {
      ...(user === undefined ? {} : { user }),
      ...(organization === undefined ? {} : { organization }),
      ttl: Math.ceil(ttl),
    });
    call.out.document(made);
    call.out.line(made.token);
    call.out.note(`for ${bearer(made)}, until ${timeText(made.expires_at)}`);
  });
  addList<AccessToken, ServiceFlag>(token, shell, {
    summary: 'bearer tokens that still work',
    examples: ['muster access-token list', 'muster access-token list --service relay'],
    read: (call) => call.client.get(tokensOf(call)),
    columns: {
      Id: ({ id }) => id,
      For: bearer,
      Expires: ({ expires_at }) => timeText(expires_at),
      'Created by': ({ created_by }) => created_by,
    },
  }).option('--service <name>', 'those of a service');
  addRemove<ServiceFlag>(token, shell, {
    usage: 'rm <id>',
    summary: 'make a bearer token useless',
    examples: ['muster access-token rm ID --yes', 'muster access-token rm ID --service relay'],
    question: (id = '') => `Delete access token ${printable(id)}?`,
    path: (call, id = '') => `${tokensOf(call)}${pathOf(id)}`,
    done: (id) => ({ document: { id, deleted: true }, line: `deleted access token ${id}` }),
  }).option('--service <name>', 'one of a service');
}

function ttlOption(fallback: string): Option {
  const parse = duration('--ttl');
  return new Option('--ttl <duration>', 'how long it lasts').argParser(parse).default(parse(fallback), fallback);
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text);
  throw new MusterError('usage', { reason: `'${text}' is not a number above 0` });
}
