import { Leases } from '@muster/store';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { IDENTITY_ROWS } from '../src/auth/identity-rows.js';
import { AUTH_LIMITS } from '../src/auth/limits.js';
import { CLEARING, OrganizationRemnants, type OrganizationRows } from '../src/auth/organization-rows.js';
import { openDirectory } from './support/directory.js';
import { ME, sharedKey } from './support/personas.js';

/** What is kept of an organization goes with it: little by little, and also when the server ends in between. */

type Directory = Awaited<ReturnType<typeof openDirectory>>;

let directory: Directory;
beforeEach(async () => {
  directory = await openDirectory();
});
afterEach(() => directory.close());

const failed = (error: unknown) => expect.fail(String(error));

/** A layer with so many rows, which counts the steps it takes. */
function layer(rows: number) {
  const steps: number[] = [];
  let left = rows;
  const clear: OrganizationRows['clear'] = async (_trx, _orgId, most) => {
    steps.push(Math.min(most, left));
    left -= Math.min(most, left);
    return left === 0;
  };
  return { clear, steps };
}

const remnantsOf = (incarnation: string, ...rows: readonly OrganizationRows[]) =>
  new OrganizationRemnants({ store: directory.store, clock: directory.clock, incarnation, rows, failed });

const remnants = (...rows: readonly OrganizationRows[]) => remnantsOf('test', ...rows);

async function deleted(): Promise<string> {
  const { auth } = directory;
  const { id } = await auth.organizations.create('passing', ME);
  await auth.organizations.remove({ id, name: 'passing' }, ME);
  return id;
}

const waiting = async () =>
  (await directory.store.read.selectFrom('deleted_organizations').select('id').execute()).map(({ id }) => id);

test('the organization is gone at once, its rows in steps of bounded size', async () => {
  const id = await deleted();
  expect(await directory.auth.organizations.find('passing')).toBeUndefined();
  expect(await waiting()).toEqual([id]);
  const [one, other] = [layer(250), layer(0)];
  await remnants(one, other).clear();
  expect([one.steps, other.steps]).toEqual([[100, 100, 50], [0]]);
  expect(await waiting()).toEqual([]);
});

test('a server that ends in between leaves the rest to the next one', async () => {
  const id = await deleted();
  const half = layer(250);
  const ending = remnants({
    async clear(trx, orgId, most) {
      if (half.steps.length === 1) throw new Error('the server ends');
      return half.clear(trx, orgId, most);
    },
  });
  await expect(ending.clear()).rejects.toThrow('the server ends');
  expect(await waiting()).toEqual([id]);
  await remnants(half).clear();
  expect(half.steps).toEqual([100, 100, 50]);
  expect(await waiting()).toEqual([]);
});

test('of several servers one clears; from one that ended in the midst of it another takes over when its lease is over', async () => {
  const id = await deleted();
  const { store, clock } = directory;
  await new Leases({ store, clock, holder: 'another' }).acquire(CLEARING, AUTH_LIMITS.clearingLeaseMs);
  const rows = layer(250);
  const here = remnants(rows);
  await here.clear();
  expect([rows.steps, await waiting()]).toEqual([[], [id]]);
  clock.advance(AUTH_LIMITS.clearingLeaseMs);
  await here.clear();
  expect([rows.steps, await waiting()]).toEqual([[100, 100, 50], []]);
});

test('who clears for long keeps the lease, and gives it back', async () => {
  await deleted();
  const { store, clock } = directory;
  const held = async () => new Leases({ store, clock, holder: 'another' }).acquire(CLEARING, 1);
  const rows = layer(250);
  await remnants({
    clear(trx, orgId, most) {
      clock.advance(AUTH_LIMITS.clearingLeaseMs * 0.6);
      return rows.clear(trx, orgId, most);
    },
  }).clear();
  expect(rows.steps).toEqual([100, 100, 50]);
  expect((await held()).kind).toBe('acquired');
});

test('its events go, and those of others stay', async () => {
  await deleted();
  const logged = async () =>
    new Set((await directory.store.read.selectFrom('event_log').select('org_id').execute()).map((row) => row.org_id));
  await directory.auth.organizations.create('staying', ME);
  const before = await logged();
  await directory.auth.remnants.clear();
  const after = await logged();
  expect(after.size).toBe(before.size - 1);
});

describe('identities', () => {
  const SERVICES = 250;
  const STEP = AUTH_LIMITS.remnantRows;
  const CLIENT_TABLES = ['principals', 'principal_keys', 'access_tokens'] as const;

  /** Services with a key and two access tokens each, and rows of all that may hang on their names. */
  async function crowded(): Promise<string> {
    const { auth, store } = directory;
    const organization = await auth.organizations.create('passing', ME);
    const { id: org_id } = organization;
    await directory.addUser('alice', organization);
    await directory.addUser('bob', null);
    await auth.invitations.create(organization, 'bob', ME);
    await auth.tokens.createEnrolToken(organization, { uses: 1, ttlSeconds: 60 }, ME);
    const names = Array.from({ length: SERVICES }, (_, index) => `s${index}`);
    const clients = { users: [], clients: names, groups: [] };
    await auth.groups.put(organization, 'admins', clients, ME);
    await auth.nodeGroups.put(organization, 'web', { nodes: names, execute: clients, query: null }, ME);
    const created_at = directory.clock.now();
    const idOf = (name: string) => `${org_id}-${name}`;
    const principals = names.map((name) => ({ id: idOf(name), org_id, type: 'service' as const, name, created_at }));
    const keys = names.map((name) => ({ id: `key-${name}`, principal_id: idOf(name), created_at }));
    const tokens = names.flatMap((name) =>
      [1, 2].map((n) => ({ id: `token-${name}-${n}`, hash: `${n}${name}`, principal_id: idOf(name), created_at })),
    );
    const key = { public_key: sharedKey().publicKey, fingerprint: 'f' };
    await store.transact(async (trx) => {
      for (let at = 0; at < SERVICES; at += STEP) {
        const piece = <Row>(rows: readonly Row[], each = 1) => rows.slice(at * each, (at + STEP) * each);
        await trx
          .insertInto('principals')
          .values(piece(principals).map((row) => ({ ...row, server_admin: 0 })))
          .execute();
        await trx
          .insertInto('principal_keys')
          .values(piece(keys).map((row) => ({ ...row, ...key })))
          .execute();
        await trx
          .insertInto('access_tokens')
          .values(piece(tokens, 2).map((row) => ({ ...row, expires_at: created_at + 1000, created_by: 'me' })))
          .execute();
      }
    });
    await auth.organizations.remove(organization, ME);
    return org_id;
  }

  async function counts(): Promise<number[]> {
    const counted = CLIENT_TABLES.map((table) =>
      directory.store.read
        .selectFrom(table)
        .select((row) => row.fn.countAll<number>().as('rows'))
        .executeTakeFirstOrThrow(),
    );
    return (await Promise.all(counted)).map(({ rows }) => Number(rows));
  }

  /** Tables that hold rows of the organization. */
  async function holding(orgId: string): Promise<string[]> {
    const { read } = directory.store;
    const held: string[] = [];
    for (const { name, columns } of await read.introspection.getTables()) {
      if (!columns.some((column) => column.name === 'org_id')) continue;
      const { rows } = await sql`select 1 from ${sql.table(name)} where org_id = ${orgId} limit 1`.execute(read);
      if (rows.length > 0) held.push(name);
    }
    return held.sort();
  }

  const HELD = ['group_members', 'groups', 'node_group_grants', 'node_group_members', 'node_groups', 'org_members'];

  test('go in steps of bounded size, once the name is gone', async () => {
    const id = await crowded();
    const users = 2;
    expect(await counts()).toEqual([SERVICES + users, SERVICES + users, 2 * SERVICES]);
    expect(await holding(id)).toEqual(expect.arrayContaining([...HELD, 'enrol_tokens', 'org_invitations']));
    let before = await counts();
    let steps = 0;
    for (let cleared = false; !cleared; steps++) {
      cleared = await directory.store.transact((trx) => IDENTITY_ROWS.clear(trx, id, STEP));
      const after = await counts();
      for (const [index, rows] of after.entries()) expect((before[index] ?? 0) - rows).toBeLessThanOrEqual(STEP);
      before = after;
    }
    expect(steps).toBeGreaterThan((2 * SERVICES) / STEP);
    expect(before).toEqual([users, users, 0]);
  });

  test('that a server left when it ended go with the next one', async () => {
    const id = await crowded();
    let steps = 0;
    const ending = remnants({
      async clear(trx, orgId, most) {
        if (++steps > 3) throw new Error('the server ends');
        return IDENTITY_ROWS.clear(trx, orgId, most);
      },
    });
    await expect(ending.clear()).rejects.toThrow('the server ends');
    const [services = 0] = await counts();
    expect(services).toBeGreaterThan(2);
    await directory.auth.remnants.clear();
    expect(await holding(id)).toEqual(['audit']);
    expect(await waiting()).toEqual([]);
  });

  test('are none of the next organization of the name', async () => {
    const { auth } = directory;
    const before = await crowded();
    const { id } = await auth.organizations.create('passing', ME);
    const { repository } = auth;
    for (const name of ['s0', 'alice']) {
      const candidates = await repository.candidates(id, name);
      expect(candidates.filter(({ member }) => member)).toEqual([]);
    }
    expect([...(await repository.groups(id)).values()].flatMap(({ clients }) => [...clients])).toEqual([]);
    expect(await repository.nodeGroups(id)).toEqual([]);
    expect(await auth.organizations.members(id)).toEqual([]);
    await directory.addClient('service', 's0', { id, name: 'passing' });
    await auth.remnants.clear();
    expect(await holding(before)).toEqual(['audit']);
    expect(await repository.candidates(id, 's0')).toHaveLength(1);
    expect(await holding(id)).toEqual(['audit', 'event_log', 'groups', 'principals']);
  });
});
