import { setInterval as every } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Dealer } from 'zeromq';
import type { ApiClient } from './support/api-client.js';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { hostileNode, hostilePeer, malformedMessages, metric } from './support/hostile.js';
import { forgetPeak, peakMib, residentMib } from './support/memory.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** An admitted node that sends nothing but garbage. MUSTER_TEST_FAULT_SECONDS=60 for a long one. */
const PER_SECOND = 1_000;
const SECONDS = Number(process.env.MUSTER_TEST_FAULT_SECONDS ?? 3);
/** docs/guarantees.md */
const MOST_LINES_PER_SECOND = 20;
const MOST_GROWTH_MIB = 64;
const NAMES = ['a', 'b', 'c'];

let cluster: Cluster;
let held: HeldCommand;
let hostile: ApiClient;

beforeAll(async () => {
  cluster = await Cluster.start();
  held = new HeldCommand(cluster.dir, 'held');
  const commands = { held: held.entry, quick: 'true' };
  hostile = await hostileNode(cluster.api, 'hostile');
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands }])));
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

const dropped = (): Promise<number> => metric(cluster.url, 'muster_messages_dropped_total');

/** Sends at the rate for that long; returns how many were sent. */
async function flood(socket: Dealer, seconds: number): Promise<number> {
  const messages = malformedMessages();
  const burst = PER_SECOND / 50;
  let sent = 0;
  for await (const _ of every(20)) {
    for (let n = 0; n < burst; n++) await socket.send(messages[sent++ % messages.length] ?? ['']);
    if (sent >= PER_SECOND * seconds) return sent;
  }
  return sent;
}

test(
  `${PER_SECOND} malformed messages a second beside a running job: the job and new ones are unaffected, each is counted, the log and the memory stay bounded`,
  async () => {
    const id = await cluster.startJob({ command: 'held', nodes: ['a', 'b'] });
    await cluster.nodeCountIn(id, 'running', 2);
    const socket = await hostilePeer(hostile, true);
    const before = residentMib(cluster.server.pid);
    forgetPeak(cluster.server.pid);
    const lines = cluster.server.log.split('\n').length;
    const counted = await dropped();

    const flooding = flood(socket, SECONDS);
    let flooded = false;
    void flooding.then(() => {
      flooded = true;
    });
    let jobs = 0;
    while (!flooded) {
      const quick = await cluster.startJob({ command: 'quick', nodes: ['c'] });
      expect((await cluster.jobIs(quick, 'complete')).nodes).toEqual({ succeeded: ['c'] });
      jobs += 1;
    }
    const sent = await flooding;
    held.release();
    const job = await cluster.jobIs(id, 'complete');
    expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(['a', 'b']);
    expect(held.runs).toEqual(['a', 'b']);
    // A server that was busy may have some to read yet.
    const drops = await until('the garbage to be counted', async () => {
      const more = (await dropped()) - counted;
      return more >= sent * 0.9 && more;
    });
    socket.close();

    const growth = peakMib(cluster.server.pid) - before;
    const logged = cluster.server.log.split('\n').length - lines;
    console.log(
      JSON.stringify({ sent, dropped: drops, seconds: SECONDS, jobs, log_lines: logged, growth_mib: growth }),
    );
    expect(logged).toBeLessThan(MOST_LINES_PER_SECOND * (SECONDS + 2));
    expect(growth).toBeLessThan(MOST_GROWTH_MIB);
    expect(jobs).toBeGreaterThan(0);
  },
  (SECONDS + 180) * 1000,
);
