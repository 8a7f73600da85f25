import { expect, it } from 'vitest';
import { found, type Goal, MOST_FOUND } from '../src/palette/find.js';

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
