import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function doctor(store: object) {
  server = await apiServer({
    'GET /_status': json({ status: "it's alive", ...store }),
    'GET /organizations/o/pushy/node_states': json([]),
    'POST /organizations/o/pushy/jobs/preview': json({ count: 0, nodes: [], restricted: [] }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  const code = await run(['doctor'], world);
  return { code, out: world.out() };
}

test('a server whose database stores nothing is not well, whatever else it answers', async () => {
  const { code, out } = await doctor({ store: { ok: false } });
  expect(code).toBe(1);
  expect(out).toMatch(/^failed +database: stores nothing now, .+ check the space on the disk of data_dir/m);
  expect(out).toMatch(/^ok +nodes: 0 of 0 available$/m);
});

test('a server whose database is damaged is not well, and a backup is needed', async () => {
  const { code, out } = await doctor({ store: { ok: false, problem: 'damaged' } });
  expect(code).toBe(1);
  expect(out).toMatch(/^failed +database: the file muster.db is damaged, .+ put a backup in the place of the file/m);
});

test.each([{ store: { ok: true } }, {}])('with %j in its status it is well', async (store) => {
  const { code, out } = await doctor(store);
  expect(code).toBe(0);
  expect(out).toMatch(/^ok +database: stores what it is given$/m);
});
