import { runTimeText } from '../definition/quantities.js';
import { invalid, isFields, Reader } from '../definition/reader.js';
import { type BatchQueue, SSH_PORT, type System } from './types.js';

/** Systems as clients of Agave describe them and see them. */

/** Whether a definition is Agave's, and not that of our own administration. */
export function isAgave(body: unknown): boolean {
  return isFields(body) && (body.type === 'EXECUTION' || body.type === 'STORAGE');
}

/** The same as our own administration says it. @throws MusterError `invalid_field` for what there is not here. */
export function fromAgave(body: unknown): object {
  const reader = new Reader(body, 'system');
  const storage = reader.object('storage');
  const type = reader.oneOf('type', ['EXECUTION', 'STORAGE']);
  const login = type === 'EXECUTION' ? reader.object('login') : storage;
  const local = login.oneOf('protocol', ['SSH', 'SFTP', 'LOCAL'], 'SSH') === 'LOCAL';
  const auth = login.object('auth');
  const scheduler = reader.oneOf('scheduler', ['FORK', 'SLURM', 'CUSTOM_SLURM', 'UNKNOWN'], 'FORK');
  return {
    name: reader.value('id'),
    type: local ? 'local' : 'ssh',
    scheduler: scheduler.includes('SLURM') ? 'slurm' : 'fork',
    root: storage.value('rootDir'),
    scratch: below(reader.value('scratchDir') ?? reader.value('workDir')),
    queues: reader.list('queues', 100, fromAgaveQueue),
    max_jobs: limit(reader.value('maxSystemJobs')),
    max_jobs_per_user: limit(reader.value('maxSystemJobsPerUser')),
    enabled: reader.value('available'),
    default: reader.value('default'),
    ...(!local && {
      host: login.value('host'),
      port: login.value('port'),
      user: auth.value('username'),
      private_key: auth.value('privateKey'),
      password: auth.value('password'),
    }),
  };
}

/** Paths are below `rootDir`, also where they begin with a slash. */
function below(path: unknown): unknown {
  return typeof path === 'string' ? path.replace(/^\/+/, '') : path;
}

/** -1 means none there. */
function limit(value: unknown): unknown {
  return value === -1 ? 0 : value;
}

function fromAgaveQueue(body: unknown, path: string): object {
  const reader = new Reader(body, path);
  const directives = reader.value('customDirectives');
  if (directives !== undefined && typeof directives !== 'string') {
    throw invalid(reader.path('customDirectives'), 'must be text');
  }
  return {
    name: reader.value('name'),
    default: reader.value('default'),
    max_jobs: limit(reader.value('maxJobs')),
    max_user_jobs: limit(reader.value('maxUserJobs')),
    max_nodes: limit(reader.value('maxNodes')),
    max_processors_per_node: limit(reader.value('maxProcessorsPerNode')),
    max_memory: reader.value('maxMemoryPerNode'),
    max_run_time: reader.value('maxRequestedTime'),
    directives: directives?.split('\n').filter((line) => line.trim() !== ''),
  };
}

const link = (href: string) => ({ href });

/** As Agave lists systems. @param root Before `/systems/v2`. */
export function systemSummary(system: System, root: string) {
  return {
    id: system.name,
    name: system.name,
    type: 'EXECUTION',
    status: system.enabled ? 'UP' : 'DOWN',
    available: system.enabled,
    public: true,
    default: system.default,
    muster: placeOf(system),
    _links: { self: link(`${root}/systems/v2/${encodeURIComponent(system.name)}`) },
  };
}

/** What Agave's shape lacks: by what a system is reached. */
function placeOf({ type, host, node, queue }: System) {
  return { type, host: host ?? null, node: node ?? null, queue: queue ?? null };
}

const PROTOCOLS = { local: 'LOCAL', ssh: 'SSH', agent: 'AGENT', tasks: 'LOCAL' } as const;

/** One system. What opens it is never shown. */
export function systemView(system: System, root: string) {
  const { type, host = null, port = null, user = null } = system;
  const auth = { type: type === 'ssh' ? 'SSHKEYS' : 'LOCAL', username: user };
  const at = { host, port: type === 'ssh' ? (port ?? SSH_PORT) : null };
  return {
    ...systemSummary(system, root),
    uuid: system.uuid,
    owner: system.owner,
    executionType: system.scheduler === 'slurm' ? 'HPC' : 'CLI',
    scheduler: system.scheduler.toUpperCase(),
    scratchDir: system.scratch,
    maxSystemJobs: system.maxJobs ?? null,
    maxSystemJobsPerUser: system.maxJobsPerUser ?? null,
    queues: system.queues.map(queueView),
    login: { ...at, protocol: PROTOCOLS[type], auth },
    storage: { ...at, protocol: type === 'ssh' ? 'SFTP' : 'LOCAL', rootDir: system.root, homeDir: '/', auth },
    muster: {
      ...placeOf(system),
      scheduler: system.scheduler,
      hostKey: system.hostKey ?? null,
      environment: system.environment ?? {},
    },
  };
}

function queueView(queue: BatchQueue) {
  const { maxMemoryMb, maxSeconds } = queue;
  return {
    name: queue.name,
    default: queue.default === true,
    maxJobs: queue.maxJobs ?? null,
    maxUserJobs: queue.maxUserJobs ?? null,
    maxNodes: queue.maxNodes ?? null,
    maxProcessorsPerNode: queue.maxProcessorsPerNode ?? null,
    maxMemoryPerNode: maxMemoryMb === undefined ? null : `${maxMemoryMb / 1024}GB`,
    maxRequestedTime: maxSeconds === undefined ? null : runTimeText(maxSeconds),
    customDirectives: queue.directives?.join('\n') ?? '',
  };
}
