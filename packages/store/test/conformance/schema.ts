import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { named, principal } from './rows.js';
import type { Suite } from './suite.js';

export function schemaSuite(suite: Suite): void {
  const { openStore, names } = suite;
  describe('schema', () => {
    test('an empty database gets every table', async () => {
      await suite.harness.untouched();
      const store = await openStore();
      for (const table of ['nodes', 'push_jobs', 'push_job_nodes', 'output_chunks', 'event_log', 'audit'] as const) {
        expect(await store.read.selectFrom(table).selectAll().execute()).toEqual([]);
      }
    });

    test('opening again keeps what is stored', async () => {
      const first = await openStore();
      await first.commit([named('1', 'acme')]);
      await first.close();
      expect(await names(await openStore())).toEqual(['acme']);
    });

    test('a newer schema than the code knows is refused', async () => {
      const store = await openStore();
      const steps = await sql<{
        known: number;
      }>`select max(version) as known from schema_version where package = 'push'`.execute(store.read);
      await store.close();
      await suite.harness.raw(
        `insert into schema_version (package, version, name, applied_at) values ('push', 99, 'future', 1)`,
      );
      await expect(openStore()).rejects.toMatchObject({
        code: 'schema_too_new',
        details: { found: 99, ...steps.rows[0] },
      });
    });

    test('a user name is taken once, and once in each organization', async () => {
      const store = await openStore();
      await store.commit([principal('1', null, 'ann'), principal('2', 'o1', 'ann'), principal('3', 'o2', 'ann')]);
      await expect(store.commit([principal('4', null, 'ann')])).rejects.toThrow();
      await expect(store.commit([principal('5', 'o1', 'ann')])).rejects.toThrow();
    });
  });
}
