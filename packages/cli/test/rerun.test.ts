import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const JOBS = '/organizations/o/pushy/jobs';
const EARLIER = 'e'.repeat(32);
const ID = 'a'.repeat(32);

let server: ApiServer | undefined;
afterEach(() => server?.close());

/** What was posted to start the job. */
async function posted(argv: readonly string[]): Promise<unknown> {
  server = await apiServer({
    [`GET ${JOBS}/${EARLIER}`]: json({ id: EARLIER, status: 'complete', command: 'chef-client', nodes: {} }),
    [`POST ${JOBS}/preview`]: json({ count: 1, nodes: ['n'], restricted: [] }),
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', ...argv], world), world.err()).toBe(0);
  const [request] = server.received.filter(({ method, path }) => method === 'POST' && path === JOBS);
  return JSON.parse(request?.body ?? 'null');
}

test('a quorum above the number of nodes to run again is refused', async () => {
  server = await apiServer({
    [`GET ${JOBS}/${EARLIER}`]: json({ id: EARLIER, status: 'complete', command: 'chef-client', nodes: {} }),
    [`POST ${JOBS}/preview`]: json({ count: 1, nodes: ['n'], restricted: [] }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'rerun', EARLIER, '--quorum', '2', '--yes'], world)).toBe(2);
  expect(world.err()).toContain('1 node was chosen, and a quorum of 2 cannot be reached');
});

test.each([
  ['push rerun JOB', ['rerun', EARLIER]],
  ['push start --rerun JOB', ['start', '--rerun', EARLIER]],
])('%s runs the earlier command where it failed or was not started', async (_, argv) => {
  expect(await posted([...argv, '--failed', '--not-started', '--detach'])).toEqual({
    command: 'chef-client',
    capture_output: true,
    quorum: 'default',
    from_job: {
      id: EARLIER,
      statuses: ['failed', 'crashed', 'timed_out', 'aborted', 'nacked', 'unavailable', 'was_ready'],
    },
  });
  await server?.close();
  expect(await posted([...argv, '--failed', '--detach', '--', 'uptime'])).toEqual({
    command: 'uptime',
    capture_output: true,
    quorum: 'default',
    from_job: { id: EARLIER, statuses: ['failed', 'crashed', 'timed_out', 'aborted'] },
  });
});
