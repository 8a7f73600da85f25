import { afterEach, beforeEach, expect, test } from 'vitest';
import { OrganizationRemnants, type OrganizationRows } from '../src/auth/organization-rows.js';
import { openDirectory } from './support/directory.js';
import { ME } from './support/personas.js';

/** What layers keep of an organization goes with it: little by little, and also when the server ends in between. */

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

const remnants = (...layers: readonly OrganizationRows[]) =>
  new OrganizationRemnants({ store: directory.store, clock: directory.clock, layers, failed });

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
