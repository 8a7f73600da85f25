import type { Command } from 'commander';
import { MusterError } from '../errors.js';
import { textOf, withoutLineEnd } from '../files.js';
import { printable } from '../printable.js';
import { hiddenLines, isInteractive } from '../prompt.js';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import type { World } from '../world.js';
import { warnOfUnknown } from './names.js';
import { addList, addRemove, addShow, tellItem } from './resource.js';

interface Secret {
  readonly name: string;
  readonly owner: string;
  readonly holders: readonly string[];
  readonly provider: string | null;
  readonly reference: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Somebody else who keeps values. */
interface Provider {
  readonly name: string;
  readonly type: string;
}

interface SetFlags {
  readonly from?: string;
  readonly provider?: string;
  readonly reference?: string;
}

interface Shared extends Secret {
  /** Of whom it was granted to. */
  readonly unknown: readonly string[];
}

interface Who {
  readonly user?: readonly string[];
  readonly group?: readonly string[];
  readonly client?: readonly string[];
}

/** Values that commands are given as files, and that nobody is shown. */
export function addSecret(program: Command, shell: Shell): void {
  const secret = subcommand(program, {
    usage: 'secret',
    summary: 'values that commands are given as files, and that nobody is shown',
    examples: ['muster secret set db_password --from password.txt', 'muster secret list'],
  });
  addSet(secret, shell);
  addList<Secret>(secret, shell, {
    summary: 'secrets that you may use; never their values',
    examples: ['muster secret list', 'muster secret list --json'],
    read: ({ client }) => client.get(client.inOrg('secrets')),
    columns: {
      Secret: ({ name }) => name,
      Owner: ({ owner }) => owner,
      'May use it': holdersText,
      Kept: ({ provider }) => provider ?? 'here',
      Changed: ({ updated_at }) => timeText(updated_at),
    },
    none: 'no secrets that you may use: muster secret set NAME --from FILE',
  });
  addShow<Secret>(secret, shell, {
    usage: 'show <secret>',
    summary: 'whose a secret is and who may use it; never its value',
    examples: ['muster secret show db_password'],
    read: ({ client }, name) => client.get(client.inOrg('secrets', name)),
    tell,
  });
  addList<Provider>(secret, shell, {
    usage: 'providers',
    summary: 'who else may keep values of secrets: configured by the owner of the server',
    examples: [
      'muster secret providers',
      'muster secret set db_password --provider vault --reference apps/db#password',
    ],
    read: ({ client }) => client.get(client.inOrg('secret-providers')),
    columns: { Provider: ({ name }) => name, Type: ({ type }) => type },
    none: 'none is configured for this organization (secrets.providers of the server)',
  });
  addShare(secret, shell, 'grant', 'let somebody use a secret', [
    'muster secret grant db_password --user anna --group dba',
  ]);
  addShare(secret, shell, 'revoke', 'let somebody use a secret no more', [
    'muster secret revoke db_password --user anna',
  ]);
  addRemove(secret, shell, {
    usage: 'rm <secret>',
    summary: 'delete a secret; commands that run keep it until they end',
    examples: ['muster secret rm db_password', 'muster secret rm db_password --yes'],
    question: (name = '') => `Delete secret ${printable(name)}, and the value that it keeps?`,
    path: ({ client }, name = '') => client.inOrg('secrets', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted secret ${name}` }),
  });
}

function addSet(secret: Command, shell: Shell): void {
  const command = clientCommand(secret, {
    usage: 'set <secret>',
    summary:
      'keep a value under a name, in the place of the one before; it is read from a file, or asked for and not shown. Or say where it is',
    examples: [
      'muster secret set db_password --from password.txt',
      'muster secret set deploy_key --from -',
      'muster secret set db_password --provider vault --reference apps/db#password',
    ],
  });
  command
    .option(
      '--from <file>',
      'what it is; - for standard input, which on a terminal is asked for. The end of a single line is left out',
    )
    .option('--provider <name>', 'who keeps it: it is fetched there when it is used; for admins')
    .option('--reference <reference>', 'what it is there; of a Vault PATH#FIELD, of the field value unless it says');
  does<SetFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const source = await sourceOf(call);
    const kept = await call.client.put<Secret>(call.client.inOrg('secrets', name), source);
    const where = kept.provider === null ? '' : `: ${kept.provider} has it`;
    tellItem(call, kept, ({ out }) => out.line(`keeping secret ${name}${printable(where)}`));
  });
}

/** @throws MusterError `usage` */
async function sourceOf({ options, world, args }: Call<SetFlags>): Promise<object> {
  const { from, provider, reference } = options;
  if (from !== undefined && provider === undefined && reference === undefined) {
    if (from === '-' && isInteractive(world)) return { value: await typed(world, args[0] ?? '') };
    return { value: withoutLineEnd(await textOf(world, from)) };
  }
  if (from === undefined && provider !== undefined && reference !== undefined) return { provider, reference };
  throw new MusterError('usage', { reason: 'give --from FILE, or --provider NAME and --reference REFERENCE' });
}

/** A terminal would show it. @throws MusterError `usage` */
async function typed(world: World, name: string): Promise<string> {
  const [line = '', ...others] = await hiddenLines(world, `Value of secret ${printable(name)}, which is not shown: `);
  // Of a key that was pasted the first line alone would be kept.
  if (others.length > 0)
    throw new MusterError('usage', { reason: 'one line is taken here; give several lines as a file: --from FILE' });
  if (line === '') throw new MusterError('usage', { reason: 'no value was given' });
  return line;
}

function addShare(secret: Command, shell: Shell, what: 'grant' | 'revoke', summary: string, examples: string[]): void {
  const command = clientCommand(secret, { usage: `${what} <secret>`, summary, examples })
    .option('--user <name>', 'a user; may be repeated', collect)
    .option('--group <name>', 'all members of a group; may be repeated', collect)
    .option('--client <name>', 'a service; may be repeated', collect);
  does<Who>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { user = [], group = [], client = [] } = call.options;
    const groupWritten = (one: string) => `group:${one}`;
    const clientWritten = (one: string) => `client:${one}`;
    const who = [...user, ...group.map(groupWritten), ...client.map(clientWritten)];
    if (who.length === 0) throw new MusterError('usage', { reason: 'say who: --user, --group or --client' });
    const shared = await call.client.patch<Shared>(call.client.inOrg('secrets', name), { [what]: who });
    tellItem(call, shared, tell);
    const unknown = new Set(shared.unknown);
    warnOfUnknown(call.out, {
      unknown: {
        users: user.filter((one) => unknown.has(one)),
        clients: client.filter((one) => unknown.has(clientWritten(one))),
        groups: group.filter((one) => unknown.has(groupWritten(one))),
      },
    });
  });
}

function tell({ out }: Call<object>, secret: Secret): void {
  out.fields([
    ['Secret', secret.name],
    ['Owner', secret.owner],
    ['May use it', holdersText(secret)],
    ['Kept', secret.provider === null ? 'here, sealed' : `by ${secret.provider}: ${secret.reference}`],
    ['Created', timeText(secret.created_at)],
    ['Changed', timeText(secret.updated_at)],
  ]);
}

function holdersText({ holders }: Secret): string {
  return holders.length === 0 ? 'its owner and admins' : `its owner, admins, ${holders.join(', ')}`;
}
