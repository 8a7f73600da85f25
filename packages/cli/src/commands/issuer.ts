import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { duration, formatDuration } from '../duration.js';
import { MusterError } from '../errors.js';
import { readingOf } from '../files.js';
import { clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addList, addRemove } from './resource.js';

interface Issuer {
  readonly name: string;
  readonly kind: 'public_key' | 'jwks' | 'oidc';
  readonly source: string;
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly tenant: string | null;
  readonly sign_in: { readonly client_id: string; readonly create_users: boolean; readonly ttl: number } | null;
  readonly created_at: string;
}

interface CreateFlags {
  readonly publicKey?: string;
  readonly jwks?: string;
  readonly oidc?: string;
  readonly issuer?: string;
  readonly audience?: string;
  readonly userClaim?: string;
  readonly tenant?: string;
  readonly clientId?: string;
  readonly scope?: string;
  readonly groupsClaim?: string;
  readonly mapGroup?: readonly string[];
  readonly createUsers?: boolean;
  readonly loginTtl?: number;
}

/** Those whose tokens (JWT) the organization takes for jobs. */
export function addIssuer(program: Command, shell: Shell): void {
  const issuer = subcommand(program, {
    usage: 'issuer',
    summary: 'others whose tokens (JWT) are taken for jobs, apps and systems, and where people sign in',
    examples: ['muster issuer create gateway --public-key gateway.pem'],
  });
  const creating = clientCommand(issuer, {
    usage: 'create <name>',
    summary: 'take tokens of an issuer',
    examples: [
      'muster issuer create gateway --public-key gateway.pem',
      'muster issuer create lab --oidc https://login.example.org/realms/lab --audience muster',
      'muster issuer create idp --jwks https://idp.example.org/keys --issuer https://idp.example.org',
      'muster issuer create work --oidc https://login.example.org --client-id muster-cli --user-claim preferred_username --groups-claim groups --map-group ops=push_job_writers',
    ],
  });
  creating
    .option('--public-key <file>', 'PEM file with its public key or certificate')
    .option('--jwks <url>', 'where its set of keys is')
    .option('--oidc <url>', 'an OpenID provider')
    .option('--issuer <iss>', 'what its tokens say in iss')
    .option('--audience <aud>', 'what their aud must have; muster unless given, and of a public key anything')
    .option('--user-claim <claim>', 'which claim names the user')
    .option('--tenant <tenant>', 'what their tenant claim must say, where organizations share a gateway')
    .option('--client-id <id>', 'let people sign in there (`muster login`): a public client with the device flow')
    .option('--scope <scope>', 'what the provider is asked for then; openid profile email unless given')
    .option('--groups-claim <claim>', 'which claim has the groups of the user')
    .option(
      '--map-group <value=group>',
      'who has that value is in this group here; may be given several times',
      collect,
    )
    .option('--create-users', 'make a user and member of whoever signs in; otherwise only members sign in')
    .option('--login-ttl <duration>', 'how long a sign-in lasts; 8h unless given, 7d at most', duration('--login-ttl'));
  does<CreateFlags>(creating, shell, async (call) => {
    const [name = ''] = call.args;
    const { publicKey, jwks, oidc, userClaim, issuer: iss, audience, tenant } = call.options;
    const signIn = signInOf(call.options);
    if ([publicKey, jwks, oidc].filter((one) => one !== undefined).length !== 1) {
      throw new MusterError('usage', { reason: 'give one of --public-key FILE, --jwks URL and --oidc URL' });
    }
    const file = publicKey === undefined ? null : resolve(call.world.cwd, publicKey);
    const body = {
      name,
      ...given({ issuer: iss, audience, tenant }),
      ...(file !== null && { public_key: readingOf(file, () => readFileSync(file, 'utf8')) }),
      ...(jwks !== undefined && { jwks }),
      ...(oidc !== undefined && { oidc }),
      ...(userClaim !== undefined && { user_claim: userClaim }),
      ...(signIn !== null && { sign_in: signIn }),
    };
    const made = await call.client.post<Issuer>(call.client.inOrg('issuers'), body);
    call.out.document(made);
    call.out.line(`tokens of ${made.name} are taken${made.sign_in ? ', and people sign in there: muster login' : ''}`);
  });
  addList<Issuer>(issuer, shell, {
    summary: 'whose tokens are taken',
    examples: ['muster issuer list'],
    read: ({ client }) => client.get(client.inOrg('issuers')),
    columns: {
      Issuer: ({ name }) => name,
      Keys: ({ kind, source }) => (kind === 'public_key' ? 'public key' : source),
      Iss: (one) => one.issuer ?? 'any',
      Audience: ({ audience }) => audience ?? 'any',
      'Sign-in': ({ sign_in }) => (sign_in ? formatDuration(sign_in.ttl) : '-'),
      Created: ({ created_at }) => timeText(created_at),
    },
  });
  addRemove(issuer, shell, {
    usage: 'rm <name>',
    summary: 'take no more tokens of an issuer',
    examples: ['muster issuer rm gateway'],
    path: ({ client }, name = '') => client.inOrg('issuers', name),
    done: (name) => ({ document: { name, deleted: true }, line: `tokens of ${name} are no longer taken` }),
  });
}

/** null: nobody signs in there. @throws MusterError `usage` */
function signInOf(flags: CreateFlags): object | null {
  const { clientId, scope, groupsClaim, mapGroup, createUsers, loginTtl } = flags;
  const rest = given({
    scope,
    groups_claim: groupsClaim,
    groups: mapGroup === undefined ? undefined : Object.fromEntries(mapGroup.map(mapping)),
    create_users: createUsers,
    ttl: loginTtl === undefined ? undefined : Math.ceil(loginTtl),
  });
  if (clientId !== undefined) return { client_id: clientId, ...rest };
  if (Object.keys(rest).length === 0) return null;
  throw new MusterError('usage', { reason: 'what is said of signing in goes with --client-id ID' });
}

/** A value may have = in it, as names of directories do; a group has none. */
function mapping(text: string): readonly [value: string, group: string] {
  const [, value, group] = /^(.+)=([^=]+)$/s.exec(text) ?? [];
  if (value !== undefined && group !== undefined) return [value, group];
  throw new MusterError('usage', { reason: `--map-group takes VALUE=GROUP, not '${text}'` });
}

function given<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}
