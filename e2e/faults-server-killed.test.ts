import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as moment } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { isFinished, type JobView } from './support/pushy-server.js';
import { randomOfThisRun } from './support/random.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * The server is killed with -9 at random moments while jobs are submitted, run and aborted. MUSTER_TEST_FAULT_ROUNDS=50 for
 * the long run; MUSTER_TEST_SEED=random for other moments.
 */
const ROUNDS = Number(process.env.MUSTER_TEST_FAULT_ROUNDS ?? 5);
const ROUND_MS = 20_000;
const NAMES = ['a', 'b', 'c', 'd'];
const NEVER_STARTED = ['nacked', 'unavailable'];
const UNFINISHED = ['new', 'ready', 'running'];
/** Longest life of a server in a round. */
const KILL_WITHIN_MS = 1_500;
/** docs/guarantees.md: after the last start every node is available within this time. */
const RECOVERY_MS = 15_000;

let cluster: Cluster;
let runs: string;

beforeAll(async () => {
  cluster = await Cluster.start();
  runs = join(cluster.dir, 'runs');
  mkdirSync(runs);
  const shell = `echo "$MUSTER_JOB_ID" >> ${runs}/$MUSTER_NODE_NAME; echo begun; sleep "$1"; echo ended`;
  const commands = { '/work ([0-9.]+)/': { shell } };
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands, grace: 1 }])));
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

/** How often each node ran each job: `NODE JOB` -> times. */
function timesRun(): Map<string, number> {
  const times = new Map<string, number>();
  for (const node of readdirSync(runs)) {
    for (const job of readFileSync(join(runs, node), 'utf8').trim().split('\n')) {
      times.set(`${node} ${job}`, (times.get(`${node} ${job}`) ?? 0) + 1);
    }
  }
  return times;
}

async function allJobs(): Promise<readonly string[]> {
  return ((await cluster.api.get('pushy/jobs')).json as { id: string }[]).map(({ id }) => id);
}

const at = (job: JobView, statuses: readonly string[]): string[] =>
  statuses.flatMap((status) => job.nodes[status] ?? []);

test(
  `killed with -9 at ${ROUNDS} random moments: every acknowledged job is there and ends, nothing runs twice, no end changes, every node returns`,
  async () => {
    const random = randomOfThisRun('server killed');
    const acknowledged: string[] = [];
    const ended = new Map<string, JobView>();
    let kills = 0;

    /** Fails by being cut off; then the caller cannot know, and nothing is promised. */
    const submit = async (): Promise<void> => {
      const id = await cluster.startJob({
        command: `work 0.${random.below(9)}`,
        nodes: random.some(NAMES),
        quorum: 1,
        capture_output: true,
        voting_timeout: 3,
        run_timeout: 15,
      });
      acknowledged.push(id);
      if (random.chance(0.2)) await cluster.api.put(`pushy/jobs/${id}/abort`);
    };

    for (let round = 0; round < ROUNDS; round++) {
      if (random.chance(0.6)) await cluster.available(...NAMES);
      const work = Array.from({ length: 1 + random.below(3) }, () => submit().catch(() => undefined));
      await moment(random.below(KILL_WITHIN_MS));
      await cluster.killServer('SIGKILL');
      kills += 1;
      await Promise.all(work);
      if (random.chance(0.2)) {
        cluster.relaunchServer();
        await moment(random.below(KILL_WITHIN_MS));
        await cluster.killServer('SIGKILL');
      }
      await cluster.restartServer();
      for (const id of acknowledged) {
        const job = await cluster.job(id);
        const before = ended.get(id);
        if (before !== undefined) expect(job).toEqual(before);
        else if (isFinished(job)) ended.set(id, job);
      }
    }

    const restartedAt = Date.now();
    await until(
      'every node to be available',
      async () => {
        const states = await Promise.all(NAMES.map((name) => cluster.nodeState(name)));
        return states.every((state) => state?.availability === 'available');
      },
      RECOVERY_MS,
    );
    const recovery = Date.now() - restartedAt;
    expect(kills).toBe(ROUNDS);

    const known = await allJobs();
    expect(known).toEqual(expect.arrayContaining(acknowledged));
    const jobs = await Promise.all(known.map((id) => cluster.jobEnds(id)));
    const times = timesRun();
    expect([...times].filter(([, count]) => count > 1)).toEqual([]);
    for (const job of jobs) {
      expect(at(job, UNFINISHED), JSON.stringify(job)).toEqual([]);
      for (const node of at(job, ['succeeded'])) {
        expect(times.get(`${node} ${job.id}`), `runs of ${job.id} on ${node}`).toBe(1);
        const output = await cluster.api.get(`pushy/jobs/${job.id}/output/${node}/stdout`, {
          accept: 'application/octet-stream',
        });
        expect(output.text, `output of ${job.id} on ${node}`).toBe('begun\nended\n');
      }
      for (const node of at(job, NEVER_STARTED)) expect(times.has(`${node} ${job.id}`)).toBe(false);
    }
    expect(cluster.commands()).toEqual([]);
    const counts = new Map<string, number>();
    for (const job of jobs) {
      for (const [status, names] of Object.entries(job.nodes)) {
        counts.set(status, (counts.get(status) ?? 0) + names.length);
      }
    }
    expect(counts.get('succeeded') ?? 0).toBeGreaterThan(0);
    console.log(
      JSON.stringify({
        kills,
        acknowledged: acknowledged.length,
        known: known.length,
        recovery_ms: recovery,
        job_nodes: Object.fromEntries(counts),
      }),
    );
  },
  ROUNDS * ROUND_MS,
);
