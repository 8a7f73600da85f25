/** Where somebody is in the console. The URL is the only place where filters, sorting and open panes are kept. */
export type Screen =
  | { readonly name: 'overview' }
  | { readonly name: 'nodes' }
  | { readonly name: 'node'; readonly node: string }
  | { readonly name: 'jobs' }
  | { readonly name: 'job'; readonly id: string }
  | { readonly name: 'new-job' }
  | { readonly name: 'events' };

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
  nodes: ['q', 'owner', 'sort'],
  node: [],
  jobs: ['status', 'command', 'by', 'node'],
  job: ['view', 'node', 'stream', 'status', 'group'],
  'new-job': ['q', 'nodes', 'group', 'from', 'statuses', 'result', 'command'],
  events: ['q', 'from', 'event'],
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
    case 'events':
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
    case 'events':
      return '/events';
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
