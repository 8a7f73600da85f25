import { expect, test } from 'vitest';
import { killAtEveryCommit } from '../../src/push/approval-crashes.js';

/** The server dies at each commit in turn, before it is stored and after; then everybody tries again. */

test('a run that was granted is started once, whenever the server is killed', async () => {
  const moments = await killAtEveryCommit((place, life) => [place.grant(life, 'second')]);
  expect(moments).toBeGreaterThanOrEqual(2);
});

test('of two who grant it at the same moment one starts it, whenever the server is killed', async () => {
  const both = await killAtEveryCommit((place, life) => [place.grant(life, 'second'), place.grant(life, 'third')]);
  expect(both).toBeGreaterThanOrEqual(2);
});

test('granted and denied at the same moment it is started, or it is not, whenever the server is killed', async () => {
  const both = await killAtEveryCommit((place, life) => [place.deny(life, 'third'), place.grant(life, 'second')]);
  expect(both).toBeGreaterThanOrEqual(2);
});
