import { SYSTEM_NAME } from '../apps/definition.js';
import { memoryMb, runSeconds } from '../definition/quantities.js';
import { checkText, invalid, isFields, Reader } from '../definition/reader.js';
import type { BatchQueue, SchedulerType, System, SystemSecret, SystemType } from './types.js';

/** What somebody says of a system; the rest is given when it is stored. */
export type SystemDefinition = Omit<System, 'id' | 'uuid' | 'orgId' | 'owner'> & {
  /** What opens it, in the clear: it is sealed when it is stored. null: nothing, or what was stored before stays. */
  readonly secret: SystemSecret | null;
};

const SCHEDULERS: Readonly<Record<SystemType, readonly SchedulerType[]>> = {
  local: ['fork', 'slurm'],
  ssh: ['fork', 'slurm'],
  agent: ['fork', 'slurm'],
  tasks: ['tasks'],
};

const ABSOLUTE = {
  most: 1024,
  pattern: /^\/(?!.*(?:^|\/)\.\.(?:\/|$)).*$/,
  form: 'an absolute path without ..',
};
const RELATIVE = { most: 1024, pattern: /^(?!\/)(?!.*(?:^|\/)\.\.(?:\/|$)).*$/, form: 'a path below root, without ..' };
const HOST = { most: 253, pattern: /^(?!-)[A-Za-z0-9._:-]+$/, form: 'the name or address of a host' };
const USER = { most: 64, pattern: /^[A-Za-z_][A-Za-z0-9_.-]*\$?$/, form: 'the name of a user' };
const HOST_KEY = {
  most: 64,
  pattern: /^(?:SHA256:)?[A-Za-z0-9+/]{43}=?$/,
  form: 'the SHA-256 of a host key, as ssh-keygen -l shows it',
};
const QUEUE_NAME = {
  most: 128,
  pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
  form: 'a name: letters, digits, and _ . - after the first',
};
// What begins otherwise is no directive, but a command in the script's head.
const DIRECTIVE = { most: 512, pattern: /^#[A-Z]+ \S.*$/, form: 'a directive, such as #SBATCH --account=lab' };
const NODE = { most: 255 };
const TASK_QUEUE = { most: 255 };
const KEY = { most: 32_768, lines: true };
const PASSWORD = { most: 1024 };
const VARIABLE = { most: 64, pattern: /^[A-Za-z_][A-Za-z0-9_]*$/, form: 'the name of a variable' };
const VALUE = { least: 0, most: 4096 };
const MOST_VARIABLES = 50;
const MOST_QUEUES = 100;
const MOST = 1_000_000;

/** A system as our own administration describes it, checked whole. @throws MusterError `invalid_field` with the field's path. */
export function readSystem(body: unknown): SystemDefinition {
  const reader = new Reader(body, 'system');
  const name = reader.text('name', SYSTEM_NAME);
  const type = reader.oneOf('type', ['local', 'ssh', 'agent', 'tasks']);
  const schedulers = SCHEDULERS[type];
  const scheduler = reader.oneOf('scheduler', schedulers, schedulers[0] ?? 'fork');
  const maxJobs = reader.integer('max_jobs', 0, MOST);
  const maxJobsPerUser = reader.integer('max_jobs_per_user', 0, MOST);
  const queues = reader.list('queues', MOST_QUEUES, readQueue);
  checkQueues(queues, reader.path('queues'));
  const environment = readEnvironment(reader.value('environment'), reader.path('environment'));
  const system: SystemDefinition = {
    name,
    type,
    scheduler,
    root: readRoot(reader, type),
    scratch: clean(reader.optionalText('scratch', RELATIVE) ?? ''),
    ...(type === 'ssh' && readSsh(reader)),
    ...(type === 'agent' && { node: reader.text('node', NODE) }),
    ...(type === 'tasks' && { queue: reader.text('queue', TASK_QUEUE) }),
    queues,
    ...(environment !== null && { environment }),
    ...(maxJobs !== null && { maxJobs }),
    ...(maxJobsPerUser !== null && { maxJobsPerUser }),
    enabled: reader.boolean('enabled', true),
    default: reader.boolean('default', false),
    secret: type === 'ssh' ? readSecret(reader) : null,
  };
  if (type !== 'ssh')
    refuse(reader, type, ['host', 'port', 'user', 'host_key', 'private_key', 'passphrase', 'password']);
  if (type !== 'agent') refuse(reader, type, ['node']);
  if (type !== 'tasks') refuse(reader, type, ['queue']);
  else refuse(reader, type, ['environment']);
  reader.end();
  return system;
}

const ROOTS: Readonly<Record<SystemType, string>> = {
  local: 'the directory of this machine that jobs and their files are below',
  ssh: 'the directory of the host that jobs and their files are below',
  agent: 'a directory of the node that its owner allows, or one below, such as /scratch/jobs',
  tasks: 'a directory that the nodes of the queue and the workers have under the same path, such as /srv/jobs on NFS',
};

function readRoot(reader: Reader, type: SystemType): string {
  if (reader.value('root') === undefined) throw invalid(reader.path('root'), `it is missing: ${ROOTS[type]} (--root)`);
  return clean(reader.text('root', ABSOLUTE));
}

/** null: none. */
function readEnvironment(value: unknown, path: string): Readonly<Record<string, string>> | null {
  if (value === undefined) return null;
  if (!isFields(value)) throw invalid(path, 'must be a JSON object: values by the names of variables');
  const given = Object.entries(value);
  if (given.length > MOST_VARIABLES) throw invalid(path, `must have at most ${MOST_VARIABLES} variables`);
  if (given.length === 0) return null;
  return Object.fromEntries(
    given.map(([name, text]) => [checkText(path, name, VARIABLE), checkText(`${path}.${name}`, text, VALUE)]),
  );
}

function readSsh(reader: Reader): Pick<System, 'host' | 'port' | 'user' | 'hostKey'> {
  const port = reader.integer('port', 1, 65_535);
  const hostKey = reader.optionalText('host_key', HOST_KEY);
  return {
    host: reader.text('host', HOST),
    user: reader.text('user', USER),
    ...(port !== null && { port }),
    ...(hostKey !== null && { hostKey: hostKey.replace(/^SHA256:/, '').replace(/=$/, '') }),
  };
}

function readSecret(reader: Reader): SystemSecret | null {
  const privateKey = reader.optionalText('private_key', KEY);
  const passphrase = reader.optionalText('passphrase', PASSWORD);
  const password = reader.optionalText('password', PASSWORD);
  if (privateKey === null && passphrase !== null)
    throw invalid(reader.path('private_key'), 'it is missing: passphrase opens it');
  if (privateKey === null && password === null) return null;
  return {
    ...(privateKey !== null && { privateKey }),
    ...(passphrase !== null && { passphrase }),
    ...(password !== null && { password }),
  };
}

function refuse(reader: Reader, type: SystemType, names: readonly string[]): void {
  const given = names.find((name) => reader.value(name) !== undefined);
  if (given !== undefined) throw invalid(reader.path(given), `a system of type ${type} has none`);
}

function readQueue(body: unknown, path: string): BatchQueue {
  const reader = new Reader(body, path);
  const memory = reader.value('max_memory');
  const runTime = reader.value('max_run_time');
  const limits = {
    maxJobs: reader.integer('max_jobs', 0, MOST),
    maxUserJobs: reader.integer('max_user_jobs', 0, MOST),
    maxNodes: reader.integer('max_nodes', 0, MOST),
    maxProcessorsPerNode: reader.integer('max_processors_per_node', 0, MOST),
    maxMemoryMb: memory === undefined ? null : memoryMb(reader.path('max_memory'), memory),
    maxSeconds: runTime === undefined ? null : runSeconds(reader.path('max_run_time'), runTime),
  };
  const queue: BatchQueue = {
    name: reader.text('name', QUEUE_NAME),
    default: reader.boolean('default', false),
    ...Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== null)),
    directives: reader.texts('directives', 50, DIRECTIVE),
  };
  reader.end();
  return queue;
}

function checkQueues(queues: readonly BatchQueue[], path: string): void {
  const names = queues.map(({ name }) => name);
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (twice >= 0) throw invalid(`${path}.${twice}.name`, `there is another '${names[twice]}'`);
  const defaults = queues.map((queue, at) => (queue.default === true ? at : -1)).filter((at) => at >= 0);
  if (defaults.length > 1) throw invalid(`${path}.${defaults[1]}.default`, 'only one queue can be the default one');
}

/** Without slashes that say nothing. */
function clean(path: string): string {
  const tidy = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  return tidy;
}
