/** Where somebody is in the console. The URL is the only place where filters, sorting and open panes are kept. */
export type Screen =
  | { readonly name: 'overview' }
  | { readonly name: 'nodes' }
  | { readonly name: 'node'; readonly node: string }
  | { readonly name: 'jobs' }
  | { readonly name: 'job'; readonly id: string }
  | { readonly name: 'new-job' }
  | { readonly name: 'long-jobs' }
  | { readonly name: 'new-long-job' }
  | { readonly name: 'long-job'; readonly id: string }
  | { readonly name: 'job-works'; readonly part: JobPart }
  | { readonly name: 'queues' }
  | { readonly name: 'queue'; readonly queue: string }
  | { readonly name: 'tasks' }
  | { readonly name: 'task'; readonly id: string }
  | { readonly name: 'balance' }
  | { readonly name: 'schedules' }
  | { readonly name: 'rules' }
  | { readonly name: 'events' }
  | { readonly name: 'audit' }
  | { readonly name: 'servers' }
  | { readonly name: 'access'; readonly part: AccessPart }
  | { readonly name: 'me' }
  | { readonly name: 'runbooks' }
  | { readonly name: 'runbook'; readonly runbook: string }
  | { readonly name: 'approvals' };

/** Who may do what, and what lets them in. */
const ACCESS_PARTS = ['people', 'groups', 'node-groups', 'tokens', 'sessions'] as const;
export type AccessPart = (typeof ACCESS_PARTS)[number];

/** What works on long jobs. Ids of jobs look otherwise. */
const JOB_PARTS = ['recovery', 'queues', 'workers', 'messages'] as const;
export type JobPart = (typeof JOB_PARTS)[number];

export type ScreenName = Screen['name'];

export interface Place {
  /** Null: the page without a name of an organization. */
  readonly org: string | null;
  /** Null: no such page. */
  readonly screen: Screen | null;
  readonly query: URLSearchParams;
  /** Parameters that the screen does not know. */
  readonly unknown: readonly string[];
}

const BASE = '/console/';

/** Parameters of each screen; another one is said, not passed over. */
export const PARAMETERS: Readonly<Record<ScreenName, readonly string[]>> = {
  overview: [],
  nodes: ['q', 'owner', 'sort', 'group', 'selected', 'compare'],
  node: [],
  jobs: ['status', 'command', 'by', 'node'],
  job: ['view', 'node', 'stream', 'status', 'group', 'line', 'find', 'event'],
  'new-job': [
    ...['q', 'nodes', 'group', 'from', 'statuses', 'result', 'command', 'quorum', 'concurrency', 'failures'],
    ...['timeout', 'user', 'dir', 'wait'],
  ],
  'long-jobs': ['q', 'status', 'hidden'],
  'new-long-job': ['app'],
  'long-job': ['view', 'dir', 'file', 'line', 'find', 'event'],
  'job-works': ['id', 'all'],
  queues: ['q'],
  queue: ['q', 'status'],
  tasks: ['q', 'status'],
  task: ['attempt', 'stream', 'line', 'find'],
  balance: [],
  schedules: ['schedule'],
  rules: ['rule'],
  events: ['q', 'from', 'event'],
  audit: ['q', 'actor', 'action', 'since', 'entry'],
  access: ['open', 'who', 'node', 'all'],
  me: [],
  runbooks: ['q'],
  runbook: ['version', 'run'],
  approvals: ['status', 'open'],
  servers: [],
};

export function parsePlace(path: string, search: string): Place {
  const query = new URLSearchParams(search);
  const [org, ...rest] = (path.startsWith(BASE) ? path.slice(BASE.length) : '').split('/').map(decoded);
  if (org === undefined || org === '') return { org: null, screen: { name: 'overview' }, query, unknown: [] };
  const screen = screenOf(rest.at(-1) === '' ? rest.slice(0, -1) : rest);
  const known = screen === null ? [] : PARAMETERS[screen.name];
  return { org, screen, query, unknown: [...new Set(query.keys())].filter((name) => !known.includes(name)) };
}

function screenOf([name, item, ...more]: readonly string[]): Screen | null {
  if (more.length > 0) return null;
  switch (name) {
    case undefined:
      return { name: 'overview' };
    case 'nodes':
      return item === undefined ? { name } : { name: 'node', node: item };
    case 'push':
      return item === undefined ? { name: 'jobs' } : item === 'new' ? { name: 'new-job' } : { name: 'job', id: item };
    case 'jobs': {
      if (item === undefined) return { name: 'long-jobs' };
      if (item === 'new') return { name: 'new-long-job' };
      const part = JOB_PARTS.find((each) => each === item);
      return part === undefined ? { name: 'long-job', id: item } : { name: 'job-works', part };
    }
    case 'queues':
      return item === undefined ? { name } : { name: 'queue', queue: item };
    case 'tasks':
      return item === undefined ? { name } : { name: 'task', id: item };
    case 'balance':
    case 'schedules':
    case 'rules':
    case 'events':
      return item === undefined ? { name } : null;
    case 'audit':
    case 'servers':
    case 'me':
      return item === undefined ? { name } : null;
    case 'access': {
      const part = ACCESS_PARTS.find((each) => each === (item ?? 'people'));
      return part === undefined ? null : { name, part };
    }
    case 'runbooks':
      return item === undefined ? { name } : { name: 'runbook', runbook: item };
    case 'approvals':
      return item === undefined ? { name } : null;
    default:
      return null;
  }
}

export type Parameters = Readonly<Record<string, string | null | undefined>>;

export function hrefOf(org: string, screen: Screen, parameters: Parameters = {}): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined && entry[1] !== null && entry[1] !== '';
  });
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  return `${BASE}${encodeURIComponent(org)}${pathOf(screen)}${search}`;
}

function pathOf(screen: Screen): string {
  switch (screen.name) {
    case 'overview':
      return '';
    case 'nodes':
      return '/nodes';
    case 'node':
      return `/nodes/${encodeURIComponent(screen.node)}`;
    case 'jobs':
      return '/push';
    case 'job':
      return `/push/${encodeURIComponent(screen.id)}`;
    case 'new-job':
      return '/push/new';
    case 'long-jobs':
      return '/jobs';
    case 'new-long-job':
      return '/jobs/new';
    case 'long-job':
      return `/jobs/${encodeURIComponent(screen.id)}`;
    case 'job-works':
      return `/jobs/${screen.part}`;
    case 'queues':
    case 'tasks':
    case 'balance':
    case 'schedules':
    case 'rules':
      return `/${screen.name}`;
    case 'queue':
      return `/queues/${encodeURIComponent(screen.queue)}`;
    case 'task':
      return `/tasks/${encodeURIComponent(screen.id)}`;
    case 'events':
    case 'audit':
    case 'servers':
    case 'me':
    case 'runbooks':
    case 'approvals':
      return `/${screen.name}`;
    case 'access':
      return screen.part === 'people' ? '/access' : `/access/${screen.part}`;
    case 'runbook':
      return `/runbooks/${encodeURIComponent(screen.runbook)}`;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
