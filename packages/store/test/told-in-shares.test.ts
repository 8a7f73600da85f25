import { ManualClock, TURN_MS } from '@muster/base';
import { type Batch, insert, type Lane, type Outcome, type Write } from '@muster/store';
import { expect, test } from 'vitest';
import { GroupCommit } from '../src/group-commit.js';
import { LIMITS } from '../src/limits.js';
import { silent } from './conformance/suite.js';

const row = insert('organizations', { id: 'text', name: 'text', created_at: 'integer' });
const write = ({ id }: { readonly id: number }): Write => row({ id: String(id), name: `org${id}`, created_at: 0 });
const stored: Outcome = { kind: 'stored', first: 0 };
const MANY = 200;

/** Stores everything at once, and counts the transactions. */
class Database implements Lane {
  readonly batches: Batch[] = [];

  async write(_id: number, batch: Batch): Promise<Outcome> {
    this.batches.push(batch);
    return stored;
  }

  transact = async (): Promise<Outcome> => stored;
  probe = async (): Promise<Outcome> => stored;
  outcome = async (): Promise<Outcome> => stored;
  close = async (): Promise<void> => undefined;
}

function world() {
  const clock = new ManualClock();
  const database = new Database();
  const commits = new GroupCommit(database, {
    ...{ clock, databaseClock: clock, limits: LIMITS, log: silent },
    ...{ observe: () => {}, refused: () => {} },
  });
  return { clock, database, commits };
}

/** Hands in as many parts; whoever is told works for so long. What was told by the end of each turn. */
async function toldByTurn({ clock, commits }: ReturnType<typeof world>, workMs: number): Promise<number[]> {
  const told: number[] = [];
  for (let id = 0; id < MANY; id++) {
    void commits.persist([write({ id })]).then(() => {
      told.push(id);
      clock.advance(workMs);
    });
  }
  const byTurn: number[] = [];
  for (let turn = 0; told.length < MANY && turn < MANY; turn++) {
    await new Promise(setImmediate);
    byTurn.push(told.length);
  }
  expect(told).toEqual(Array.from({ length: MANY }, (_, id) => id));
  return byTurn;
}

test('those who have much to do when they are told share one commit, and several turns, in their order', async () => {
  const place = world();
  const byTurn = await toldByTurn(place, 1);
  expect(place.database.batches).toHaveLength(1);
  const perTurn = byTurn.map((told, turn) => told - (byTurn[turn - 1] ?? 0));
  // The share, and those who are told before it is looked at again.
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(TURN_MS + 16);
});

test('those who have little to do then are told in one turn', async () => {
  const byTurn = await toldByTurn(world(), 0);
  expect(byTurn.filter((told) => told > 0 && told < MANY)).toEqual([]);
});

test('what is handed in while they are told is stored, and told after them', async () => {
  const { clock, commits } = world();
  const order: string[] = [];
  let late: Promise<unknown> | null = null;
  const early = Array.from({ length: MANY }, async (_, id) => {
    await commits.persist([write({ id })]);
    late ??= commits.persist([write({ id: MANY })]).then(() => order.push('late'));
    order.push('early');
    clock.advance(1);
  });
  await Promise.all(early);
  await late;
  expect(order).toHaveLength(MANY + 1);
  expect(order.at(-1)).toBe('late');
});
