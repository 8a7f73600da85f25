import { LoopTurn, TURN_MS, TurnShare } from '@muster/base';
import { expect, it } from 'vitest';
import { Intake } from '../src/zmtp/intake.js';

const PIECE = 100;

/** @param most bytes that wait before sockets are paused. */
function world(most = 1_000_000) {
  let now = 0;
  let turn = 0;
  let deferred: (() => void)[] = [];
  const intake = new Intake(
    new TurnShare(
      new LoopTurn(
        () => now,
        (work) => deferred.push(work),
      ),
    ),
    most,
  );
  const seen: { readonly piece: string; readonly turn: number }[] = [];
  const paused = new Set<string>();
  return {
    seen,
    paused,
    bring(socket: string, piece: string, ms: number): void {
      const own = { pause: () => paused.add(socket), resume: () => paused.delete(socket) };
      intake.take(own, PIECE, () => {
        seen.push({ piece, turn });
        now += ms;
      });
    },
    nextTurn(): void {
      turn += 1;
      const due = deferred;
      deferred = [];
      for (const work of due) work();
    },
    get quiet(): boolean {
      return deferred.length === 0;
    },
  };
}

it('what comes is taken at once while the turn has time for it', () => {
  const { bring, seen, paused } = world();
  for (const socket of ['a', 'b', 'c']) bring(socket, `${socket}1`, 3);
  expect(seen.map(({ piece }) => piece)).toEqual(['a1', 'b1', 'c1']);
  expect(paused.size).toBe(0);
});

it('a thousand that send at the same moment take a turn no longer than its share, in the order of their coming', () => {
  const told = world();
  const all = Array.from({ length: 1000 }, (_, index) => `node-${index}`);
  for (const socket of all) told.bring(socket, socket, 1);
  while (!told.quiet) told.nextTurn();
  expect(told.seen.map(({ piece }) => piece)).toEqual(all);
  const perTurn = new Map<number, number>();
  for (const { turn } of told.seen) perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
  expect(Math.max(...perTurn.values())).toBe(TURN_MS);
});

it('a socket that has to wait is read on while little waits, and its pieces are taken in their order', () => {
  const told = world();
  told.bring('a', 'a1', TURN_MS);
  told.bring('b', 'b1', TURN_MS);
  told.bring('b', 'b2', TURN_MS);
  expect(told.paused.size).toBe(0);
  while (!told.quiet) told.nextTurn();
  expect(told.seen.map(({ piece }) => piece)).toEqual(['a1', 'b1', 'b2']);
});

it('when much waits, a socket is not read until its piece was taken', () => {
  const told = world(PIECE);
  for (const socket of ['a', 'b', 'c', 'd']) told.bring(socket, `${socket}1`, TURN_MS);
  expect([...told.paused]).toEqual(['c', 'd']);
  told.nextTurn();
  expect([...told.paused]).toEqual(['c', 'd']);
  told.nextTurn();
  expect([...told.paused]).toEqual(['d']);
  told.nextTurn();
  expect(told.paused.size).toBe(0);
  told.bring('e', 'e1', TURN_MS);
  expect(told.paused.size).toBe(0);
});

it('whoever comes while others wait waits behind them', () => {
  const told = world();
  told.bring('a', 'a1', TURN_MS);
  told.bring('b', 'b1', 1);
  told.bring('c', 'c1', 1);
  expect(told.seen).toHaveLength(1);
  while (!told.quiet) told.nextTurn();
  expect(told.seen.map(({ piece }) => piece)).toEqual(['a1', 'b1', 'c1']);
});
