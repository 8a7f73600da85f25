import { compile, parseSelector } from '@muster/selector';
import type { AuditEntries } from '../api/types.gen.js';
import type { Screen } from '../route.js';

export type Entry = AuditEntries[number];

/** What selectors find in an entry: `actor = 'alice' AND outcome = 'denied'`. */
export const WORDS = ['actor', 'kind', 'action', 'target', 'outcome', 'address'];

/** Of a selector that can be read. */
export function finds(selector: string): (entry: Entry) => boolean {
  if (selector.trim() === '') return () => true;
  const matches = compile(parseSelector(selector, { sugar: true }));
  return (entry) => matches(attributesOf(entry));
}

function attributesOf(entry: Entry): Readonly<Record<string, string | number | boolean>> {
  const { actor, actor_kind: kind, action, target, outcome, address, detail } = entry;
  const more = Object.entries(detail).filter((each): each is [string, string | number | boolean] => each[1] !== null);
  return { ...Object.fromEntries(more), actor, kind, action, target, outcome, ...(address !== null && { address }) };
}

/** Where the object of an entry is shown; null: nowhere. */
export function objectOf({ action, target, outcome, detail }: Entry): Screen | null {
  const [family = ''] = action.split(/[.:]/);
  if (target === '' || outcome === 'denied') return null;
  switch (family) {
    case 'push':
    case 'output':
      return /^[0-9a-f]{32}$/.test(target) ? { name: 'job', id: target } : null;
    case 'job':
    case 'job-recovery':
      return /^[0-9a-f-]{36}-007$/.test(target) ? { name: 'long-job', id: target } : null;
    case 'node':
      return { name: 'node', node: target };
    case 'runbook':
      return { name: 'runbook', runbook: target };
    case 'queue':
      return action === 'queue.balance' ? { name: 'balance' } : { name: 'queue', queue: target };
    case 'task':
      return { name: 'task', id: target };
    case 'schedule':
      return { name: 'schedules' };
    case 'rule':
      return { name: 'rules' };
    case 'job_queue':
      return { name: 'job-works', part: 'queues' };
    case 'job-worker':
      return { name: 'job-works', part: 'workers' };
    case 'job-message':
      return { name: 'job-works', part: 'messages' };
    case 'approval':
      return { name: 'approvals' };
    case 'group':
      return { name: 'access', part: 'groups' };
    case 'node_group':
      return { name: 'access', part: 'node-groups' };
    case 'token':
      return { name: 'access', part: 'tokens' };
    case 'session':
      return { name: 'access', part: 'sessions' };
    case 'member':
    case 'user':
    case 'service':
      return { name: 'access', part: 'people' };
    case 'key':
      return detail.kind === 'node' ? { name: 'node', node: target } : { name: 'access', part: 'people' };
    default:
      return null;
  }
}
