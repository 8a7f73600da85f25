import { ManualClock } from '@muster/base';
import { append, type Batch, type Lane, LIMITS, type Outcome } from '@muster/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GroupCommit } from '../src/group-commit.js';
import { silent } from './conformance/suite.js';

/** Whatever becomes of its transactions, and whenever it is closed: whoever hands something in is told the truth. */

/** How the database takes a transaction; of one that is lost nobody knows at first whether it is stored. */
const taking = fc.constantFrom('stored', 'stored', 'failed', 'lost, stored', 'lost, not stored', 'lost twice, stored');
/** No database takes a row of this name. */
const IMPOSSIBLE = 'never';

const handing = fc.record({
  how: fc.constantFrom('commit', 'commit', 'persist', 'transact'),
  /** None: it is stored without asking the database. */
  rows: fc.nat(3),
  impossible: fc.constantFrom(false, false, false, false, true),
  /** How many are handed in as soon as it is durable, and whether whoever does so fails. */
  followers: fc.nat(2),
  fails: fc.constantFrom(false, false, false, false, true),
  /** Turns of the loop before the next one. */
  pause: fc.nat(3),
});
type Handing = typeof handing extends fc.Arbitrary<infer T> ? T : never;

/** Every row takes a number. */
const row = append(
  'organizations',
  { id: 'text', name: 'text' },
  { rows: (rows) => rows, bytes: () => 1, numbers: () => 1, numbered: [] },
);

const turn = () => new Promise((resolve) => setImmediate(resolve));
const error = new Error('the database is away');

class Database implements Lane {
  /** Ids of rows. */
  readonly stored: string[] = [];
  readonly #takings: string[];
  /** Of the one that was lost, one after the other. */
  #answers: Outcome[] = [];

  constructor(takings: readonly string[]) {
    this.#takings = [...takings];
  }

  write(_id: number, batch: Batch): Promise<Outcome> {
    return this.#take(batch.flatMap(({ rows }) => rows));
  }

  async transact(id: number, work: (trx: never) => Promise<Batch>): Promise<Outcome> {
    return this.write(id, await work({} as never));
  }

  probe(): Promise<Outcome> {
    return this.#take([]);
  }

  async outcome(): Promise<Outcome> {
    await turn();
    return this.#answers.shift() ?? { kind: 'failed', error };
  }

  async close(): Promise<void> {}

  async #take(rows: Batch[number]['rows']): Promise<Outcome> {
    await turn();
    const taking = this.#takings.shift() ?? 'stored';
    if (taking === 'failed') return { kind: 'failed', error };
    if (rows.some(({ name }) => name === IMPOSSIBLE)) return { kind: 'refused', error };
    const stored = { kind: 'stored', first: this.stored.length } as const;
    if (taking !== 'lost, not stored') this.stored.push(...rows.map(({ id }) => String(id)));
    if (taking === 'stored') return stored;
    if (taking === 'lost, stored') this.#answers = [stored];
    if (taking === 'lost twice, stored') this.#answers = [{ kind: 'unknown', error }, stored];
    return { kind: 'unknown', error };
  }
}

/** What one who handed something in was told. */
interface Told {
  readonly how: string;
  readonly rows: readonly string[];
  /** How often that it is durable. */
  durable: number;
  /** Before somebody who came earlier, or before it was told that it is durable. */
  early: boolean;
  end: 'waits' | 'stored' | 'refused';
}

test('everybody is told once, the truth, and in the order in which it was handed in', async () => {
  const all = fc.array(handing, { maxLength: 12 });
  const takings = fc.array(taking, { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(
      all,
      takings,
      fc.integer({ min: 1, max: 8 }),
      fc.nat(20),
      async (all, takings, batchRows, closeAt) => {
        const clock = new ManualClock();
        const database = new Database(takings);
        const limits = { ...LIMITS, batchRows, closeMs: Number.MAX_SAFE_INTEGER };
        const quiet = { log: silent, observe: () => {}, refused: () => {} };
        const commits = new GroupCommit(database, { clock, databaseClock: clock, limits, ...quiet });
        const told: Told[] = [];
        const numbered: string[] = [];
        for (const [index, each] of all.entries()) {
          if (index === closeAt) commits.close();
          handIn(commits, told, numbered, each);
          for (let turns = 0; turns < each.pause; turns++) await turn();
        }
        for (let turns = 0; turns < 2000 && told.some(({ end }) => end === 'waits'); turns++) {
          clock.advance(20);
          await turn();
        }
        for (const { how, rows, durable, early, end } of told) {
          expect(rows.filter((id) => database.stored.includes(id))).toEqual(end === 'stored' ? rows : []);
          expect(end).not.toBe('waits');
          expect(early).toBe(false);
          expect(durable).toBe(how === 'commit' && end === 'stored' ? 1 : 0);
        }
        expect(told.filter(({ end }) => end === 'stored').flatMap(({ rows }) => rows)).toEqual(database.stored);
        expect(numbered).toEqual(database.stored.map((id, number) => `${number}: ${id}`));
      },
    ),
    { numRuns: 300 },
  );
});

/** @param numbered Where the number of each row is put when it is told. */
function handIn(commits: GroupCommit, told: Told[], numbered: string[], handing: Handing): void {
  const { how, rows: count, impossible, followers, fails } = handing;
  const index = told.length;
  const rows = Array.from({ length: count }, (_, row) => `${index}.${row}`);
  const one: Told = { how, rows, durable: 0, early: false, end: 'waits' };
  told.push(one);
  const writes = rows.map((id) =>
    row({ id, name: impossible ? IMPOSSIBLE : 'a' }, (number) => {
      numbered.push(`${number}: ${id}`);
      if (fails) throw new Error('defect');
    }),
  );
  const stored = (): void => {
    one.durable += 1;
    const follower = { how: 'commit', rows: 1, impossible, followers: 0, fails: false, pause: 0 } as const;
    for (let made = 0; made < followers; made++) handIn(commits, told, numbered, follower);
    if (fails) throw new Error('defect');
  };
  const end = (end: 'stored' | 'refused'): void => {
    const earlier = told.slice(0, index).some(({ end }) => end === 'waits');
    one.early = end === 'stored' && (earlier || (how === 'commit' && one.durable === 0));
    one.end = end;
  };
  ended(how, commits, writes, stored).then(
    () => end('stored'),
    () => end('refused'),
  );
}

function ended(
  how: Handing['how'],
  commits: GroupCommit,
  writes: Parameters<GroupCommit['commit']>[0],
  stored: () => void,
): Promise<void> {
  switch (how) {
    case 'commit':
      return commits.commit(writes, stored);
    case 'persist':
      return commits.persist(writes);
    case 'transact':
      return commits.transact(async (_trx, write) => write(writes));
  }
}
