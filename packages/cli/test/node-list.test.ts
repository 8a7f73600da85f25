import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { timeText } from '../src/summary.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

test('node list says since when each node is in its present availability', async () => {
  const up = 'Sun, 16 Sep 2012 00:00:00 GMT';
  const rehab = 'Mon, 17 Sep 2012 10:30:00 GMT';
  const node = { node_name: 'web1', status: 'up', availability: 'unavailable', reason: 'in rehab' };
  server = await apiServer({
    'GET /organizations/o/pushy/node_states': json([{ ...node, updated_at: up, owner_since: rehab }]),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['node', 'list'], world)).toBe(0);
  expect(world.out()).toContain(timeText(rehab));
  expect(world.out()).not.toContain(timeText(up));
});

test('node list gives comma-separated values or JSON, and refuses to be asked for both', async () => {
  const node = { node_name: 'web1', status: 'up', facts: { site: '=cmd', memory: -1 }, labels: {} };
  server = await apiServer({ 'GET /organizations/o/nodes': json({ total: 1, nodes: [node] }) });
  const asked = async (...words: string[]) => {
    const env = { MUSTER_URL: server?.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
    const world = testWorld({ env });
    return { code: await run([...words, '--csv', '--columns', 'name,site,memory'], world), world };
  };
  expect((await asked('node', 'list')).world.out()).toBe("name,site,memory\r\nweb1,'=cmd,-1\r\n");
  for (const words of [
    ['node', 'list', '--json'],
    ['--json', 'node', 'list'],
  ]) {
    const { code, world } = await asked(...words);
    expect([code, world.out(), world.err()]).toEqual([2, '', expect.stringContaining('--csv or --json, not both')]);
  }
});

test('node list refuses columns for JSON, which has all', async () => {
  const world = testWorld({ env: { MUSTER_URL: 'http://127.0.0.1:9', MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['node', 'list', '--columns', 'name', '--json'], world)).toBe(2);
  expect(world.err()).toContain('--columns or --json, not both');
});

test('node list gives times as ISO 8601 in comma-separated values', async () => {
  const node = { node_name: 'web1', facts: {}, labels: {}, owner_since: '2026-12-01T00:11:47.000Z' };
  server = await apiServer({ 'GET /organizations/o/nodes': json({ total: 1, nodes: [node] }) });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['node', 'list', '--csv', '--columns', 'name,since'], world)).toBe(0);
  expect(world.out()).toBe('name,since\r\nweb1,2026-12-01T00:11:47.000Z\r\n');
});
