import { fence, GuardFailed, type Lease, Leases, type Store } from '@muster/store';
import { describe, expect, test } from 'vitest';
import { named } from './rows.js';
import type { Suite } from './suite.js';

const TTL_MS = 10_000;

export function leasesSuite(suite: Suite): void {
  const { openStore, names } = suite;
  const holding = (store: Store, holder: string) => new Leases({ store, clock: suite.clock, holder });
  const acquired = async (leases: Leases, name = 'thing'): Promise<Lease> => {
    const answer = await leases.acquire(name, TTL_MS);
    if (answer.kind === 'held') throw new Error(`held by ${answer.holder}`);
    return answer.lease;
  };

  describe('leases', () => {
    test('one holder at a time; the next one gets it when it has ended, with the next epoch', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      expect(await acquired(a)).toMatchObject({ holder: 'a', epoch: 1, expiresAt: suite.clock.now() + TTL_MS });
      const until = suite.clock.now() + TTL_MS;
      expect(await b.acquire('thing', TTL_MS)).toEqual({ kind: 'held', holder: 'a', until });
      suite.clock.advance(TTL_MS);
      expect(await acquired(b)).toMatchObject({ holder: 'b', epoch: 2 });
    });

    test('a lease that is renewed goes on, and keeps its epoch', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      const lease = await acquired(a);
      suite.clock.advance(TTL_MS - 1);
      expect(await a.renew(lease, TTL_MS)).toMatchObject({ epoch: 1, expiresAt: suite.clock.now() + TTL_MS });
      suite.clock.advance(TTL_MS - 1);
      expect((await b.acquire('thing', TTL_MS)).kind).toBe('held');
    });

    test('a lease that was given back is free at once, and its holder has lost it', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      const lease = await acquired(a);
      expect(await a.release(lease)).toBe(true);
      expect(await a.renew(lease, TTL_MS)).toBeNull();
      expect(await acquired(b)).toMatchObject({ epoch: 2 });
      expect(await a.release(lease)).toBe(false);
    });

    test('a lease that nobody took over can be renewed after its end, one that was taken over cannot', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      const first = await acquired(a);
      suite.clock.advance(2 * TTL_MS);
      const renewed = await a.renew(first, TTL_MS);
      expect(renewed).toMatchObject({ epoch: 1 });
      suite.clock.advance(2 * TTL_MS);
      await acquired(b);
      expect(await a.renew(first, TTL_MS)).toBeNull();
    });

    test('what a former holder writes is not stored', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      const old = await acquired(a);
      await store.persist([fence(old), named('1', 'a')]);
      suite.clock.advance(TTL_MS);
      const current = await acquired(b);
      await expect(store.persist([fence(old), named('2', 'a, later')])).rejects.toBeInstanceOf(GuardFailed);
      await store.persist([fence(current), named('3', 'b')]);
      expect(await names(store)).toEqual(['a', 'b']);
    });

    test('of many who want it at once one gets it', async () => {
      const store = await openStore();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => holding(store, `${n}`).acquire('thing', TTL_MS)),
      );
      expect(answers.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
    });
  });
}
