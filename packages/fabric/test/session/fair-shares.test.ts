import { expect, test } from 'vitest';
import { FairShares } from '../../src/session/fair-shares.js';

const takeAll = (shares: FairShares, who: string) => {
  while (shares.take(who));
  return shares.heldBy(who);
};

test('one alone gets half, the next half of what is left, and the last one is for whoever has none', () => {
  const shares = new FairShares(8);
  expect(['a', 'b', 'c', 'd', 'e'].map((who) => takeAll(shares, who))).toEqual([4, 2, 1, 1, 0]);
  expect(shares.taken).toBe(8);
});

test('what is given back may be taken by others, and nobody who has nothing is remembered', () => {
  const shares = new FairShares(4);
  takeAll(shares, 'a');
  for (let held = shares.heldBy('a'); held > 0; held--) shares.giveBack('a');
  expect([shares.taken, shares.heldBy('a'), takeAll(shares, 'b')]).toEqual([0, 0, 2]);
});
