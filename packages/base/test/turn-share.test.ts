import { describe, expect, it } from 'vitest';
import { LoopTurn, TurnShare } from '../src/index.js';

function world() {
  let now = 0;
  const deferred: (() => void)[] = [];
  const turn = new LoopTurn(
    () => now,
    (work) => deferred.push(work),
  );
  return {
    share: new TurnShare(turn),
    other: new TurnShare(turn),
    work: (ms: number) => {
      now += ms;
    },
    nextTurn: async () => {
      for (const work of deferred.splice(0)) {
        work();
        // As between two of `setImmediate`: what waits for promises goes on.
        for (let step = 0; step < 5; step++) await Promise.resolve();
      }
    },
    deferred: () => deferred.length,
  };
}

describe('a share of each turn of the event loop', () => {
  it('is used up when work has taken so long, and there anew in the next turn', async () => {
    const { share, work, nextTurn } = world();
    expect(share.used).toBe(false);
    work(19);
    expect(share.used).toBe(false);
    work(1);
    expect(share.used).toBe(true);
    await nextTurn();
    expect(share.used).toBe(false);
  });

  it('counts from the first piece of a turn, not from the last of one before', async () => {
    const { share, work, nextTurn } = world();
    expect(share.used).toBe(false);
    await nextTurn();
    work(1000);
    expect(share.used).toBe(false);
  });

  it('is asked about as often as one likes: once a turn it is noted that the turn ends', () => {
    const { share, deferred } = world();
    for (let asked = 0; asked < 100; asked++) expect(share.used).toBe(false);
    expect(deferred()).toBe(1);
  });

  it('is used up by what others do in the same turn, but for a quarter', async () => {
    const { share, other, work, nextTurn } = world();
    expect(other.used).toBe(false);
    work(20);
    expect(other.used).toBe(true);
    expect(share.used).toBe(false);
    work(4);
    expect(share.used).toBe(false);
    work(1);
    expect(share.used).toBe(true);
    await nextTurn();
    expect([share.used, other.used]).toEqual([false, false]);
  });

  it('is there for the first piece even when the turn has been used up', () => {
    const { share, other, work } = world();
    expect(other.used).toBe(false);
    work(1000);
    expect(share.used).toBe(false);
    expect(share.used).toBe(false);
    expect(other.used).toBe(true);
  });

  it('lets those who wait go on in the turns that follow, those first who waited first, each turn as many as fit', async () => {
    const { share, work, nextTurn } = world();
    const done: string[] = [];
    expect(share.used).toBe(false);
    work(20);
    const one = async (name: string): Promise<void> => {
      await share.free();
      done.push(name);
      work(12);
    };
    const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map(one));
    const turns: number[] = [];
    while (done.length < 5) {
      turns.push(done.length);
      await nextTurn();
    }
    await all;
    expect(done).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(turns).toEqual([0, 2, 4]);
  });
});
