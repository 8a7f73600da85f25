import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { duration, formatDuration } from '../duration.js';
import { MusterError } from '../errors.js';
import { readingOf, textOf } from '../files.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import type { World } from '../world.js';
import { addList, addRemove, addShow, tellDone } from './resource.js';

interface Issuer {
  readonly name: string;
  readonly kind: 'public_key' | 'jwks' | 'oidc' | 'ldap';
  readonly source: string;
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly user_claim: string | null;
  readonly tenant: string | null;
  readonly sign_in: (Rules & SignIn) | null;
  readonly directory: (Rules & Directory) | null;
  readonly created_at: string;
}

/** What a sign-in gives, at a provider or a directory. */
interface Rules {
  readonly groups: Readonly<Record<string, string>>;
  readonly create_users: boolean;
  readonly ttl: number;
}

/** How a directory is asked; the password is shown to nobody. */
interface Directory {
  readonly bind_dn: string;
  readonly ca: string | null;
  readonly user_base: string;
  readonly user_filter: string;
  readonly group_base: string | null;
  readonly group_filter: string;
}

interface SignIn {
  readonly client_id: string;
  readonly confidential: boolean;
  /** Where the provider sends browsers back to. */
  readonly redirect_uri: string;
  readonly scope: string;
  readonly groups_claim: string | null;
}

interface Tested {
  readonly name: string;
  readonly keys: number | null;
  readonly person: {
    readonly dn: string;
    readonly name: string;
    readonly found: readonly string[];
    readonly groups: readonly string[];
  } | null;
  readonly unknown: string | null;
}

interface IssuerFlags {
  readonly publicKey?: string;
  readonly jwks?: string;
  readonly oidc?: string;
  readonly ldap?: string;
  readonly bindDn?: string;
  readonly bindPasswordFile?: string;
  readonly ldapCa?: string;
  readonly userBase?: string;
  readonly userFilter?: string;
  readonly groupBase?: string;
  readonly groupFilter?: string;
  readonly issuer?: string;
  readonly audience?: string;
  readonly userClaim?: string;
  readonly tenant?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly scope?: string;
  readonly groupsClaim?: string;
  readonly mapGroup?: readonly string[];
  readonly createUsers?: boolean;
  readonly loginTtl?: number;
}

interface SetFlags extends IssuerFlags {
  readonly unset?: readonly string[];
}

/** What can be unset, as flags name it. Those of signing in are within `sign_in`. */
const UNSET = ['issuer', 'audience', 'user-claim', 'tenant', 'sign-in'] as const;
const UNSET_SIGN_IN = ['client-secret', 'scope', 'groups-claim', 'groups', 'login-ttl'] as const;
/** Of a directory. */
const UNSET_DIRECTORY = ['ldap-ca', 'user-filter', 'group-base', 'group-filter'] as const;
const UNSETTABLE: readonly string[] = [...UNSET, ...UNSET_SIGN_IN, ...UNSET_DIRECTORY];
const CREATE_USERS = 'make a user and member of whoever signs in; otherwise only members sign in';

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
      'muster issuer create staff --ldap ldaps://ldap.example.org --bind-dn cn=muster,dc=example,dc=org --bind-password-file muster.pw --user-base ou=people,dc=example,dc=org --group-base ou=groups,dc=example,dc=org --map-group cn=ops,ou=groups,dc=example,dc=org=push_job_writers',
    ],
  });
  withIssuerFlags(creating);
  creating.option('--create-users', CREATE_USERS);
  does<IssuerFlags>(creating, shell, async (call) => {
    const [name = ''] = call.args;
    const { publicKey, jwks, oidc, ldap } = call.options;
    if ([publicKey, jwks, oidc, ldap].filter((one) => one !== undefined).length !== 1) {
      throw new MusterError('usage', {
        reason: 'give one of --public-key FILE, --jwks URL, --oidc URL and --ldap URL',
      });
    }
    const body = { name, ...saidOf(call), ...(await (ldap === undefined ? signInAsked(call) : directoryAsked(call))) };
    await tellNewGroups(call);
    const made = await call.client.post<Issuer>(call.client.inOrg('issuers'), body);
    call.out.document(made);
    const people = `people sign in at ${made.name}: muster login --issuer ${made.name}`;
    if (made.kind === 'ldap') call.out.line(people);
    else if (made.sign_in === null) call.out.line(`tokens of ${made.name} are taken`);
    else {
      call.out.line(`tokens of ${made.name} are taken, and people sign in there: muster login`);
      call.out.line(`for the console, let the provider send browsers back to ${made.sign_in.redirect_uri}`);
    }
  });
  addSet(issuer, shell);
  addTest(issuer, shell);
  addList<Issuer>(issuer, shell, {
    summary: 'whose tokens are taken',
    examples: ['muster issuer list'],
    read: ({ client }) => client.get(client.inOrg('issuers')),
    columns: {
      Issuer: ({ name }) => name,
      Keys: ({ kind, source }) => (kind === 'public_key' ? 'public key' : source),
      Iss: (one) => one.issuer ?? 'any',
      Audience: ({ audience }) => audience ?? 'any',
      'Sign-in': ({ sign_in, directory }) => {
        const rules = sign_in ?? directory;
        return rules ? formatDuration(rules.ttl) : '-';
      },
      Created: ({ created_at }) => timeText(created_at),
    },
  });
  addShow<Issuer>(issuer, shell, {
    usage: 'show <name>',
    summary: 'an issuer, and where its provider is to send browsers back to that sign in to the console',
    examples: ['muster issuer show work'],
    read: async ({ client }, name) => {
      const found = (await client.get<readonly Issuer[]>(client.inOrg('issuers'))).find((one) => one.name === name);
      if (found === undefined) throw new MusterError('not_found', { kind: 'issuer', name });
      return found;
    },
    tell: ({ out }, one) => out.fields(fieldsOf(one)),
  });
  addRemove(issuer, shell, {
    usage: 'rm <name>',
    summary: 'take no more tokens of an issuer',
    examples: ['muster issuer rm gateway', 'muster issuer rm gateway --yes'],
    question: (name = '') => `Delete issuer ${printable(name)}? Its tokens are no longer taken.`,
    path: ({ client }, name = '') => client.inOrg('issuers', name),
    done: (name) => ({ document: { name, deleted: true }, line: `tokens of ${name} are no longer taken` }),
  });
}

type Field = readonly [title: string, value: string];

function fieldsOf({ name, source, directory, sign_in: signIn, ...issuer }: Issuer): readonly Field[] {
  const rules = signIn ?? directory;
  const tokens: readonly Field[] = [
    ['Keys', issuer.kind === 'public_key' ? 'public key' : source],
    ['Iss', issuer.issuer ?? 'any'],
    ['Audience', issuer.audience ?? 'any'],
    ['Tenant', issuer.tenant ?? 'that of the organization, if they say one'],
  ];
  return [
    ['Issuer', name],
    ...(directory === null ? tokens : ([['Directory', source], ...fieldsOfDirectory(directory)] as const)),
    ...(issuer.user_claim === null ? [] : ([['User claim', issuer.user_claim]] as const)),
    ...(signIn === null ? [] : fieldsOfSignIn(signIn)),
    ...(rules === null ? [] : fieldsOfRules(rules)),
    ['Created', timeText(issuer.created_at)],
  ];
}

function fieldsOfDirectory({ bind_dn, ca, user_base, user_filter, group_base, group_filter }: Directory) {
  const groups: readonly Field[] =
    group_base === null
      ? [['Groups by', 'memberOf of the user']]
      : [
          ['Groups below', group_base],
          ['Group filter', group_filter],
        ];
  return [
    ['Authority', ca === null ? 'those of the system' : 'of its own (PEM with --json)'],
    ['Asked as', bind_dn],
    ['Users below', user_base],
    ['User filter', user_filter],
    ...groups,
  ] satisfies readonly Field[];
}

function fieldsOfSignIn({ client_id, confidential, redirect_uri, scope, groups_claim }: SignIn): readonly Field[] {
  return [
    ['Client', confidential ? `${client_id}, with a secret` : client_id],
    ['Redirect URI', redirect_uri],
    ['Scope', scope],
    ['Groups claim', groups_claim ?? 'none'],
  ];
}

function fieldsOfRules({ groups, create_users, ttl }: Rules): readonly Field[] {
  const mapped = Object.entries(groups).map(([value, group]) => `${value}=${group}`);
  return [
    ['Groups', mapped.length === 0 ? 'none' : mapped.join('; ')],
    ['Makes users', create_users ? 'yes' : 'no'],
    ['Sign-in', formatDuration(ttl)],
  ];
}

function withIssuerFlags(command: Command): void {
  command
    .option('--public-key <file>', 'PEM file with its public key or certificate')
    .option('--jwks <url>', 'where its set of keys is')
    .option('--oidc <url>', 'an OpenID provider')
    .option(
      '--ldap <url>',
      'a directory where people sign in with their password: ldaps://HOST, or ldap://HOST (StartTLS)',
    )
    .option('--bind-dn <dn>', 'as whom the server asks that directory')
    .option('--bind-password-file <file>', 'file with the password of that account; -: standard input')
    .option(
      '--ldap-ca <file>',
      'PEM file of the authority that signed its certificate; those of the system unless given',
    )
    .option('--user-base <dn>', 'entry of the directory below which users are looked for')
    .option(
      '--user-filter <filter>',
      'which entry is somebody’s: {user} is the name that was typed, and the one here; (uid={user}) unless given',
    )
    .option('--group-base <dn>', 'entry below which groups are looked for; memberOf of the user unless given')
    .option(
      '--group-filter <filter>',
      'which groups are somebody’s: {dn} is the name of their entry, {user} their name here',
    )
    .option('--issuer <iss>', 'what its tokens say in iss')
    .option('--audience <aud>', 'what their aud must have; muster unless given, and of a public key anything')
    .option('--user-claim <claim>', 'which claim, or attribute of a directory, names the user')
    .option('--tenant <tenant>', 'what their tenant claim must say, where organizations share a gateway')
    .option(
      '--client-id <id>',
      'let people sign in there (`muster login`, and the console): a client with the device flow and the authorization code flow',
    )
    .option(
      '--client-secret-file <file>',
      'file with the secret of that client, where the provider gives it one: the console proves itself by it; -: standard input',
    )
    .option('--scope <scope>', 'what the provider is asked for then; openid profile email unless given')
    .option('--groups-claim <claim>', 'which claim has the groups of the user')
    .option(
      '--map-group <value=group>',
      'who has that value, or is in the group of that distinguished name, is in this group here; may be given several times',
      collect,
    )
    .option('--login-ttl <duration>', 'how long a sign-in lasts; 8h unless given, 7d at most', duration('--login-ttl'));
}

function addSet(issuer: Command, shell: Shell): void {
  const setting = clientCommand(issuer, {
    usage: 'set <name>',
    summary: 'change an issuer in place; who has signed in stays so, unless it is another provider then',
    examples: [
      'muster issuer set work --map-group ops=push_job_writers --map-group dev=push_job_readers',
      'muster issuer set work --login-ttl 4h --no-create-users',
      'muster issuer set work --unset audience',
      'muster issuer set lab --oidc https://login.example.org/realms/new',
      'muster issuer set work --unset sign-in',
      'muster issuer set staff --bind-password-file muster.pw',
    ],
  });
  withIssuerFlags(setting);
  setting
    .option('--create-users', CREATE_USERS)
    .option('--no-create-users', 'only members sign in')
    .option('--unset <what>', `as it is unless given: ${UNSETTABLE.join(', ')}; may be given several times`, collect);
  does<SetFlags>(setting, shell, async (call) => {
    const [name = ''] = call.args;
    const { unset = [] } = call.options;
    const unknown = unset.find((what) => !UNSETTABLE.includes(what));
    if (unknown !== undefined) throw new MusterError('usage', { reason: `--unset: there is no '${unknown}'` });
    const nulls = (names: readonly string[]) =>
      Object.fromEntries(names.filter((one) => unset.includes(one)).map((one) => [FIELDS[one] ?? one, null]));
    const directory = { ...(await directoryOf(call)), ...nulls(UNSET_DIRECTORY) };
    const signIn = { ...(await signInOf(call)), ...nulls(UNSET_SIGN_IN) };
    const said = { ...signIn, ...directory };
    // What both have is of the one that it is.
    const kind = Object.keys(directory).length > 0 || (await isDirectory(call, name, signIn)) ? 'directory' : 'sign_in';
    const body = { ...saidOf(call), ...(Object.keys(said).length > 0 && { [kind]: said }), ...nulls(UNSET) };
    if (Object.keys(body).length === 0) throw new MusterError('usage', { reason: 'say what is to be changed' });
    await tellNewGroups(call);
    const changed = await call.client.patch<Issuer>(call.client.inOrg('issuers', name), body);
    tellDone(call, { document: changed, line: `changed issuer ${changed.name}` });
  });
}

/** Fields of the API whose names are not those of the flags. */
const FIELDS: Readonly<Record<string, string>> = {
  'user-claim': 'user_claim',
  'sign-in': 'sign_in',
  'client-secret': 'client_secret',
  'groups-claim': 'groups_claim',
  'login-ttl': 'ttl',
  'ldap-ca': 'ca',
  'user-filter': 'user_filter',
  'group-base': 'group_base',
  'group-filter': 'group_filter',
};

/** What the flags say of an issuer. */
function saidOf({ options, world }: Call<IssuerFlags>) {
  const { publicKey, jwks, oidc, ldap, userClaim, issuer, audience, tenant } = options;
  const file = publicKey === undefined ? null : resolve(world.cwd, publicKey);
  return {
    ...given({ jwks, oidc, ldap, issuer, audience, tenant, user_claim: userClaim }),
    ...(file !== null && { public_key: readingOf(file, () => readFileSync(file, 'utf8')) }),
  };
}

/** @throws MusterError `usage` */
async function signInAsked(call: Call<IssuerFlags>) {
  if (Object.keys(await directoryOf(call)).length > 0)
    throw new MusterError('usage', { reason: 'what is said of a directory goes with --ldap URL' });
  const { client_id: clientId, ...signIn } = await signInOf(call);
  if (clientId === undefined && Object.keys(signIn).length > 0)
    throw new MusterError('usage', { reason: 'what is said of signing in goes with --client-id ID' });
  return clientId === undefined ? {} : { sign_in: { client_id: clientId, ...signIn } };
}

/** @throws MusterError `usage` */
async function directoryAsked(call: Call<IssuerFlags>) {
  const said = await signInOf(call);
  const { client_id: clientId, client_secret: secret, scope, groups_claim: groupsClaim, ...rules } = said;
  if ([clientId, secret, scope, groupsClaim].some((one) => one !== undefined))
    throw new MusterError('usage', {
      reason: 'a directory has no --client-id, --client-secret-file, --scope or --groups-claim',
    });
  const { bindDn, bindPasswordFile, userBase } = call.options;
  if (bindDn === undefined || bindPasswordFile === undefined || userBase === undefined)
    throw new MusterError('usage', {
      reason: '--ldap goes with --bind-dn DN, --bind-password-file FILE and --user-base DN',
    });
  return { directory: { ...(await directoryOf(call)), ...rules } };
}

/** What the flags say of a directory alone. @throws MusterError `usage` */
async function directoryOf({ options, world }: Call<IssuerFlags>) {
  const { bindDn, bindPasswordFile, ldapCa, userBase, userFilter, groupBase, groupFilter } = options;
  return given({
    ...{ bind_dn: bindDn, bind_password: await secretOf(world, bindPasswordFile) },
    ca: ldapCa === undefined ? undefined : await textOf(world, ldapCa),
    ...{ user_base: userBase, user_filter: userFilter, group_base: groupBase, group_filter: groupFilter },
  });
}

/** Without the end of the line that editors add. */
async function secretOf(world: World, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : (await textOf(world, file)).replace(/\r?\n$/, '');
}

/** Groups, who is made, how long: a directory and a provider have them alike. */
async function isDirectory({ client }: Call<IssuerFlags>, name: string, said: object): Promise<boolean> {
  if (Object.keys(said).length === 0) return false;
  const issuers = await client.get<readonly Issuer[]>(client.inOrg('issuers'));
  return issuers.some((one) => one.name === name && one.kind === 'ldap');
}

function addTest(issuer: Command, shell: Shell): void {
  const testing = clientCommand(issuer, {
    usage: 'test <name>',
    summary: 'ask an issuer now: for its keys, or a directory for somebody and their groups',
    examples: ['muster issuer test work', 'muster issuer test staff --user jdoe'],
  });
  testing.option('--user <name>', 'who is looked for in a directory, as they would type it');
  does<{ readonly user?: string }>(testing, shell, async (call) => {
    const [name = ''] = call.args;
    const { client, out } = call;
    const tested = await client.post<Tested>(client.inOrg('issuers', name, 'test'), given({ user: call.options.user }));
    out.document(tested);
    const { keys, person, unknown } = tested;
    if (person !== null) {
      out.fields([
        ['Entry', person.dn],
        ['Name here', person.name],
        ['Groups there', person.found.length === 0 ? 'none' : person.found.join('; ')],
        ['Groups here', person.groups.length === 0 ? 'none' : person.groups.join(', ')],
      ]);
    }
    if (unknown !== null) out.line(`nobody signs in by that name: ${unknown}`);
    else if (keys !== null) out.line(`${name} has ${keys} ${keys === 1 ? 'key' : 'keys'}`);
    else if (person === null) out.line(`${name} answers, and shows where users and groups are`);
    return unknown === null ? 0 : 1;
  });
}

/** What they say of signing in there. @throws MusterError `usage` */
async function signInOf({ options, world }: Call<IssuerFlags>) {
  const { clientId, clientSecretFile, scope, groupsClaim, mapGroup, createUsers, loginTtl } = options;
  return given({
    client_id: clientId,
    client_secret: await secretOf(world, clientSecretFile),
    scope,
    groups_claim: groupsClaim,
    groups: mapGroup === undefined ? undefined : Object.fromEntries(mapGroup.map(mapping)),
    create_users: createUsers,
    ttl: loginTtl === undefined ? undefined : Math.ceil(loginTtl),
  });
}

/** Roles may be named as deployed clients do. */
const DEPLOYED = /(?<=^push)y(?=_job_)/;

/** One that is not there may have been misspelt. */
async function tellNewGroups({ client, out, options }: Call<IssuerFlags>): Promise<void> {
  if (options.mapGroup === undefined) return;
  const groups = await client.get<readonly { readonly name: string }[]>(client.inOrg('groups'));
  const there = new Set(groups.map(({ name }) => name));
  for (const group of new Set(options.mapGroup.map((text) => mapping(text)[1])))
    if (!there.has(group.replace(DEPLOYED, '')))
      out.note(
        `there is no group '${printable(group)}' yet (a role is none without members): the first sign-in makes it`,
      );
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
