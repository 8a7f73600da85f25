import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { hostileNode, hostilePeer, malformedMessages, metric } from './support/hostile.js';
import { freePorts } from './support/ports.js';
import { until } from './support/until.js';

/** What others do to a running server, on real processes. */
const NAMES = ['a', 'b', 'c'];

let cluster: Cluster;
let held: HeldCommand;

beforeAll(async () => {
  cluster = await Cluster.start();
  held = new HeldCommand(cluster.dir, 'held');
  const commands = { held: held.entry, quick: 'true' };
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands }])));
});
beforeEach(() => held.reset());
afterAll(() => cluster.stop());

const sorted = (names: readonly string[] | undefined): string[] => [...(names ?? [])].sort();

test('a second server on the same data directory is refused', async () => {
  const [http, heartbeat, command] = await freePorts(3);
  const second = await cluster.muster(
    ...['server', '--data-dir', cluster.dataDir, '--http', `127.0.0.1:${http}`],
    ...['--heartbeat', `tcp://127.0.0.1:${heartbeat}`, '--command', `tcp://127.0.0.1:${command}`],
    ...['--stomp', '127.0.0.1:0'],
  );
  expect(second.code).toBe(5);
  expect(second.stderr).toContain('another muster server is running on');
});

test('a second server on the same database is refused', async () => {
  const [http, heartbeat, command] = await freePorts(3);
  // SQLite is in the data directory; PostgreSQL is held from any of them.
  const database = cluster.serverArgs.indexOf('--database-url');
  const shared = database < 0 ? [] : cluster.serverArgs.slice(database, database + 2);
  const second = await cluster.muster(
    ...['server', '--data-dir', database < 0 ? cluster.dataDir : join(cluster.dir, 'third'), ...shared],
    ...['--http', `127.0.0.1:${http}`, '--heartbeat', `tcp://127.0.0.1:${heartbeat}`],
    ...['--command', `tcp://127.0.0.1:${command}`, '--stomp', '127.0.0.1:0'],
  );
  expect(second.code).toBe(5);
  expect(second.stderr).toContain('another muster server is running on');
});

test('a second server on the same addresses is refused', async () => {
  const args = cluster.serverArgs.map((arg) => (arg === cluster.dataDir ? join(cluster.dir, 'second') : arg));
  const database = args.indexOf('--database-url');
  const second = await cluster.muster(...(database < 0 ? args : args.toSpliced(database, 2)));
  expect(second.code).toBe(5);
  expect(second.stderr).toContain('cannot listen on');
});

describe('two jobs over the same nodes (Push Jobs §5.3.3)', () => {
  test('the later one finds the nodes busy; each node runs one command at a time', async () => {
    const first = await cluster.startJob({ command: 'held', nodes: ['a', 'b'] });
    await until('both to run', async () => (await cluster.job(first)).nodes.running?.length === 2);
    const second = await cluster.startJob({ command: 'quick', nodes: NAMES, quorum: 1 });
    const job = await cluster.jobIs(second, 'complete');
    expect({ nacked: sorted(job.nodes.nacked), succeeded: job.nodes.succeeded }).toEqual({
      nacked: ['a', 'b'],
      succeeded: ['c'],
    });
    held.release();
    expect(sorted((await cluster.jobIs(first, 'complete')).nodes.succeeded)).toEqual(['a', 'b']);
    expect(held.runs).toEqual(['a', 'b']);
  });

  test('started at once, every node takes part in exactly one of them', async () => {
    held.release();
    const ids = await Promise.all([1, 2].map(() => cluster.startJob({ command: 'held', nodes: NAMES, quorum: 1 })));
    const jobs = await Promise.all(
      ids.map((id) =>
        until(`${id} to end`, async () => {
          const job = await cluster.job(id);
          return ['complete', 'quorum_failed'].includes(job.status) ? job : undefined;
        }),
      ),
    );
    const ran = jobs.flatMap((job) => job.nodes.succeeded ?? []);
    const refused = jobs.flatMap((job) => job.nodes.nacked ?? []);
    expect(sorted([...ran, ...refused])).toEqual(sorted([...NAMES, ...NAMES]));
    expect(held.runs).toEqual(sorted(ran));
  });
});

describe('malformed frames to the command port while a job runs', () => {
  test('neither a peer without admission nor a node that sends garbage disturbs it', async () => {
    const id = await cluster.startJob({ command: 'held', nodes: NAMES });
    await until('every node to run', async () => (await cluster.job(id)).nodes.running?.length === NAMES.length);
    const sockets = [
      await hostilePeer(await hostileNode(cluster.api, 'stranger'), false),
      await hostilePeer(await hostileNode(cluster.api, 'hostile'), true),
    ];
    for (const frames of malformedMessages()) {
      // A peer that is refused cannot send at all; that is fine, too.
      for (const socket of sockets) await socket.send(frames).catch(() => undefined);
    }
    await until(
      'the server to have dropped some',
      async () => (await metric(cluster.url, 'muster_messages_dropped_total')) > 0,
    );
    held.release();
    expect(sorted((await cluster.jobIs(id, 'complete')).nodes.succeeded)).toEqual(NAMES);
    for (const socket of sockets) socket.close();
    expect(cluster.server.exit).toBeNull();
  });

  test('plain TCP garbage on both ports changes nothing', async () => {
    for (const port of cluster.ports) {
      await new Promise<void>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(randomBytes(4096), () => socket.destroy()));
        socket.on('error', () => resolve());
        socket.on('close', () => resolve());
      });
    }
    const id = await cluster.startJob({ command: 'quick', nodes: NAMES });
    expect(sorted((await cluster.jobIs(id, 'complete')).nodes.succeeded)).toEqual(NAMES);
  });
});
