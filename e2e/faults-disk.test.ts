import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { JobLoad } from './support/job-load.js';
import { SmallDisk } from './support/small-disk.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** The file system of the server's data directory fills up while jobs run, with SQLite in it. */
const NAMES = ['a', 'b', 'c'];
const DISK_MIB = 16;
/** docs/guarantees.md: once there is space, requests are accepted again within this time. */
const RECOVERY_MS = 10_000;

let cluster: Cluster;
let disk: SmallDisk;
let held: HeldCommand;

beforeAll(async () => {
  cluster = await Cluster.start({
    database: { url: undefined, release: async () => undefined },
    disk: async (dir) => {
      disk = await SmallDisk.mount(dir, DISK_MIB);
      return disk;
    },
  });
  held = new HeldCommand(cluster.dir, 'held');
  const commands = { held: held.entry, quick: 'true' };
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands, grace: 1 }])));
});
neverHarmed(() => cluster);
afterAll(async () => {
  await cluster.stop();
  await disk.unmount();
});

/** What is small may still fit in what the database has already taken; sooner or later nothing does. */
async function refusesJobs(): Promise<void> {
  await until('a job to be refused', async () => {
    const reply = await cluster.api.post('pushy/jobs', { command: 'quick', nodes: ['none'], env: ballast() });
    if (reply.status === 201) return false;
    expect([reply.status, reply.headers['x-muster-error']]).toEqual([503, 'store_unavailable']);
    return true;
  });
}

function ballast(): Record<string, string> {
  return { BALLAST: 'x'.repeat(100_000) };
}

test('a full disk: requests get 503, reads and running commands go on; with space again everything is stored, nothing acknowledged is lost', async () => {
  const id = await cluster.startJob({ command: 'held', nodes: NAMES });
  await cluster.nodeCountIn(id, 'running', NAMES.length);
  const load = new JobLoad(cluster, { command: 'quick', nodes: ['none'], env: ballast() });
  await load.accepted(3);

  disk.fill();
  await refusesJobs();
  expect((await cluster.api.get(`pushy/jobs/${id}`)).status).toBe(200);
  expect((await cluster.api.get('pushy/node_states')).status).toBe(200);
  expect((await (await fetch(`${cluster.url}/_status`)).text()).length).toBeGreaterThan(0);
  held.release();
  await until('the commands to end', () => cluster.commands().length === 0);
  await refusesJobs();

  disk.free();
  await until('a job to be accepted', () => cluster.startJob({ command: 'quick', nodes: NAMES }), RECOVERY_MS);
  const job = await cluster.jobIs(id, 'complete');
  expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(NAMES);
  const { acknowledged, refusals } = await load.stop();
  expect(refusals.length).toBeGreaterThan(0);
  expect(refusals.filter((refusal) => refusal !== '503 store_unavailable')).toEqual([]);
  for (const other of acknowledged) await cluster.jobEnds(other);
  expect(held.runs).toEqual(NAMES);
});

test('killed with -9 while the disk is full: it starts all the same and refuses with 503; with space again everything acknowledged is there', async () => {
  await cluster.available(...NAMES);
  const load = new JobLoad(cluster, { command: 'quick', nodes: NAMES, quorum: 1 });
  await load.accepted(3);
  disk.fill();
  await refusesJobs();
  const { acknowledged } = await load.stop();
  await cluster.killServer('SIGKILL');
  await cluster.restartServer();
  await refusesJobs();
  disk.free();
  await until('a job to be accepted', () => cluster.startJob({ command: 'quick', nodes: ['none'] }), RECOVERY_MS);
  for (const id of acknowledged) await cluster.jobEnds(id);
  await cluster.available(...NAMES);
});
