import { expect, test } from 'vitest';
import { killAtEveryCommit } from '../../src/push/approval-crashes.js';

/** The server dies at each commit in turn, before it is stored and after; then everybody tries again. */

const NOT_YET = 'pending, agreed to by 0; no push job';
const HALF = 'pending, agreed to by 1; no push job';
/** Granted, and nothing of it was begun: whoever granted it had no answer. */
const BEGUN_NOWHERE = 'started, agreed to by 1; a push job that is new';

test('a run that was granted is started once, whenever the server is killed', async () => {
  const moments = await killAtEveryCommit((place, life) => [place.grant(life, 'second')]);
  expect(moments.missing([NOT_YET, BEGUN_NOWHERE])).toEqual([]);
});

test('of two who grant it at the same moment one starts it, whenever the server is killed', async () => {
  const moments = await killAtEveryCommit((place, life) => [place.grant(life, 'second'), place.grant(life, 'third')]);
  expect(moments.missing([NOT_YET, BEGUN_NOWHERE])).toEqual([]);
});

test('granted and denied at the same moment it is started, or it is not, whenever the server is killed', async () => {
  const moments = await killAtEveryCommit((place, life) => [place.deny(life, 'third'), place.grant(life, 'second')]);
  expect(moments.missing([NOT_YET, 'denied, agreed to by 0; no push job'])).toEqual([]);
});

test('of two who both have to grant it the last one starts it, whenever the server is killed', async () => {
  const both = 2;
  const moments = await killAtEveryCommit(
    (place, life) => [place.grant(life, 'second'), place.grant(life, 'third')],
    both,
  );
  expect(moments.missing([NOT_YET, HALF, 'started, agreed to by 2; a push job that is new'])).toEqual([]);
});
