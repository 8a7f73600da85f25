import type { Command } from 'commander';
import { Client, RefusedError } from '../client.js';
import { type DeviceCode, deviceFlow, isLoopback, type Provider } from '../device-flow.js';
import { formatDuration } from '../duration.js';
import { MusterError } from '../errors.js';
import { printable } from '../printable.js';
import { hidden } from '../prompt.js';
import type { Credentials } from '../settings.js';
import { type Call, clientCommand, does, type Shell } from '../shell.js';
import { forgetSignIn, keepSignIn, keptSignIn } from '../sign-ins.js';
import { timeText } from '../summary.js';
import { tellDone } from './resource.js';

type Offered =
  | (Provider & { readonly kind: 'oidc'; readonly name: string })
  | { readonly kind: 'ldap'; readonly name: string };

interface SignedIn {
  readonly token: string;
  readonly user: string;
  readonly organization: string;
  readonly groups: readonly string[];
  readonly expires_at: string;
}

interface Who {
  readonly name: string;
  readonly kind: string;
  readonly organization: string;
  readonly groups: readonly string[];
  readonly server_admin: boolean;
  readonly by: 'key' | 'token' | 'login' | 'session';
  readonly issuer: string | null;
  readonly expires_at: string | null;
}

interface LoginFlags {
  readonly issuer?: string;
  readonly username?: string;
}

/** Signing in at an OpenID provider, or a directory, instead of having a key. */
export function addLogin(program: Command, shell: Shell): void {
  const login = clientCommand(program, {
    usage: 'login',
    summary: 'sign in as at work: at the OpenID provider of the organization in a browser, or at its directory (LDAP)',
    examples: [
      'muster login',
      'muster login --issuer work',
      'muster login --issuer staff --username jdoe',
      'muster login --issuer staff --username jdoe < password.txt',
    ],
  });
  login
    .option('--issuer <name>', 'which one, where there are several')
    .option(
      '--username <name>',
      'at a directory: as whom; $USER unless given. The password is asked for, or read from stdin',
    );
  does<LoginFlags>(login, shell, async (call) => {
    const { world, server } = call;
    if (server.proof !== null) {
      const reason = `the settings (${server.source}) have a ${server.proof}, which counts more than a sign-in: use some without it, such as those of \`muster context add NAME --url ${server.url} --org ${server.org}\``;
      throw new MusterError('usage', { reason });
    }
    const client = clientOf(call, { kind: 'none' });
    const offered = await client.get<readonly Offered[]>(client.inOrg('login'));
    const chosen = choose(offered, call);
    const proof = chosen.kind === 'ldap' ? await typed(call, chosen.name) : await byDevice(call, chosen);
    const signedIn = await client.post<SignedIn>(client.inOrg('login'), { issuer: chosen.name, ...proof });
    const { token, ...about } = signedIn;
    const { user, expires_at } = about;
    keepSignIn(world, { url: server.url, org: server.org, issuer: chosen.name, user, token, expires_at });
    const groups = about.groups.length === 0 ? '' : `, in ${about.groups.join(', ')}`;
    const line = `signed in to ${about.organization} as ${user}${groups}, until ${timeText(expires_at)}`;
    tellDone(call, { document: about, line });
  });
}

function clientOf({ server, world }: Call<object>, credentials: Credentials): Client {
  return new Client({ ...server, credentials }, { now: () => world.now() });
}

function choose(offered: readonly Offered[], { server, options }: Call<LoginFlags>): Offered {
  const { issuer: name } = options;
  const fitting = name === undefined ? offered : offered.filter((one) => one.name === name);
  const [chosen] = fitting;
  const names = offered.map((one) => one.name).join(', ');
  if (chosen === undefined) {
    throw new MusterError('sign_in_not_offered', {
      organization: server.org,
      where: name === undefined ? '' : ` at '${name}'`,
      hint: names === '' ? 'It has no issuer for that.' : `See where one can, --issuer NAME: ${names}.`,
    });
  }
  if (fitting.length > 1) throw new MusterError('usage', { reason: `say where, --issuer NAME: ${names}` });
  return chosen;
}

async function byDevice(call: Call<LoginFlags>, provider: Provider): Promise<{ readonly id_token: string }> {
  if (call.options.username !== undefined)
    throw new MusterError('usage', { reason: '--username is for directories: the provider asks who you are' });
  return { id_token: await deviceFlow(provider, (code) => tell(call, code)) };
}

/** Name and password, which goes nowhere but to the server. @throws MusterError `usage` */
async function typed(
  { world, options, server }: Call<LoginFlags>,
  issuer: string,
): Promise<{ readonly user: string; readonly password: string }> {
  const { protocol, hostname } = new URL(server.url);
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw new MusterError('usage', { reason: `a password goes to no server without TLS: ${server.url}` });
  const user = options.username ?? world.env.USER ?? '';
  if (user === '') throw new MusterError('usage', { reason: 'say as whom: --username NAME' });
  const password = await hidden(world, `Password of ${printable(user)} at ${printable(issuer)}: `);
  if (password === '') throw new MusterError('usage', { reason: 'no password was given' });
  return { user, password };
}

/** On stderr: with `--json` the result is one document. */
function tell({ out }: Call<object>, { code, url, whole, seconds }: DeviceCode): void {
  out.note(`Open    ${printable(url)}`);
  out.note(`Enter   ${printable(code)}`);
  if (whole !== null) out.note(`or open ${printable(whole)}`);
  out.note(`waiting for you to sign in there, ${formatDuration(seconds)} at most …`);
}

export function addLogout(program: Command, shell: Shell): void {
  const logout = clientCommand(program, {
    usage: 'logout',
    summary: 'sign out: end what `muster login` has begun, here and on the server',
    examples: ['muster logout'],
  });
  does<object>(logout, shell, async (call) => {
    const { world, server } = call;
    const kept = keptSignIn(world, server);
    if (kept === undefined) {
      const document = { url: server.url, organization: server.org, signed_out: false };
      tellDone(call, { document, line: `nobody is signed in to ${server.org} at ${server.url}` });
      return;
    }
    const client = clientOf(call, { kind: 'token', token: kept.token });
    try {
      await client.delete(client.inOrg('login'));
    } catch (error) {
      // It has ended by itself, or an administrator has ended it.
      if (!(error instanceof RefusedError) || error.code !== 'invalid_token') throw error;
    } finally {
      forgetSignIn(world, server);
    }
    const document = { url: server.url, organization: server.org, user: kept.user, signed_out: true };
    tellDone(call, { document, line: `signed out of ${server.org}: ${kept.user}` });
  });
}

export function addWhoami(program: Command, shell: Shell): void {
  const whoami = clientCommand(program, {
    usage: 'whoami',
    summary: 'who the server takes you for, and your groups in the organization',
    examples: ['muster whoami', 'muster whoami --json'],
  });
  does<object>(whoami, shell, async (call) => {
    const who = await call.client.get<Who>(call.client.inOrg('whoami'));
    call.out.document(who);
    call.out.fields([
      ['Name', who.kind === 'user' ? who.name : `${who.kind} ${who.name}`],
      ['Organization', who.organization],
      ['Groups', who.groups.length === 0 ? 'none' : who.groups.join(', ')],
      ...(who.server_admin ? ([['Server', 'administrator']] as const) : []),
      ['Proved by', PROOFS[who.by](who)],
      ['Server URL', call.settings.url],
    ]);
  });
}

const PROOFS: Readonly<Record<Who['by'], (who: Who) => string>> = {
  key: () => 'a key',
  session: ({ expires_at }) => `a browser that is signed in, until ${timeText(expires_at ?? '')}`,
  token: ({ expires_at }) => `an access token, until ${timeText(expires_at ?? '')}`,
  login: ({ issuer, expires_at }) => `signing in at ${issuer ?? 'an issuer'}, until ${timeText(expires_at ?? '')}`,
};
