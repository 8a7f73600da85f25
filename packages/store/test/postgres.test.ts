import { ManualClock } from '@muster/base';
import {
  absent,
  GuardFailed,
  Leases,
  LIMITS,
  type Limits,
  MISSED,
  open,
  type Store,
  schemaIsNewer,
  upsert,
} from '@muster/store';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { MIGRATIONS } from '../../platform/test/support/migrations.js';
import { Session } from '../src/postgres-session.js';
import { done, named, numbered, renamed } from './conformance/rows.js';
import { eventually, passing, silent, until } from './conformance/suite.js';
import { type Cutter, cutter } from './cutter.js';
import { dropDatabase, type PostgresHarness, postgres } from './postgres.js';

afterAll(dropDatabase);

let harness: PostgresHarness;
let clock: ManualClock;
const opened: Store[] = [];
const proxies: Cutter[] = [];
beforeEach(async () => {
  harness = await postgres();
  clock = new ManualClock();
});
afterEach(async () => {
  try {
    await Promise.all(opened.splice(0).map((store) => passing(clock, store, store.close())));
  } finally {
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
    await harness.drop();
  }
});

interface Opening extends Partial<Limits> {
  readonly exclusive?: boolean;
}

const openAt = async (url: string, { exclusive = true, ...limits }: Opening = {}): Promise<Store> => {
  const store = await open(
    { kind: 'postgres', url },
    { migrations: MIGRATIONS, clock, log: silent, exclusive, limits },
  );
  opened.push(store);
  return store;
};
const openProxy = async (): Promise<Cutter> => {
  const proxy = await cutter(harness.url);
  proxies.push(proxy);
  return proxy;
};
const targets = async (store: Store) =>
  (await store.read.selectFrom('audit').select('target').orderBy('id').execute()).map((row) => row.target);

test('a second server on the same database is refused while the first runs', async () => {
  const first = await openAt(harness.url);
  await expect(openAt(harness.url, { exclusiveMs: 50 })).rejects.toMatchObject({ code: 'database_in_use' });
  await first.close();
  await openAt(harness.url);
});

test('servers that share a database on purpose write side by side', async () => {
  const stores = await Promise.all([1, 2, 3].map(() => openAt(harness.url, { exclusive: false })));
  await Promise.all(stores.map((store, index) => store.commit([named(`${index}`, `${index}`), done(`${index}`)])));
  expect((await targets(stores[0] as Store)).sort()).toEqual(['0', '1', '2']);
});

test('of servers that say at the same moment that there is no such row yet one is right, and nothing of the others is stored', async () => {
  const stores = await Promise.all([1, 2].map(() => openAt(harness.url, { exclusive: false })));
  const missing = absent('organizations', { id: 'text' });
  const ids = Array.from({ length: 50 }, (_, index) => String(index));
  for (const id of ids) {
    const ends = await Promise.allSettled(
      stores.map((store) => store.commit([missing({ id }), named(id, id), done(id)])),
    );
    const refused = ends.filter((end) => end.status === 'rejected').map(({ reason }) => reason);
    expect(refused).toEqual([expect.any(GuardFailed)]);
  }
  expect(await targets(stores[0] as Store)).toHaveLength(ids.length);
});

/** Who acts for the cluster, in the row that everything of theirs depends on. */
const FENCE = { name: 'fence', holder: 'a', epoch: 1 } as const;
const actedFor = (holder: string, epoch: number) =>
  upsert('leases', { name: 'text', holder: 'text', epoch: 'integer', expires_at: 'integer' }, ['name'])({
    ...{ name: FENCE.name, holder, epoch, expires_at: 0 },
  });

async function openFenced(): Promise<{ readonly fenced: Store; readonly other: Store; readonly lost: string[] }> {
  const lost: string[] = [];
  const at = { kind: 'postgres', url: harness.url } as const;
  const common = { migrations: MIGRATIONS, clock, log: silent };
  const other = await open(at, { ...common, cluster: { fence: null, lost: () => lost.push('other') } });
  opened.push(other);
  await other.commit([actedFor(FENCE.holder, FENCE.epoch)]);
  const fenced = await open(at, { ...common, cluster: { fence: FENCE, lost: () => lost.push('fenced') } });
  opened.push(fenced);
  return { fenced, other, lost };
}

test('whoever acts for a cluster stores nothing, in whatever way, once somebody else does, and is told so', async () => {
  const { fenced, other, lost } = await openFenced();
  await fenced.commit([done('before')]);
  await fenced.transact((trx) => trx.updateTable('audit').set({ target: 'changed' }).execute());
  await other.commit([actedFor('b', 2)]);
  await expect(fenced.commit([done('after')])).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(lost[0]).toBe('fenced');
  const late = fenced.transact((trx) => trx.updateTable('audit').set({ target: 'late' }).execute());
  await expect(passing(clock, fenced, late)).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await targets(other)).toEqual(['changed']);
  await other.commit([done('of the other')]);
  expect(await targets(other)).toEqual(['changed', 'of the other']);
});

test('what was begun before somebody else took over, and not ended, is not stored', async () => {
  const { fenced, other } = await openFenced();
  const late = fenced.transact(async (trx, write) => {
    await trx.selectFrom('audit').selectAll().execute();
    await other.commit([actedFor('b', 2)]);
    write([done('late')]);
  });
  await expect(passing(clock, fenced, late)).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await targets(other)).toEqual([]);
});

test('a commit that cannot even begin, because another one holds what it needs, is refused, and the next one is stored', async () => {
  const store = await openAt(harness.url, { busyMs: 20, idleMs: 600_000 });
  const holder = await Session.connect(harness.url, LIMITS);
  try {
    await holder.query('begin; select * from commit_marker for update');
    const held = store.commit([done('held')]);
    await expect(passing(clock, store, held)).rejects.toMatchObject({ code: 'store_unavailable' });
    await holder.query('rollback');
    await passing(clock, store, store.persist([done('next')]));
    await store.commit([done('and another')]);
    expect(await targets(store)).toEqual(['next', 'and another']);
  } finally {
    await holder.end();
  }
});

test('a transaction that stands still, as that of a frozen process, is ended, and what it has locked is free', async () => {
  const other = await openAt(harness.url, { exclusive: false, busyMs: 60_000 });
  await other.commit([done('before')]);
  const frozen = await Session.connect(harness.url, { ...LIMITS, idleMs: 200 });
  try {
    await frozen.query("begin; update audit set target = 'late'");
    await other.transact((trx) => trx.updateTable('audit').set({ target: 'of the other' }).execute());
    await expect(frozen.query('commit')).rejects.toThrow();
    expect(frozen.lost).toBe(true);
  } finally {
    await frozen.end();
  }
  expect(await targets(other)).toEqual(['of the other']);
});

test('servers of a cluster share a database with each other, and with no server that is alone', async () => {
  const { other } = await openFenced();
  await expect(openAt(harness.url, { exclusiveMs: 50 })).rejects.toMatchObject({ code: 'database_in_use' });
  await other.commit([done('1')]);
  expect(await targets(other)).toEqual(['1']);
});

test('whoever shares a database sees that a newer version has been there, before it changes anything', async () => {
  const store = await openAt(harness.url);
  expect(await schemaIsNewer(store.read, MIGRATIONS)).toBe(false);
  expect(await schemaIsNewer(store.read, MIGRATIONS.slice(1))).toBe(true);
  const newest = MIGRATIONS.at(-1) as (typeof MIGRATIONS)[number];
  const older = [...MIGRATIONS.slice(0, -1), { ...newest, steps: newest.steps.slice(1) }];
  expect(await schemaIsNewer(store.read, older)).toBe(true);
});

test('the lock is taken again after the connection was lost', async () => {
  const first = await openAt(harness.url);
  await harness.terminate();
  await passing(clock, first, first.persist([named('1', 'a')]));
  await expect(openAt(harness.url, { exclusiveMs: 50 })).rejects.toMatchObject({ code: 'database_in_use' });
});

test('what a commit changes is found by its keys, however much it is', async () => {
  const store = await openAt(harness.url);
  const ids = Array.from({ length: 1000 }, (_, index) => `${index}`);
  await store.commit(ids.map((id) => named(id, id)));
  await store.commit(ids.map((id) => renamed({ id, created_at: 1, name: `new ${id}` })));
  const plan = await store.transact(async (trx) => {
    const prepared = await sql<{ name: string }>`select name from pg_prepared_statements
      where statement like 'update "organizations"%'`.execute(trx);
    const values = [ids, ids, ids.map(() => 1)].map((column) => `'{${column.join(',')}}'`);
    const explain = `explain execute ${prepared.rows[0]?.name}(${values.join(',')})`;
    const { rows } = await sql.raw<{ 'QUERY PLAN': string }>(explain).execute(trx);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
  expect(plan).toContain('Index Scan');
  expect(plan).not.toContain('Seq Scan');
});

test('connections terminated at any moment lose no transition and double none', async () => {
  const store = await openAt(harness.url);
  const expected = Array.from({ length: 300 }, (_, index) => `${index}`);
  const calls: Promise<void>[] = [];
  const numbers: number[] = [];
  for (const target of expected) {
    calls.push(store.persist([done(target), numbered(target, (number) => void numbers.push(number))]));
    if (Number(target) % 60 === 30) await harness.terminate();
    else if (Number(target) % 7 === 0) await new Promise(setImmediate);
  }
  await passing(clock, store, Promise.all(calls));
  expect(await targets(store)).toEqual(expected);
  expect(numbers).toEqual(expected.map((target) => Number(target) + 1));
});

test('a commit that was stored while its answer was lost is acknowledged, and stored once', async () => {
  const proxy = await openProxy();
  const store = await openAt(proxy.url);
  proxy.cutAfter('commit');
  await passing(clock, store, Promise.all([store.commit([done('a')]), store.persist([done('b')])]));
  expect(proxy.cuts).toBe(1);
  expect(await targets(store)).toEqual(['a', 'b']);
});

test('the numbers of a commit whose answer was lost are told, whatever other servers have taken since', async () => {
  const proxy = await openProxy();
  const [store, other] = [
    await openAt(proxy.url, { exclusive: false }),
    await openAt(harness.url, { exclusive: false }),
  ] as const;
  const told: [string, number][] = [];
  const row = (id: string) => numbered(id, (number) => void told.push([id, number]));
  await other.commit([numbered('before')]);
  const answerLost = async (storing: () => Promise<unknown>) => {
    proxy.cutAfter('commit');
    const stored = storing();
    await until(() => !store.health().ok);
    await other.commit([numbered(`since ${told.length}`)]);
    await passing(clock, store, stored);
  };
  await answerLost(() => Promise.all([store.commit([row('a'), row('b')]), store.persist([row('c')])]));
  await answerLost(() => store.transact(async (_trx, write) => write([row('d')])));
  expect(proxy.cuts).toBe(2);
  expect(told).toEqual([
    ['a', 2],
    ['b', 3],
    ['c', 4],
    ['d', 6],
  ]);
});

test('a commit that was lost on its way is rejected and absent, the transitions beside it are stored once', async () => {
  const proxy = await openProxy();
  const store = await openAt(proxy.url);
  proxy.cutBefore('commit');
  const lost = store.commit([done('a')]);
  const kept = store.persist([done('b')]);
  await expect(passing(clock, store, lost)).rejects.toMatchObject({ code: 'store_unavailable' });
  await passing(clock, store, kept);
  expect(proxy.cuts).toBe(1);
  expect(await targets(store)).toEqual(['b']);
});

test('while a commit is in doubt, requests that came later are refused, not kept waiting', async () => {
  const proxy = await openProxy();
  const store = await openAt(proxy.url);
  proxy.cutBefore('commit');
  const inDoubt = store.commit([done('a')]);
  await until(() => !store.health().ok);
  await proxy.close();
  const refused = (request: Promise<void>) => expect(request).rejects.toMatchObject({ code: 'store_unavailable' });
  await Promise.all([
    refused(passing(clock, store, store.commit([done('b')]))),
    refused(
      passing(
        clock,
        store,
        store.transact(async () => undefined),
      ),
    ),
  ]);
  const given = [refused(inDoubt), refused(store.persist([done('c')]))];
  await passing(clock, store, store.close());
  await Promise.all(given);
});

/** Notices soon that nothing is answered, but not because the machine is busy with other tests. */
const WATCHFUL: Opening = { watchEveryMs: 10, watchMs: 1_000, stallMs: 1_000 };

test('a commit that was stored when PostgreSQL began to hang is told when that is known, and is stored once', async () => {
  const proxy = await openProxy();
  const store = await openAt(proxy.url, WATCHFUL);
  let answered = false;
  proxy.freezeAfter('commit');
  const commit = store.commit([done('a')]).finally(() => {
    answered = true;
  });
  const later = store.commit([done('b')]);
  await until(() => !store.health().ok);
  await expect(store.commit([done('c')])).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(answered).toBe(false);
  proxy.thaw();
  await passing(clock, store, commit);
  await later.catch(() => undefined);
  expect((await targets(store)).filter((target) => target !== 'b')).toEqual(['a']);
});

const asleep = (store: Store) => sql`select pg_sleep(600)`.execute(store.read);
const sleeping = async () => {
  const found =
    await harness.query(`select pid from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'
    and datname = current_database()`);
  return found.length;
};

test('reads whose connections are terminated are refused, and the next ones are served', async () => {
  const store = await openAt(harness.url);
  for (let round = 0; round < 5; round++) {
    const reads = [1, 2, 3].map(() => expect(asleep(store)).rejects.toMatchObject({ code: 'store_unavailable' }));
    await eventually(async () => (await sleeping()) === 3);
    await harness.terminate();
    await Promise.all(reads);
    expect(await targets(store)).toEqual([]);
  }
});

test('while PostgreSQL hangs, reads under way and reads that come later are refused; when it goes on they are served', async () => {
  const proxy = await openProxy();
  const store = await openAt(proxy.url, WATCHFUL);
  const read = asleep(store);
  const refused = expect(read).rejects.toMatchObject({ code: 'store_unavailable' });
  await eventually(async () => (await sleeping()) === 1);
  proxy.freeze();
  const more = Array.from({ length: 20 }, () => expect(targets(store)).rejects.toMatchObject({ status: 503 }));
  await Promise.all([refused, ...more]);
  expect(store.health()).toMatchObject({ ok: false, problem: 'unavailable' });
  await expect(targets(store)).rejects.toMatchObject({ code: 'store_unavailable' });
  proxy.thaw();
  await until(() => store.health().ok);
  expect(await targets(store)).toEqual([]);
});

test('PostgreSQL that is away is told by health although nobody asks it for anything', async () => {
  const store = await openAt(harness.url, WATCHFUL);
  await harness.fail(store);
  await until(() => !store.health().ok);
  await harness.heal();
  await until(() => store.health().ok);
});

test('a store whose PostgreSQL hangs can be closed', async () => {
  const proxy = await openProxy();
  const store = await openAt(proxy.url, WATCHFUL);
  expect(await targets(store)).toEqual([]);
  proxy.freeze();
  await until(() => !store.health().ok);
  const closed = store.close();
  await passing(clock, store, closed);
});

test('a transact whose answer was lost answers what its callback returned', async () => {
  const proxy = await openProxy();
  const store = await openAt(proxy.url);
  proxy.cutAfter('commit');
  const answer = store.transact(async (trx) => {
    await trx.insertInto('groups').values({ org_id: 'o', name: 'g', created_at: 1 }).execute();
    return 42;
  });
  expect(await passing(clock, store, answer)).toBe(42);
  expect(await store.read.selectFrom('groups').select('name').execute()).toEqual([{ name: 'g' }]);
});

test('a transact that swallowed an error of the database is not mistaken for stored', async () => {
  const store = await openAt(harness.url);
  const swallowing = store.transact(async (trx) => {
    await trx.insertInto('groups').values({ org_id: 'o', name: 'g', created_at: 1 }).execute();
    await sql`select 1 / 0`.execute(trx).catch(() => {});
  });
  await expect(swallowing).rejects.toThrow();
  expect(await store.read.selectFrom('groups').selectAll().execute()).toEqual([]);
});

test('a transact runs again after a serialization failure', async () => {
  const [first, second] = await Promise.all([1, 2].map(() => openAt(harness.url, { exclusive: false })));
  if (first === undefined || second === undefined) throw new Error('not opened');
  await first.commit([named('1', '0')]);
  const increment = (store: Store) =>
    store.transact(async (trx) => {
      const { name } = await trx.selectFrom('organizations').select('name').executeTakeFirstOrThrow();
      await trx
        .updateTable('organizations')
        .set({ name: `${Number(name) + 1}` })
        .execute();
    });
  await Promise.all([increment(first), increment(second), increment(first), increment(second)]);
  expect(await first.read.selectFrom('organizations').select('name').execute()).toEqual([{ name: '4' }]);
});

test('a transact that takes numbers keeps other servers from taking some when it runs again', async () => {
  const [store, other] = [
    await openAt(harness.url, { exclusive: false }),
    await openAt(harness.url, { exclusive: false }),
  ] as const;
  const told: string[] = [];
  const row = (id: string) => numbered(id, (number) => void told.push(`${number}: ${id}`));
  const waits = async () => (await harness.query('select from pg_locks where not granted')).length > 0;
  let runs = 0;
  let late: Promise<void> | undefined;
  await store.transact(async (trx, write) => {
    runs += 1;
    await trx.selectFrom('organizations').select('id').execute();
    if (runs === 1) await other.commit([row('between')]);
    else {
      late = other.commit([row('late')]);
      await eventually(waits);
    }
    write([row('own')]);
  });
  await late;
  // Who hears first is not said: the two are told over connections of their own.
  expect([runs, told.sort()]).toEqual([2, ['1: between', '2: own', '3: late']]);
});

test('the read side of PostgreSQL cannot write', async () => {
  const store = await openAt(harness.url);
  await expect(store.read.deleteFrom('push_jobs').execute()).rejects.toThrow('read-only');
});

test('two servers that start on an empty database migrate it once', async () => {
  await harness.untouched();
  const stores = await Promise.all([1, 2].map(() => openAt(harness.url, { exclusive: false })));
  await Promise.all(stores.map((store, index) => store.commit([named(`${index}`, `${index}`)])));
});

test('a database that cannot be reached is refused at once, with its place and without the password', async () => {
  const refused = await openAt('postgres://me:secret@127.0.0.1:1/none').catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'database_unusable',
    message: "cannot open the database 'none' at 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1",
    fix: 'Check that PostgreSQL runs and takes connections, and host and port in database_url (--database-url).',
  });
});

test('a database that is missing is refused with how to make it', async () => {
  const url = new URL(harness.url);
  url.pathname = '/muster_missing';
  await expect(openAt(url.href)).rejects.toMatchObject({
    message: expect.stringMatching(
      /^cannot open the database 'muster_missing' at .+:\d+: database "muster_missing" does/,
    ),
    fix: 'Create it (createdb muster_missing), or correct the name in database_url (--database-url).',
  });
});

test('a user who may not log in is refused with what to check', async () => {
  const url = new URL(harness.url);
  url.username = 'muster_nobody';
  await expect(openAt(url.href)).rejects.toMatchObject({
    code: 'database_unusable',
    fix: expect.stringMatching(/^Check the user muster_nobody and its password in database_url/),
  });
});

test('hints reach the other servers of a database, and whoever listens is told when some may have been lost', async () => {
  const [first, second] = await Promise.all([1, 2].map(() => openAt(harness.url, { exclusive: false, ...WATCHFUL })));
  if (first === undefined || second === undefined) throw new Error('not opened');
  const heard: (string | null)[] = [];
  second.hints.listen('topic', (text) => heard.push(text));
  await until(() => heard.length === 1);
  first.hints.send('topic', 'x');
  await until(() => heard.includes('x'));
  expect(heard).toEqual([MISSED, 'x']);
  await harness.terminate();
  await until(() => heard.length === 3);
  expect(heard[2]).toBe(MISSED);
  // One that is sent while its sender has no connection goes as soon as it has one again, or is lost.
  await until(() => {
    first.hints.send('topic', 'y');
    return heard.includes('y');
  });
});

test.each(['no hint', '{}', '[1, 2]', '["topic"]', 'null'])(
  '%s in the channel of hints harms nobody',
  async (payload) => {
    const store = await openAt(harness.url);
    const heard: (string | null)[] = [];
    store.hints.listen('topic', (text) => heard.push(text));
    await until(() => heard.length === 1);
    await harness.raw(`notify muster_hints, '${payload}'`);
    store.hints.send('topic', 'x');
    await until(() => heard.length === 2);
    expect(heard).toEqual([MISSED, 'x']);
  },
);

test('hints that PostgreSQL does not take are kept up to a limit', async () => {
  const proxy = await openProxy();
  const sender = await openAt(proxy.url, { exclusive: false, hintsWaiting: 2 });
  const listener = await openAt(harness.url, { exclusive: false });
  let connected = false;
  sender.hints.listen('topic', () => {
    connected = true;
  });
  const heard: (string | null)[] = [];
  listener.hints.listen('topic', (text) => heard.push(text));
  await until(() => connected && heard.length === 1);
  proxy.freeze();
  for (const text of ['1', '2', '3', '4']) sender.hints.send('topic', text);
  proxy.thaw();
  await until(() => {
    sender.hints.send('topic', 'last');
    return heard.includes('last');
  });
  expect(heard.slice(0, 4)).toEqual([MISSED, '1', '2', 'last']);
});

test('of two servers that change what the other guards, one is told so', async () => {
  const [first, second] = await Promise.all([1, 2].map(() => openAt(harness.url, { exclusive: false })));
  if (first === undefined || second === undefined) throw new Error('not opened');
  const servers = [first, second].map((store, index) => new Leases({ store, clock, holder: `server ${index}` }));
  for (let round = 1; round <= 20; round++) {
    const answers = await Promise.all(servers.map((leases) => leases.acquire('thing', 1_000)));
    expect(answers.map(({ kind }) => kind).sort()).toEqual(['acquired', 'held']);
    for (const [index, answer] of answers.entries()) {
      if (answer.kind === 'acquired') await servers[index]?.release(answer.lease);
    }
  }
  const lease = await first.read.selectFrom('leases').select('epoch').executeTakeFirstOrThrow();
  expect(lease.epoch).toBe(20);
});
