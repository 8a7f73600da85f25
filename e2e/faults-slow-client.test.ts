import { connect, type Socket } from 'node:net';
import { type SimulatedNodes, startSimulatedNodes } from '@muster/sim';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { type FeedEvent, openFeed } from './support/feed.js';
import { forgetPeak, peakMib, residentMib } from './support/memory.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** Clients that ask and do not read, or begin to ask and do not go on. */
const READERS = 20;
const FEED_READERS = 50;
const STARTERS = 500;
const NODES = 300;
const MIB = 1_048_576;
const OUTPUT = 10 * MIB;
/** A feed that is asked for later than this after the end of its job tells of nothing but that. */
const LINGER_SECONDS = 120;
/** docs/guarantees.md */
const MOST_GROWTH_MIB = 128;

let cluster: Cluster;
let nodes: SimulatedNodes;

beforeAll(async () => {
  // The nodes share this process with the clients: they must not be taken for down when both are busy.
  cluster = await Cluster.start({ heartbeatInterval: 5, flags: ['--push-linger', String(LINGER_SECONDS)] });
  await cluster.startAgents({ a: { commands: { much: `head -c ${OUTPUT} /dev/zero`, quick: 'true' } } });
  const { url, org, persona } = cluster.api;
  nodes = await startSimulatedNodes({ server: url, org, count: NODES, admin: persona });
  await everybodyIsAvailable();
}, 120_000);
neverHarmed(() => cluster);
afterAll(async () => {
  await nodes.stop();
  await cluster.stop();
});

const everybodyIsAvailable = () =>
  cluster.nodesAre(NODES + 1, 'available', ({ availability }) => availability === 'available');

/** Ends an answer in chunks; one that broke off has none. */
const LAST_CHUNK = '\r\n0\r\n\r\n';

function countByEvent(events: readonly FeedEvent[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { event } of events) counts[event] = (counts[event] ?? 0) + 1;
  return counts;
}

/** A client on a plain socket, which reads only when it is told to. */
class StalledClient {
  readonly socket: Socket;
  bytes = 0;
  text = '';
  ended = false;
  error: Error | undefined;

  constructor(request: string) {
    const { hostname, port } = new URL(cluster.url);
    this.socket = connect({ host: hostname, port: Number(port) });
    this.socket.on('error', (error) => {
      this.error = error;
    });
    this.socket.on('close', () => {
      this.ended = true;
    });
    this.socket.write(request);
  }

  read(keep: boolean): void {
    this.socket.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (keep) this.text += chunk.toString('latin1');
    });
  }
}

function getRequest(rest: string, accept: string): string {
  const path = cluster.api.path(rest);
  const headers = { ...cluster.api.headers('GET', path, '', { accept }), host: 'muster', connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

async function othersAreServed(): Promise<void> {
  const id = await cluster.startJob({ command: 'quick', nodes: ['a'] });
  expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ succeeded: ['a'] });
}

test(`${READERS} clients that ask for 10 MiB of output and do not read: others are served, the server's memory is bounded, and they get all of it when they go on`, async () => {
  const id = await cluster.startJob({ command: 'much', nodes: ['a'], capture_output: true });
  await cluster.jobIs(id, 'complete');
  const before = residentMib(cluster.server.pid);
  forgetPeak(cluster.server.pid);
  const request = getRequest(`pushy/jobs/${id}/output/a/stdout`, 'application/octet-stream');
  const clients = Array.from({ length: READERS }, () => new StalledClient(request));
  for (let n = 0; n < 10; n++) await othersAreServed();
  const growth = peakMib(cluster.server.pid) - before;
  console.log(JSON.stringify({ readers: READERS, growth_mib: growth }));
  expect(growth).toBeLessThan(MOST_GROWTH_MIB);
  for (const client of clients) client.read(false);
  await until('all of it', () => clients.every(({ bytes }) => bytes > OUTPUT));
});

test(`${FEED_READERS} readers of a job's feed that do not read: the job and other readers are unaffected, and they miss no event when they go on`, async () => {
  await everybodyIsAvailable();
  const before = residentMib(cluster.server.pid);
  forgetPeak(cluster.server.pid);
  const id = await cluster.startJob({ command: 'anything', nodes: [...nodes.names, 'a'], quorum: NODES });
  const feed = await openFeed(cluster.api, `pushy/job_status_feed/${id}`);
  const request = getRequest(`pushy/job_status_feed/${id}`, 'text/event-stream');
  const clients = Array.from({ length: FEED_READERS }, () => new StalledClient(request));
  expect((await cluster.jobEnds(id)).nodes.succeeded?.length).toBe(NODES);
  const told = await feed.whole();
  const ids = told.map(({ id }) => id);
  expect(told.at(-1)?.event, cluster.server.log).toBe('job_complete');
  expect(ids).toEqual(told.map((_, index) => `job-${index + 1}`));
  expect(countByEvent(told)).toMatchObject({ run_start: NODES, run_complete: NODES, job_complete: 1 });
  const events = told.length;
  const growth = peakMib(cluster.server.pid) - before;
  console.log(JSON.stringify({ readers: FEED_READERS, events, growth_mib: growth }));
  expect(growth).toBeLessThan(MOST_GROWTH_MIB);
  for (const client of clients) client.read(true);
  await until('every feed to end', () => clients.every(({ ended }) => ended));
  for (const { text, error } of clients) {
    expect(error).toBeUndefined();
    expect([...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id)).toEqual(ids);
    expect(text.slice(-LAST_CHUNK.length)).toBe(LAST_CHUNK);
  }
});

test(`${STARTERS} connections that never finish their request: others are served`, async () => {
  const half = getRequest('pushy/node_states', 'application/json').slice(0, 60);
  const clients = Array.from({ length: STARTERS }, () => new StalledClient(half));
  await until('all to be connected', () => clients.every(({ socket }) => !socket.connecting));
  for (let n = 0; n < 5; n++) await othersAreServed();
  for (const { socket } of clients) socket.destroy();
});
