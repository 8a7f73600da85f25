/** What of a command line only the server knows, and which lists of its have it. */

import { LISTED_JOB_STATUSES } from './api.js';
import { NODE_STATUSES } from './summary.js';

type Row = Readonly<Record<string, unknown>>;

/** Rows come as a list, or as this member of an object. */
interface Listed {
  readonly path: readonly string[];
  readonly rows?: 'nodes' | 'result' | 'tasks';
  /** The list is not one of an organization. */
  readonly ofServer?: true;
}

/** Those of one kind. */
export interface Named extends Listed {
  /** The member by which each is named on a command line. */
  readonly named: 'id' | 'name' | 'node_name';
  /** There may be any number: the newest are asked for. Of others there are few, and they take no `limit`. */
  readonly newest?: true;
  /** Of all of the list, these. */
  readonly only?: Readonly<Record<string, string>>;
}

export const LISTS = {
  app: { path: ['apps', 'v2'], rows: 'result', named: 'id' },
  approval: { path: ['approvals'], named: 'id' },
  'approval policy': { path: ['approval-policies'], named: 'name' },
  calendar: { path: ['calendars'], named: 'name' },
  collection: { path: ['collections'], named: 'name' },
  'approval to decide': { path: ['approvals'], named: 'id', only: { status: 'pending' } },
  group: { path: ['groups'], named: 'name' },
  issuer: { path: ['issuers'], named: 'name' },
  job: { path: ['jobs', 'v2'], rows: 'result', named: 'id', newest: true },
  'job queue': { path: ['job-queues'], named: 'name' },
  message: { path: ['job-messages'], named: 'id' },
  'node group': { path: ['node_groups'], named: 'name' },
  notification: { path: ['notifications'], named: 'name' },
  organization: { path: ['organizations'], named: 'name', ofServer: true },
  'push job': { path: ['pushy', 'jobs'], named: 'id', newest: true },
  queue: { path: ['queues'], named: 'name' },
  rule: { path: ['rules'], named: 'name' },
  runbook: { path: ['runbooks'], named: 'name' },
  schedule: { path: ['schedules'], named: 'name' },
  secret: { path: ['secrets'], named: 'name' },
  service: { path: ['services'], named: 'name' },
  'ssh node': { path: ['ssh-nodes'], named: 'node_name' },
  system: { path: ['systems', 'v2'], rows: 'result', named: 'id' },
  task: { path: ['tasks'], rows: 'tasks', named: 'id', newest: true },
  user: { path: ['users'], named: 'name' },
  /** Where somebody may sign in, as it is told to whom nobody knows yet. */
  'issuer to sign in at': { path: ['login'], named: 'name' },
} as const satisfies Readonly<Record<string, Named>>;

/** What a selector speaks of: the attributes that there are, and their values in a list that it narrows. */
export interface Selected extends Listed {
  /** The query parameter that takes a selector. */
  readonly where: string;
  /** Those that all have. */
  readonly own: readonly string[];
  /** Those that this one has besides. */
  readonly others: (row: Row) => readonly string[];
  readonly value: (row: Row, attribute: string) => unknown;
}

const within = (row: Row, member: string): Row => (row[member] ?? {}) as Row;

/** A test holds those of tasks and jobs against the server's own. */
export const SELECTORS = {
  'node query': {
    path: ['nodes'],
    rows: 'nodes',
    where: 'q',
    own: ['name', 'status', 'via', 'availability', 'dialect', 'command'],
    others: (node) => [...Object.keys(within(node, 'labels')), ...Object.keys(within(node, 'facts'))],
    value: (node, attribute) =>
      attribute === 'name' ? node.node_name : (within(node, 'labels')[attribute] ?? within(node, 'facts')[attribute]),
  },
  'task selector': {
    path: ['tasks'],
    rows: 'tasks',
    where: 'q',
    own: [
      ...[
        'id',
        'queue',
        'queue_id',
        'plugin',
        'status',
        'code',
        'node',
        'attempt',
        'failures',
        'priority',
        'requester',
      ],
      ...['key', 'reason', 'exit_code', 'ctime', 'mtime', 'started', 'ended', 'not_before'],
    ],
    others: (task) => Object.keys(within(task, 'params')).map((name) => `params.${name}`),
    value: (task, attribute) =>
      attribute.startsWith('params.') ? within(task, 'params')[attribute.slice('params.'.length)] : task[attribute],
  },
  'job selector': {
    path: ['jobs', 'v2'],
    rows: 'result',
    where: 'where',
    own: [
      ...['id', 'name', 'status', 'owner', 'appId', 'systemId', 'batchQueue', 'created', 'accepted', 'ended'],
      ...['lastUpdated', 'remoteJobId', 'remoteStarted', 'nodeCount', 'processorsPerNode', 'memoryPerNode', 'maxHours'],
      ...['archive', 'archivePath', 'archiveSystem', 'inputs', 'parameters', 'runtime', 'walltime', 'tenantQueue'],
    ],
    others: () => [],
    value: (job, attribute) => job[attribute],
  },
} as const satisfies Readonly<Record<string, Selected>>;

/**
 * What a selector of events speaks of: what every event has, and what many of Muster's own have. Names with a dash cannot stand in one.
 * A test holds them against the reference.
 */
export const EVENT_ATTRIBUTES = [
  ...['type', 'org', 'source', 'time'],
  ...['app', 'approval', 'attempt', 'by', 'event', 'exit_code', 'from', 'job', 'kind', 'name', 'node', 'owner'],
  ...['queue', 'reason', 'rule', 'runbook', 'schedule', 'seq', 'state', 'status', 'system', 'task', 'user'],
] as const;

/** What one of several kinds may stand for. */
export const EITHER = {
  client: ['node', 'service'],
  principal: ['user', 'node', 'service'],
} as const satisfies Readonly<Record<string, readonly ('node' | keyof typeof LISTS)[]>>;

/** What is one of a few, or, where `several` says so, some of them with commas between. */
export const STATUSES = {
  'job statuses': { all: LISTED_JOB_STATUSES, several: true },
  'node status': { all: NODE_STATUSES, several: false },
  'node statuses': { all: NODE_STATUSES, several: true },
} as const;

/** What lists of the server have. */
export type ListedKind = 'node' | 'node column' | keyof typeof EITHER | keyof typeof LISTS | keyof typeof SELECTORS;

/** What a word of a command line may be: of the server, of this machine, of a runbook, of whoever has keys. */
export type Kind =
  | ListedKind
  | keyof typeof STATUSES
  | 'context'
  | 'parameter'
  | 'fingerprint'
  | 'key'
  | 'revoked key'
  | 'event attribute'
  | 'command';

/** By what an argument is called. */
const ARGUMENTS: Readonly<Record<string, Kind>> = {
  app: 'app',
  approval: 'approval',
  calendar: 'calendar',
  fingerprint: 'fingerprint',
  job: 'job',
  notification: 'notification',
  policy: 'approval policy',
  principal: 'principal',
  query: 'node query',
  'query-and-command': 'node query',
  queue: 'queue',
  rule: 'rule',
  runbook: 'runbook',
  schedule: 'schedule',
  secret: 'secret',
  system: 'system',
  task: 'task',
  tasks: 'task',
};

/** By the first words of the command, where the argument alone does not say it. */
const OF_COMMAND: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  'approval deny': { approval: 'approval to decide' },
  'approval grant': { approval: 'approval to decide' },
  collection: { name: 'collection' },
  context: { name: 'context' },
  'context add': {},
  'dead-letter': { message: 'message' },
  'event watch': { selector: 'event attribute' },
  group: { name: 'group' },
  issuer: { name: 'issuer' },
  job: { selector: 'job selector' },
  'job-queue': { queue: 'job queue' },
  'key revoke': { fingerprints: 'key' },
  'key unrevoke': { fingerprint: 'revoked key' },
  node: { name: 'node' },
  'node-group': { name: 'node group' },
  org: { name: 'organization' },
  'org add-user': {},
  'org rm-user': { name: 'user' },
  push: { job: 'push job' },
  service: { name: 'service' },
  'ssh-node': { name: 'ssh node' },
  'ssh-node add': {},
  task: { selector: 'task selector' },
  user: { name: 'user' },
};

const FLAGS: Readonly<Record<string, Kind>> = {
  '--columns': 'node column',
  '--context': 'context',
  '--from-job': 'push job',
  '--job-status': 'node statuses',
  '--key-secret': 'secret',
  '--node': 'node',
  '--node-group': 'node group',
  '--not-during': 'calendar',
  '--on-node': 'node',
  '--param': 'parameter',
  '--param-file': 'parameter',
  '--password-secret': 'secret',
  '--queue': 'queue',
  '--rerun': 'push job',
  '--run': 'runbook',
  '--secret': 'secret',
  '--sort': 'node column',
  '--system': 'system',
  '--where': 'task selector',
};

const NAMES = { '--user': 'user', '--client': 'client', '--group': 'group' } as const;

/** By the first words of the command, as elsewhere `--user` is one of a machine, and `--group` one of results. */
const FLAGS_OF_COMMAND: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  'access-token': { '--user': 'user', '--service': 'service' },
  audit: { '--actor': 'principal' },
  event: NAMES,
  group: NAMES,
  inventory: { '--host': 'node' },
  job: { '--user': 'user' },
  'job-queue': { '--owner': 'user' },
  login: { '--issuer': 'issuer to sign in at' },
  'node-group': NAMES,
  notification: { '--on': 'event attribute' },
  'push list': { '--status': 'job statuses', '--user': 'user' },
  'push rerun': { '--status': 'node status' },
  rule: { '--on': 'event attribute' },
  secret: { ...NAMES, '--client': 'service' },
  user: { '--group': 'group' },
};

/** @param path The words of the command. */
export function ofFlag(path: readonly string[], flag: string): Kind | null {
  return ofCommand(FLAGS_OF_COMMAND, path)?.[flag] ?? FLAGS[flag] ?? null;
}

function ofCommand<T>(said: Readonly<Record<string, T>>, [first = '', second = '']: readonly string[]): T | undefined {
  return said[`${first} ${second}`] ?? said[first];
}

/** @param path The words of the command. What is made has no name yet. */
export function ofArgument(path: readonly string[], argument: string): Kind | null {
  if (path.at(-1) === 'create') return null;
  return ofCommand(OF_COMMAND, path)?.[argument] ?? ARGUMENTS[argument] ?? null;
}

/** Of the words of a query and a command the first alone is of this kind. */
export function isOnlyFirst(argument: string): boolean {
  return argument.endsWith('-and-command');
}
