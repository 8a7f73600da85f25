import { compile, parseSelector } from '@muster/selector';
import type { AuditEntries } from '../api/types.gen.js';
import { cutInTheMiddle } from '../parts/middle.js';
import { shortId } from '../push/parts.jsx';
import { hrefOf, type Parameters, type Screen } from '../route.js';

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

const SHOWN = 32;

/** The object of an entry, in one line: of a push job what it runs. */
export function targetText({ action, target, detail }: Entry): string {
  const { command } = detail;
  const runs = action.startsWith('push.') && typeof command === 'string' ? `${command} · ` : '';
  const text = runs === '' ? target : shortId(target);
  return `${runs}${cutInTheMiddle(text, SHOWN)}`;
}

/** Where the object of an entry is shown; null: nowhere. */
export function objectHref(org: string, entry: Entry): string | null {
  const screen = objectOf(entry);
  return screen === null ? null : hrefOf(org, screen, openIn(screen, entry.target));
}

/** What of a list is open. */
function openIn({ name }: Screen, target: string): Parameters {
  switch (name) {
    case 'schedules':
      return { schedule: target };
    case 'rules':
      return { rule: target };
    case 'approvals':
      return { open: target };
    default:
      return {};
  }
}

/** The screen with the object of an entry; null: there is none. */
export function objectOf({ action, target, outcome, detail }: Entry): Screen | null {
  const [family = ''] = action.split(/[.:]/);
  if (target === '' || outcome !== 'done') return null;
  switch (family) {
    case 'output':
      return writerOf(target);
    case 'push':
      return /^[0-9a-f]{32}$/.test(target) ? { name: 'job', id: target } : null;
    case 'job':
    case 'job-recovery':
      return /^[0-9a-f-]{36}(-007)?$/.test(target) ? { name: 'long-job', id: target } : null;
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
      return action.startsWith('approval.policy') ? null : { name: 'approvals' };
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

/** What has written the output that somebody read. @param path At which they asked for it. */
function writerOf(path: string): Screen | null {
  const [, kind, id = ''] = /\/(pushy\/jobs|jobs\/v2|tasks)\/([0-9a-f-]{24,40})(?:\/|$)/.exec(path) ?? [];
  switch (kind) {
    case 'pushy/jobs':
      return { name: 'job', id };
    case 'jobs/v2':
      return { name: 'long-job', id };
    case 'tasks':
      return { name: 'task', id };
    default:
      return null;
  }
}
