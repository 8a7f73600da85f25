import { expect, it } from 'vitest';
import { found, type Goal, joined, MOST_FOUND } from '../src/palette/find.js';
import { goalOf } from '../src/palette/found-goal.js';

const goal = (kind: string, word: string, more = ''): Goal => ({ kind, word, more, href: `/${kind}/${word}` });
const words = (goals: readonly Goal[]) => goals.map(({ word }) => word);

it('what begins with the text comes first, then what has a word that does, then the rest', () => {
  const goals = [goal('Node', 'db-web'), goal('Runbook', 'restart web'), goal('Node', 'web1'), goal('Job', 'x', 'web')];
  expect(words(found(goals, 'web'))).toEqual(['web1', 'restart web', 'db-web', 'x']);
});

it('all words must be there, in whatever order, in name or kind', () => {
  const goals = [goal('Node', 'web1', 'idle'), goal('Node', 'web2', 'down')];
  expect(words(found(goals, 'down node'))).toEqual(['web2']);
  expect(found(goals, 'none')).toEqual([]);
});

it('so many are shown and no more', () => {
  const goals = Array.from({ length: 50 }, (_, index) => goal('Node', `web${index}`));
  expect(found(goals, '')).toHaveLength(MOST_FOUND);
});

it('what the server has found comes after what the page knows, and nothing twice', () => {
  const own = [goal('Node', 'web1'), goal('Node', 'web2')];
  expect(words(joined(own, [goal('Node', 'web2'), goal('Task', 't')]))).toEqual(['web1', 'web2', 't']);
  const many = Array.from({ length: 50 }, (_, index) => goal('Node', `web${index}`));
  expect(joined(many, [goal('Task', 't')])).toHaveLength(MOST_FOUND);
});

it('what the server has found leads to where it is', () => {
  const leads = (kind: Parameters<typeof goalOf>[1]['kind'], id: string, more: string | null = null) =>
    goalOf('default', { kind, id, name: 'n', more });
  expect(leads('task', 'ab12', 'queued')).toEqual({
    ...{ kind: 'Task', word: 'n', more: 'queued ab12', href: '/console/default/tasks/ab12' },
  });
  expect(leads('push_job', 'ab', 'quorum_failed')).toMatchObject({ kind: 'Push job', more: 'quorum failed' });
  expect(leads('schedule', 'a b')).toEqual({
    kind: 'Schedule',
    word: 'n',
    href: '/console/default/schedules?schedule=a+b',
  });
  expect(leads('user', 'alice').href).toBe('/console/default/access?open=user%3Aalice');
  expect(leads('group', 'ops').href).toBe('/console/default/access/groups?open=group%3Aops');
});
