import type { FoundThings } from '../api/types.gen.js';
import { hrefOf, type Screen } from '../route.js';
import { word } from '../statuses/jobs.js';
import type { Goal } from './find.js';

type Found = FoundThings['found'][number];

/** Where somebody goes who chooses what the server has found. */
export function goalOf(org: string, { kind, id, name, more }: Found): Goal {
  const { kind: called, screen, query = {} } = placeOf(kind, id);
  const said = kind === 'task' ? [more, id] : [more === null ? null : word(more)];
  const known = said.filter((one) => one !== null).join(' ');
  return { kind: called, word: name, ...(known !== '' && { more: known }), href: hrefOf(org, screen, query) };
}

interface At {
  readonly kind: string;
  readonly screen: Screen;
  readonly query?: Readonly<Record<string, string>>;
}

function placeOf(kind: Found['kind'], id: string): At {
  switch (kind) {
    case 'node':
      return { kind: 'Node', screen: { name: 'node', node: id } };
    case 'push_job':
      return { kind: 'Push job', screen: { name: 'job', id } };
    case 'runbook':
      return { kind: 'Runbook', screen: { name: 'runbook', runbook: id } };
    case 'queue':
      return { kind: 'Queue', screen: { name: 'queue', queue: id } };
    case 'task':
      return { kind: 'Task', screen: { name: 'task', id } };
    case 'schedule':
      return { kind: 'Schedule', screen: { name: 'schedules' }, query: { schedule: id } };
    case 'job':
      return { kind: 'Job', screen: { name: 'long-job', id } };
    case 'rule':
      return { kind: 'Rule', screen: { name: 'rules' }, query: { rule: id } };
    case 'user':
      return { kind: 'User', screen: { name: 'access', part: 'people' }, query: { open: `user:${id}` } };
    case 'service':
      return { kind: 'Service', screen: { name: 'access', part: 'people' }, query: { open: `service:${id}` } };
    case 'group':
      return { kind: 'Group', screen: { name: 'access', part: 'groups' }, query: { open: `group:${id}` } };
  }
}
