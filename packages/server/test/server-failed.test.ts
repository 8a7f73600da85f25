import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test, vi } from 'vitest';
import { sharedKey } from '../../platform/test/support/personas.js';
import { startTestServer } from './support/test-server.js';

/** The database refuses one row for good, as it would if the code had a defect. Needs the file, so SQLite alone. */
afterEach(() => vi.unstubAllEnvs());

test('a transition that the database refuses for good ends the server', async () => {
  vi.stubEnv('MUSTER_TEST_DATABASE_URL', undefined);
  const server = await startTestServer();
  const database = new Database(join(server.dataDir, 'muster.db'));
  database.exec(`create trigger fault before insert on nodes begin select raise(abort, 'no such luck'); end`);
  database.close();
  const created = await server.api.post('/organizations/default/nodes', {
    name: 'n1',
    public_key: sharedKey().publicKey,
  });
  expect(created.status).toBe(201);
  const failure = await server.running.failed;
  expect(failure.code).toBe('server_failed');
  expect(failure.message).toBe(
    'the server cannot go on: the database refuses a change of state for good (no such luck)',
  );
  await server.stop();
});
