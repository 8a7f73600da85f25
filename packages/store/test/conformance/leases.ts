import type { Clock } from '@muster/base';
import { fence, GuardFailed, type Lease, Leases, LeaseWatch, type Store } from '@muster/store';
import { describe, expect, test } from 'vitest';
import { named } from './rows.js';
import type { Suite } from './suite.js';

const TTL_MS = 10_000;

export function leasesSuite(suite: Suite): void {
  const { openStore, names } = suite;
  const holding = (store: Store, holder: string, aheadMs = 0) => {
    const now = (): number => suite.clock.now() + aheadMs;
    const clock: Clock = {
      now,
      monotonic: () => suite.clock.monotonic(),
      after: (ms, work) => suite.clock.after(ms, work),
    };
    return new Leases({ store, clock, holder });
  };
  const acquired = async (leases: Leases, name = 'thing'): Promise<Lease> => {
    const answer = await leases.acquire(name, TTL_MS);
    if (answer.kind === 'held') throw new Error(`held by ${answer.holder}`);
    return answer.lease;
  };

  describe('leases', () => {
    test('one holder at a time; the next one gets it when it has stood unchanged, with the next epoch', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      expect(await acquired(a)).toMatchObject({ holder: 'a', epoch: 1, expiresAt: suite.clock.now() + TTL_MS });
      expect(await b.acquire('thing', TTL_MS)).toEqual({ kind: 'held', holder: 'a', leftMs: TTL_MS, renewed: false });
      suite.clock.advance(TTL_MS);
      expect(await acquired(b)).toMatchObject({ holder: 'b', epoch: 2 });
    });

    test('a lease that is renewed goes on, and keeps its epoch', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      const lease = await acquired(a);
      await b.acquire('thing', TTL_MS);
      suite.clock.advance(TTL_MS - 1);
      expect(await a.renew(lease, TTL_MS)).toMatchObject({ epoch: 1, expiresAt: suite.clock.now() + TTL_MS });
      suite.clock.advance(1);
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
      await b.acquire('thing', TTL_MS);
      suite.clock.advance(TTL_MS);
      await acquired(b);
      expect(await a.renew(first, TTL_MS)).toBeNull();
    });

    test('what a former holder writes is not stored', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      const old = await acquired(a);
      await store.persist([fence(old), named('1', 'a')]);
      await b.acquire('thing', TTL_MS);
      suite.clock.advance(TTL_MS);
      const current = await acquired(b);
      await expect(store.persist([fence(old), named('2', 'a, later')])).rejects.toBeInstanceOf(GuardFailed);
      await store.persist([fence(current), named('3', 'b')]);
      expect(await names(store)).toEqual(['a', 'b']);
    });

    test.each([140_000, 0, -140_000])(
      'one that is taken over has been seen unchanged for its whole time, by a clock that is ahead by %d ms',
      async (aheadMs) => {
        const store = await openStore();
        const [a, b] = [holding(store, 'a'), holding(store, 'b', aheadMs)];
        const lease = await acquired(a);
        suite.clock.advance(TTL_MS / 2);
        const held = { kind: 'held', holder: 'a', leftMs: TTL_MS, renewed: false };
        expect(await b.acquire('thing', TTL_MS)).toEqual(held);
        suite.clock.advance(TTL_MS - 1);
        expect(await b.acquire('thing', TTL_MS)).toEqual({ ...held, leftMs: 1 });
        const again = await a.renew(lease, TTL_MS);
        expect(again).not.toBeNull();
        suite.clock.advance(1);
        expect(await b.acquire('thing', TTL_MS)).toEqual({ ...held, renewed: true });
        suite.clock.advance(TTL_MS);
        expect(await b.acquire('thing', TTL_MS)).toMatchObject({ kind: 'acquired', lease: { holder: 'b', epoch: 2 } });
        expect(await a.renew(lease, TTL_MS)).toBeNull();
      },
    );

    test('one whose holder has its clock set back is seen to be renewed', async () => {
      const store = await openStore();
      const b = holding(store, 'b');
      const lease = await acquired(holding(store, 'a'));
      expect((await b.acquire('thing', TTL_MS)).kind).toBe('held');
      suite.clock.advance(TTL_MS - 1);
      expect(await holding(store, 'a', -140_000).renew(lease, TTL_MS)).toMatchObject({ epoch: 1 });
      suite.clock.advance(1);
      expect(await b.acquire('thing', TTL_MS)).toMatchObject({ kind: 'held', leftMs: TTL_MS, renewed: true });
    });

    test('one that was renewed long before the last look is not said to be', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      const lease = await acquired(a);
      await b.acquire('thing', TTL_MS);
      suite.clock.advance(1);
      await a.renew(lease, TTL_MS);
      suite.clock.advance(TTL_MS);
      expect(await b.acquire('thing', TTL_MS)).toMatchObject({ kind: 'held', leftMs: TTL_MS, renewed: false });
    });

    test('one that was given back is taken over at once', async () => {
      const store = await openStore();
      const [a, b] = [holding(store, 'a'), holding(store, 'b')];
      const lease = await acquired(a);
      await b.acquire('thing', TTL_MS);
      await a.release(lease);
      expect(await b.acquire('thing', TTL_MS)).toMatchObject({ kind: 'acquired', lease: { holder: 'b', epoch: 2 } });
    });

    test('one that was renewed twice, the first time without knowing, and by a clock that was set back, is seen to be', async () => {
      const store = await openStore();
      const b = holding(store, 'b');
      const lost: Store = {
        ...store,
        commit: (writes) => store.commit(writes).then(() => Promise.reject(new Error('gone'))),
      };
      const lease = await acquired(holding(store, 'a'));
      const stored = { now: lost };
      const a = holding({ ...store, commit: (writes) => stored.now.commit(writes) }, 'a', -140_000);
      await expect(a.renew(lease, TTL_MS)).rejects.toThrow('gone');
      expect(await b.acquire('thing', TTL_MS)).toMatchObject({ kind: 'held', leftMs: TTL_MS });
      stored.now = store;
      suite.clock.advance(TTL_MS - 1);
      expect(await a.renew(lease, TTL_MS)).toMatchObject({ epoch: 1 });
      suite.clock.advance(1);
      expect(await b.acquire('thing', TTL_MS)).toMatchObject({ kind: 'held', leftMs: TTL_MS, renewed: true });
    });

    test('who wants none sees which are held, for how long unchanged, and which were renewed', async () => {
      const store = await openStore();
      const a = holding(store, 'a');
      const watch = new LeaseWatch({ store, clock: suite.clock });
      const look = async () => [...(await watch.look(['renewed', 'silent', 'free', 'unknown'], TTL_MS))].sort();
      const [renewed, silent, free] = [
        await acquired(a, 'renewed'),
        await acquired(a, 'silent'),
        await acquired(a, 'free'),
      ];
      await a.release(free);
      const { expiresAt } = silent;
      const unseen = { unchangedMs: 0, renewed: false, expiresAt };
      expect(await look()).toEqual([
        ['renewed', unseen],
        ['silent', unseen],
      ]);
      suite.clock.advance(TTL_MS);
      await a.renew(renewed, TTL_MS);
      expect(await look()).toEqual([
        ['renewed', { unchangedMs: 0, renewed: true, expiresAt: expiresAt + TTL_MS }],
        ['silent', { unchangedMs: TTL_MS, renewed: false, expiresAt }],
      ]);
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
