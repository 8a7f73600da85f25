import type { Command } from 'commander';
import { RefusedError } from '../client.js';
import { MusterError } from '../errors.js';
import { nameOf, textOf, yamlOf } from '../files.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addList, addShow, agreed, tellDone, tellItem } from './resource.js';

interface Policy {
  readonly commands?: Readonly<Record<string, unknown>>;
  readonly allow_any?: boolean;
  readonly labels?: Readonly<Record<string, string | number | boolean>>;
  readonly [key: string]: unknown;
}

interface SshNode {
  readonly node_name: string;
  readonly status: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly host_key: string | null;
  readonly key_secret: string | null;
  readonly password_secret: string | null;
  readonly policy: Policy;
  readonly reached: 'unknown' | 'reached' | 'unreachable';
  readonly reached_since: string;
  readonly trouble: string | null;
  readonly connected: boolean;
  readonly created_at: string;
  readonly changed_at: string;
}

interface Tested {
  readonly node_name: string;
  readonly ok: boolean;
  readonly steps: readonly { readonly step: string; readonly ok: boolean; readonly text: string }[];
}

interface Flags {
  readonly host?: string;
  readonly user?: string;
  readonly hostKey?: string;
  readonly keySecret?: string;
  readonly keyFile?: string;
  readonly passwordSecret?: string;
  readonly allow?: readonly string[];
  readonly forbid?: readonly string[];
  readonly policy?: string;
}

/** Characters that the name of a secret has at most. */
const LONGEST_SECRET = 100;

/** Nodes without an agent: the server runs commands there itself, over ssh. */
export function addSshNode(program: Command, shell: Shell): void {
  const sshNode = subcommand(program, {
    usage: 'ssh-node',
    summary: 'nodes without an agent: the server runs push jobs there over ssh, as for appliances and on the first day',
    examples: [
      'muster ssh-node add switch1 --host 10.0.0.9 --user admin --host-key SHA256:… --key-secret switches --allow "show version"',
      'muster ssh-node list',
    ],
  });
  addAdd(sshNode, shell);
  addList<SshNode>(sshNode, shell, {
    summary: 'nodes without an agent, and whether their hosts are reached',
    examples: ['muster ssh-node list', 'muster ssh-node list --json'],
    read: ({ client }) => client.get(client.inOrg('ssh-nodes')),
    columns: {
      Node: ({ node_name }) => node_name,
      Status: ({ status }) => status,
      At: whereText,
      Host: ({ reached }) => (reached === 'unknown' ? 'not asked yet' : reached),
      Since: ({ reached_since }) => timeText(reached_since),
      Trouble: ({ trouble }) => trouble ?? '',
    },
    status: 'Status',
    look: { fit: true },
    none: 'no nodes without an agent: muster ssh-node add NAME --host HOST --user USER --host-key KEY --key-secret SECRET',
  });
  addShow<SshNode>(sshNode, shell, {
    usage: 'show <name>',
    summary: 'where such a node is, how the server logs in there, and what may run',
    examples: ['muster ssh-node show switch1'],
    read: ({ client }, name) => client.get(client.inOrg('ssh-nodes', name)),
    tell,
  });
  addSet(sshNode, shell);
  addTest(sshNode, shell);
  addRm(sshNode, shell);
}

function withFlags(command: Command): Command {
  return command
    .option('--host <host[:port]>', 'name or address of the host; port 22 unless given')
    .option('--user <name>', 'who logs in there; commands run as that user')
    .option(
      '--host-key <key>',
      'the key of the host: SHA256:… as `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` shows it there, or a line of such a file; a host with another one is refused',
    )
    .option('--key-secret <secret>', 'the secret that holds the private key (muster secret set)')
    .option('--key-file <file>', 'the private key: kept as the secret ssh-node.NAME')
    .option('--password-secret <secret>', 'the secret that holds the password; with a key, of the key')
    .option('--allow <command>', 'allow this command, word for word; may be repeated', collect)
    .option(
      '--policy <file>',
      'YAML: commands, allow_any, allow_env, environment, labels, grace as in agent.yaml; - for standard input',
    );
}

function addAdd(sshNode: Command, shell: Shell): void {
  const command = clientCommand(sshNode, {
    usage: 'add <name>',
    summary: 'add a node without an agent; nothing may run there but what --allow and --policy say',
    examples: [
      'muster ssh-node add switch1 --host 10.0.0.9 --user admin --host-key SHA256:… --key-secret switches --allow "show version"',
      'muster ssh-node add box1 --host box1.example.com:2222 --user ops --host-key "$(cat box1.pub)" --key-file id_ed25519 --policy box.yaml',
    ],
  });
  does<Flags>(withFlags(command), shell, async (call) => {
    const [name = ''] = call.args;
    const { host, user } = call.options;
    if (host === undefined || user === undefined)
      throw new MusterError('usage', { reason: 'say where it is and who logs in: --host HOST --user USER' });
    const { client } = call;
    const body = { name, ...bodyOf(call), policy: await policyOf(call, {}) };
    const add = (key: object) => client.post<SshNode>(client.inOrg('ssh-nodes'), { ...body, ...key });
    const { keyFile } = call.options;
    tellItem(call, keyFile === undefined ? await add({}) : await withNewKey(call, name, keyFile, add), tell);
  });
}

function addSet(sshNode: Command, shell: Shell): void {
  const command = clientCommand(sshNode, {
    usage: 'set <name>',
    summary: 'change a node without an agent: what is not named stays as it is',
    examples: [
      'muster ssh-node set switch1 --host-key SHA256:…',
      'muster ssh-node set switch1 --allow "show clock" --forbid "show version"',
      'muster ssh-node set box1 --policy box.yaml',
    ],
  });
  withFlags(command).option('--forbid <command>', 'allow this one no more; may be repeated', collect);
  does<Flags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { client } = call;
    const { allow, forbid, policy } = call.options;
    const path = client.inOrg('ssh-nodes', name);
    const changed = [allow, forbid, policy].some((given) => given !== undefined);
    const before = changed ? (await presently(call, name)).policy : {};
    const body = { ...bodyOf(call), ...(changed && { policy: await policyOf(call, before) }) };
    const { keyFile } = call.options;
    if (Object.keys(body).length === 0 && keyFile === undefined)
      throw new MusterError('usage', { reason: 'say what is to change' });
    // Whether a passphrase opens it, the server knows, which may have one.
    const key = keyFile === undefined ? undefined : await keyIn(call.world, keyFile, true);
    // What may be refused comes before the key, which cannot be brought back.
    let node = Object.keys(body).length === 0 ? null : await client.patch<SshNode>(path, body);
    if (key !== undefined) {
      node ??= await presently(call, name);
      await keepKey(call, keySecretOf(name), key);
      node = await client.patch<SshNode>(path, { key_secret: keySecretOf(name) });
    }
    if (node !== null) tellItem(call, node, tell);
  });
}

function addTest(sshNode: Command, shell: Shell): void {
  const command = clientCommand(sshNode, {
    usage: 'test <name>',
    summary:
      'go the way to its host step by step: it answers, its key, the login, the shell. It tells the key that is shown, and trusts nothing by itself',
    examples: ['muster ssh-node test switch1'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const tested = await call.client.post<Tested>(call.client.inOrg('ssh-nodes', name, 'test'), {});
    call.out.document(tested);
    for (const { step, ok, text } of tested.steps)
      call.out.line(printable(`${ok ? 'ok    ' : 'fails '} ${step}: ${text}`));
    return tested.ok ? 0 : 1;
  });
}

function addRm(sshNode: Command, shell: Shell): void {
  const command = clientCommand(sshNode, {
    usage: 'rm <name>',
    summary: 'forget a node without an agent, with the key that came as a file; nothing changes on its host',
    examples: ['muster ssh-node rm switch1', 'muster ssh-node rm switch1 --force --yes'],
  });
  command.option('--force', 'even while it runs a job, whose command is ended').option('-y, --yes', 'do not ask');
  does<{ readonly force?: boolean; readonly yes?: boolean }>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { client, options } = call;
    const path = client.inOrg('ssh-nodes', name);
    const { key_secret: key } = await presently(call, name);
    const kept = key === keySecretOf(name) ? key : null;
    const withKey = `node ${name} and its key, the secret ${kept}`;
    await agreed(call, `Delete ${printable(kept === null ? `node ${name}` : withKey)}?`);
    await client.delete(path, options.force === true ? { force: true } : {});
    const what = kept !== null && (await keyDeleted(call, kept)) ? withKey : `node ${name}`;
    tellDone(call, { document: { node_name: name, deleted: true }, line: `deleted ${printable(what)}` });
  });
}

function bodyOf({ options }: Call<Flags>): object {
  const { host, user, hostKey, keySecret, keyFile, passwordSecret } = options;
  if (keySecret !== undefined && keyFile !== undefined)
    throw new MusterError('usage', { reason: 'give --key-secret or --key-file, not both' });
  return {
    ...(host !== undefined && placeOf(host)),
    ...(user !== undefined && { user }),
    ...(hostKey !== undefined && { host_key: hostKey }),
    ...(keySecret !== undefined && { key_secret: keySecret }),
    ...(passwordSecret !== undefined && { password_secret: passwordSecret }),
  };
}

/** As it is before a change. Who may not look at it may not change it either, and is told what a change needs. */
async function presently({ client }: Call<object>, name: string): Promise<SshNode> {
  const path = client.inOrg('ssh-nodes', name);
  try {
    return await client.get<SshNode>(path);
  } catch (error) {
    if (isForbidden(error)) await client.patch(path, {});
    throw error;
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof RefusedError && error.code === 'forbidden';
}

/** false: it was gone already. */
async function keyDeleted({ client }: Call<object>, secret: string): Promise<boolean> {
  try {
    await client.delete(client.inOrg('secrets', secret));
    return true;
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'not_found') return false;
    throw error;
  }
}

/** Of a key that came as a file: it is a secret like others from then on. */
function keySecretOf(name: string): string {
  return `ssh-node.${name.replaceAll(/[^A-Za-z0-9_.-]/g, '_')}`.slice(0, LONGEST_SECRET);
}

/** @throws MusterError `usage` when it is no private key, or may need a passphrase where none is */
async function keyIn(world: Call<object>['world'], file: string, passphrase: boolean): Promise<string> {
  const value = await textOf(world, file);
  const { keyTrouble } = await import('@muster/platform/ssh');
  const trouble = await keyTrouble(value);
  if (trouble === null || (trouble.locked && passphrase)) return value;
  throw new MusterError('usage', { reason: `--key-file: ${nameOf(file)} ${trouble.text}` });
}

async function keepKey({ client }: Call<object>, secret: string, value: string): Promise<void> {
  await client.put(client.inOrg('secrets', secret), { value });
}

/** Adds the node with a key of its own, which takes the place of nobody's and does not stay when the node is refused. */
async function withNewKey(
  call: Call<Flags>,
  name: string,
  file: string,
  add: (key: object) => Promise<SshNode>,
): Promise<SshNode> {
  const { client, options, world } = call;
  const key = await keyIn(world, file, options.passwordSecret !== undefined);
  const secret = keySecretOf(name);
  await assertNew(call, name);
  const secrets = await client.get<readonly { readonly name: string }[]>(client.inOrg('secrets'));
  if (secrets.some((one) => one.name === secret)) {
    const ways = `--key-secret ${secret} uses it, muster secret rm ${secret} makes room`;
    throw new MusterError('usage', { reason: `there is a secret ${secret} already, which is left as it is: ${ways}` });
  }
  await keepKey(call, secret, key);
  try {
    return await add({ key_secret: secret });
  } catch (error) {
    await client.delete(client.inOrg('secrets', secret));
    throw error;
  }
}

/** Before anything is kept for it. Who may not look may not add, and is told what that needs. @throws MusterError `already_exists` */
async function assertNew({ client }: Call<object>, name: string): Promise<void> {
  try {
    await client.get(client.inOrg('nodes', name));
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'not_found') return;
    if (isForbidden(error)) await client.post(client.inOrg('ssh-nodes'), {});
    throw error;
  }
  throw new MusterError('already_exists', { kind: 'node', name });
}

/** `HOST`, `HOST:PORT`, `[ADDRESS]:PORT`, or an address of IPv6 alone. @throws MusterError `usage` */
function placeOf(text: string): { readonly host: string; readonly port?: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? (text.split(':').length > 2 ? text : undefined);
  const port = digits === undefined ? undefined : Number(digits);
  if (host === undefined || (port !== undefined && (port < 1 || port > 65_535)))
    throw new MusterError('usage', { reason: `--host: '${text}' is no HOST or HOST:PORT` });
  return { host, ...(port !== undefined && { port }) };
}

async function policyOf({ options, world }: Call<Flags>, before: Policy): Promise<Policy> {
  const { allow = [], forbid = [], policy: file } = options;
  const base = file === undefined ? before : await policyIn(world, file);
  if (allow.length === 0 && forbid.length === 0) return base;
  const commands = Object.entries({ ...base.commands, ...Object.fromEntries(allow.map((one) => [one, one])) });
  const missing = forbid.find((one) => commands.every(([name]) => name !== one));
  if (missing !== undefined) throw new MusterError('usage', { reason: `--forbid: '${missing}' is not allowed anyway` });
  return { ...base, commands: Object.fromEntries(commands.filter(([name]) => !forbid.includes(name))) };
}

async function policyIn(world: Call<Flags>['world'], file: string): Promise<Policy> {
  const read = await yamlOf(world, file);
  if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read as Policy;
  throw new MusterError('usage', {
    reason: `--policy: ${nameOf(file)} must say commands, allow_any, labels … as agent.yaml does`,
  });
}

function tell({ out }: Call<object>, node: SshNode): void {
  out.fields([
    ['Node', node.node_name],
    ['Status', node.status],
    ['At', whereText(node)],
    ['Host', reachedText(node)],
    ['Host key', node.host_key ?? 'none is pinned, so nobody logs in: muster ssh-node test shows what its host has'],
    ['Key', node.key_secret === null ? '-' : `secret ${node.key_secret}`],
    ['Password', node.password_secret === null ? '-' : `secret ${node.password_secret}`],
    ['Allowed', allowedText(node)],
    ['Added', timeText(node.created_at)],
    ['Changed', timeText(node.changed_at)],
  ]);
}

function whereText({ user, host, port }: SshNode): string {
  return `${user}@${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function reachedText({ reached, reached_since, trouble, connected }: SshNode): string {
  if (reached === 'unknown') return 'not asked yet';
  const since = `${reached} since ${timeText(reached_since)}`;
  return `${since}${connected ? ', connected' : ''}${trouble === null ? '' : `: ${trouble}`}`;
}

function allowedText({ node_name: name, policy: { commands = {}, allow_any: any } }: SshNode): string {
  const names = Object.keys(commands);
  if (any === true) return 'whatever is asked for';
  return names.length === 0 ? `nothing: muster ssh-node set ${name} --allow COMMAND` : names.join(', ');
}
