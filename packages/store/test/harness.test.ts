import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { until } from './conformance/suite.js';
import { dropDatabase, postgres } from './postgres.js';

/** What the tests of the store lean on: a test that fails must not hold up those after it. */

afterAll(dropDatabase);

test('what never becomes true is waited for no longer than that', async () => {
  await expect(until(() => false, 10)).rejects.toThrow('has not come in 10 ms');
});

test('a database is emptied, whatever transaction is left in it', async () => {
  const harness = await postgres();
  await harness.raw('create table held (id text primary key)');
  const left = new pg.Client({ connectionString: harness.url });
  const lost = new Promise((resolve) => left.on('error', resolve));
  await left.connect();
  await left.query('begin; lock table held in access exclusive mode');
  await harness.drop();
  expect(String(await lost)).toContain('terminating connection');
});
