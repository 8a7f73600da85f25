import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { EXIT } from '@muster/base';
import { type Command, Option } from 'commander';
import { RefusedError } from '../../client.js';
import { MusterError } from '../../errors.js';
import { jsonOf, readingOf } from '../../files.js';
import { type Call, clientCommand, collect, does, type Shell } from '../../shell.js';
import { post, read } from '../envelope.js';
import { count } from '../queue/settings.js';
import { tellItem } from '../resource.js';
import { type Definition, definitionOf, type System, systemPath } from './api.js';
import { tell } from './show.js';

interface SettingFlags {
  readonly scheduler?: string;
  readonly root?: string;
  readonly scratch?: string;
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly hostKey?: string;
  readonly key?: string;
  readonly passphraseFile?: string;
  readonly passwordFile?: string;
  readonly node?: string;
  readonly queue?: string;
  readonly batchQueues?: string;
  readonly env?: readonly string[];
  readonly maxJobs?: number;
  readonly maxJobsPerUser?: number;
  readonly default?: boolean;
}

export function addCreate(system: Command, shell: Shell): void {
  const command = clientCommand(system, {
    usage: 'create <system>',
    summary: 'add a system (of type local: server administrators)',
    examples: [
      'muster system create here --type local --root /var/lib/muster/work --default',
      'muster system create hpc1 --type ssh --host login1.example.com --user jobs --key id_ed25519 --host-key SHA256:KEY --scheduler slurm --root /scratch/jobs',
      'muster system create lab --type agent --node web1 --root /scratch/jobs',
      'muster system create rack --type tasks --queue render --root /shared/jobs',
    ],
  });
  command.addOption(
    new Option(
      '--type <type>',
      'this machine, a host reached by SSH, a node of our own by its agent, or nodes by a queue',
    )
      .choices(['local', 'ssh', 'agent', 'tasks'])
      .makeOptionMandatory(),
  );
  withSettings(command);
  does<SettingFlags & { readonly type: string }>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { client, options } = call;
    const body = { name, type: options.type, ...(await settingsOf(call)) };
    if (await isThere(call, name)) throw new MusterError('already_exists', { kind: 'system', name });
    tellItem(call, await post<System>(client, systemPath(client), body), ({ out }, made) =>
      out.line(`created system ${made.id}`),
    );
    const missing = await missingFor(call, name);
    if (missing !== null) call.out.note(missing);
  });
}

/** What there must be before a job can run on a system that was just created; null: nothing more. */
async function missingFor(
  { client, options }: Call<SettingFlags & { readonly type: string }>,
  name: string,
): Promise<string | null> {
  const { type, hostKey, host = '', port, queue = '' } = options;
  if (type === 'ssh' && hostKey === undefined) {
    const flag = port === undefined ? '' : `-p ${port} `;
    return `its host key is not known, so no job can run there. Ask its operator for it and compare it with \`ssh-keyscan ${flag}${host} | ssh-keygen -lf -\`, then: muster system set ${name} --host-key SHA256:KEY`;
  }
  // Whoever may not look at queues is told nothing of it.
  if (type === 'tasks' && (await outcome(client.get(client.inOrg('queues', queue)), 'forbidden')) === 'not_found') {
    return `there is no queue '${queue}' yet, so no job can run there. Its plugin runs the jobs, see docs/guide/execution-systems.md: muster queue create ${queue} --plugin NAME --threads 8`;
  }
  return null;
}

export function addSet(system: Command, shell: Shell): void {
  const command = clientCommand(system, {
    usage: 'set <system>',
    summary: 'change what is given; for another host or user give the key or password, too',
    examples: [
      'muster system set hpc1 --host-key SHA256:KEY',
      'muster system set hpc1 --batch-queues queues.json --max-jobs 200',
      'muster system set here --default',
    ],
  });
  withSettings(command).option('--no-default', 'it is not the default system any more');
  does<SettingFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { client } = call;
    const settings = await settingsOf(call);
    if (Object.keys(settings).length === 0) throw new MusterError('usage', { reason: 'say what is to be changed' });
    const path = systemPath(client, name);
    const before = definitionOf(await read<System>(client, path));
    checkSecret(before, settings);
    tellItem(call, await post<System>(client, path, { ...before, ...settings }), tell);
  });
}

function withSettings(command: Command): Command {
  return command
    .addOption(
      new Option('--scheduler <kind>', 'who runs programs there').choices(['fork', 'slurm']).default(undefined, 'fork'),
    )
    .option('--root <dir>', 'below it everything of jobs is; of type tasks: a directory that the nodes share')
    .option('--scratch <dir>', 'below the root: where jobs work')
    .option('--host <host>', 'of type ssh')
    .option('--port <n>', 'of its SSH server (default: 22)', count('--port', 1))
    .option('--user <name>', 'who logs in there')
    .option('--key <file>', 'private key that logs in')
    .option('--passphrase-file <file>', 'what opens the private key')
    .option('--password-file <file>', 'password that logs in')
    .option('--host-key <sha256>', 'the only key of the host that is trusted: SHA256:…')
    .option('--node <name>', 'of type agent: the node, whose owner allows it with systems in agent.yaml')
    .option('--queue <name>', 'of type tasks: the queue that runs its jobs')
    .option('--batch-queues <file>', 'list of batch queues with their limits, as JSON')
    .option('--env <name=value>', 'variable of the commands that Muster runs there; may be repeated', collect)
    .option('--max-jobs <n>', 'at one time', count('--max-jobs', 0))
    .option('--max-jobs-per-user <n>', 'at one time', count('--max-jobs-per-user', 0))
    .option('--default', 'jobs that name no system run there, and archive to it');
}

/** What the flags say, as the fields of a definition. */
async function settingsOf({ world, options }: Call<SettingFlags>): Promise<Definition> {
  const { scheduler, root, scratch, host, port, user, node, queue } = options;
  const text = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : readingOf(file, () => readFileSync(resolve(world.cwd, file), 'utf8'));
  const line = (file: string | undefined): string | undefined => text(file)?.replace(/\r?\n$/, '');
  const given = {
    ...{ scheduler, root, scratch, host, port, user, node, queue },
    host_key: options.hostKey,
    private_key: text(options.key),
    passphrase: line(options.passphraseFile),
    password: line(options.passwordFile),
    queues: options.batchQueues === undefined ? undefined : await jsonOf(world, options.batchQueues),
    environment: options.env && Object.fromEntries(options.env.map(variable)),
    max_jobs: options.maxJobs,
    max_jobs_per_user: options.maxJobsPerUser,
    default: options.default,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function variable(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new MusterError('usage', { reason: `--env takes NAME=VALUE, not '${text}'` });
  return [text.slice(0, at), text.slice(at + 1)];
}

async function isThere({ client }: Call<object>, name: string): Promise<boolean> {
  return (await outcome(read(client, systemPath(client, name)))) === 'there';
}

/** What an answer says of something, where refusals say something of it, too. */
async function outcome(asked: Promise<unknown>, also?: 'forbidden'): Promise<'there' | 'not_found' | 'forbidden'> {
  try {
    await asked;
    return 'there';
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    if (error.exit === EXIT.missing) return 'not_found';
    if (error.code === also) return error.code;
    throw error;
  }
}

/** A key is not sent to a host that it was not given for: without a new one there would be none. */
function checkSecret(before: Definition, settings: Definition): void {
  if (settings.private_key !== undefined || settings.password !== undefined) return;
  const moved = ['host', 'port', 'user'].find((name) => name in settings && settings[name] !== before[name]);
  if (moved === undefined) return;
  throw new MusterError('usage', { reason: `with another --${moved} give --key FILE or --password-file FILE again` });
}
