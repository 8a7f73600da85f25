import { attribute, type LiveEvent } from '../live/event.js';
import { equals } from '../parts/equals.js';
import type { Screen } from '../route.js';

/** What an event is about, as far as there is a screen of it. Pure. */
export function aboutWhat(event: LiveEvent): readonly { readonly word: string; readonly screen: Screen }[] {
  const found: { word: string; screen: Screen }[] = [];
  const job = attribute(event, 'job');
  const node = attribute(event, 'node');
  const task = attribute(event, 'task');
  // Attributes of what others publish may be called as ours.
  if (job !== null && event.type.startsWith('push.')) found.push({ word: 'job', screen: { name: 'job', id: job } });
  if (job !== null && event.type.startsWith('job.')) found.push({ word: 'job', screen: { name: 'long-job', id: job } });
  if (task !== null && event.type.startsWith('task.')) found.push({ word: 'task', screen: { name: 'task', id: task } });
  if (node !== null) found.push({ word: 'node', screen: { name: 'node', node } });
  return found;
}

const SAME = ['job', 'node', 'task', 'queue'] as const;

/** Selectors of the events that have something in common with this one. Pure. */
export function narrowings(event: LiveEvent): readonly { readonly word: string; readonly q: string }[] {
  const found = SAME.flatMap((word) => {
    const value = attribute(event, word);
    return value === null ? [] : [{ word, q: equals(word, value) }];
  });
  return [
    ...found,
    { word: 'source', q: equals('source', event.source) },
    { word: 'type', q: equals('type', event.type) },
  ];
}
