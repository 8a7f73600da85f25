import { idOf } from '@muster/platform/feeds';
import { PUSH_FEED, type PushJobSpec } from '@muster/push';
import type { Run } from '../kernel/explore.js';
import { Violation } from '../kernel/violation.js';
import { askAgain } from './ask-again.js';
import { short } from './book.js';
import { Chaos } from './chaos.js';
import { isFinalJobNode } from './legal.js';
import { output } from './machine-room.js';
import { ORG } from './node-request.js';
import { type Fault, HOST } from './scenario.js';
import { World, type WorldOptions } from './world.js';

/**
 * After the faults have stopped everything has ended, and every node is available again, within this time: the longest
 * timeouts of a job and the time that a new server gives its nodes, or the longest pause of an agent's requests and what
 * it takes to be heard.
 */
const RECOVERY_MS = 180_000;
const PROBE_ID = 'f'.repeat(32);
/** Timers of a server at rest: rounds, heartbeat, and a few per job that lingers. */
const SERVER_TIMERS = 20;
const AGENT_TIMERS = 12;

export interface RunResult extends Run {
  readonly faults: ReadonlyMap<Fault, number>;
}

/**
 * One run: chaos, calm, a last job that must go well, a look into the database, and a server that asks for everything
 * again. Deterministic in `seed`.
 */
export async function simulate(seed: number, options: WorldOptions = {}): Promise<RunResult> {
  const world = await World.create(seed, options);
  const began = world.timeline.now;
  let recoveredMs = 0;
  let chaos: Chaos | null = null;
  try {
    const { nodes, servers, faults } = world.scenario;
    const dialects = nodes.map(({ name, dialect }) => `${name}=${dialect}`);
    world.trace.say(
      () =>
        `seed ${seed}: ${servers.map(({ name }) => name).join(' ')} ${dialects.join(' ')}; faults: ${faults.join(', ') || 'none'}`,
    );
    void world.servers.start(HOST);
    await world.settle();
    for (const place of world.nodes) world.startAgent(place);
    chaos = new Chaos(world);
    const calmAt = began + world.scenario.chaosMs;
    while (world.violation === null && (await world.step(calmAt))) chaos.between();
    if (world.violation === null) {
      recoveredMs = await recover(world, chaos);
      await probe(world);
      await audit(world);
      await askAgain(world);
    }
  } finally {
    world.close();
  }
  return {
    seed,
    recoveredMs,
    work: { commands: world.commands.count },
    outcomes: tally(world),
    faults: chaos.made,
    ...world.ended(),
  };
}

/** Faults stop; live nodes become available, and jobs end, within a bound. */
async function recover(world: World, chaos: Chaos): Promise<number> {
  chaos.stop();
  const from = world.timeline.now;
  const until = from + RECOVERY_MS;
  // What the server believes may be old: it must stay well until silence would have been noticed, also by a server that
  // stood still and gives its nodes time to return.
  const settledMs = world.silenceMs;
  let wellFrom: number | null = null;
  while (world.violation === null) {
    for (const host of world.servers.vacant) await world.servers.start(host);
    for (const place of world.nodes) world.startAgent(place);
    if (!isWell(world)) wellFrom = null;
    else wellFrom ??= world.timeline.now;
    if (wellFrom !== null && world.timeline.now - wellFrom >= settledMs) return wellFrom - from;
    if (await world.step(until)) continue;
    world.report(new Violation('recovery', `after ${RECOVERY_MS / 1000} s: ${unwell(world)}`));
  }
  return 0;
}

function isWell(world: World): boolean {
  const { ledger, servers } = world;
  const [server] = servers.answering;
  if (server === undefined || servers.vacant.length > 0) return false;
  for (const job of ledger.durable.jobs.values()) if (job.phase !== 'finished') return false;
  return world.nodes.every(({ plan }) => server.owners.ownerOf(ORG.id, plan.name)?.kind === 'idle');
}

function unwell(world: World): string {
  const { ledger, servers } = world;
  const jobs = [...ledger.durable.jobs.values()].filter((job) => job.phase !== 'finished');
  const nodes = world.nodes.map(({ plan }) => {
    const owner = servers.running[0]?.owners.ownerOf(ORG.id, plan.name);
    return `${plan.name} is ${owner === undefined ? 'unknown' : JSON.stringify(owner)}`;
  });
  return [...jobs.map((job) => `job ${short(job.id)} is ${job.phase}`), ...nodes].join(', ');
}

/**
 * The strictest check of health: a job on all nodes, in which all that speak our dialect must succeed. A deployed client
 * repeats nothing, so it may lose a message with a connection that it gives up just then.
 */
async function probe(world: World): Promise<void> {
  if (world.violation !== null) return;
  const ours = world.nodes.filter(({ plan }) => plan.dialect === 'native').map(({ plan }) => plan.name);
  const spec: PushJobSpec = {
    command: `work ${PROBE_ID} 100 0 100`,
    options: {},
    capture: true,
    quorum: ours.length,
    runTimeout: 60,
    votingTimeout: 30,
    ackTimeout: null,
    nodeTimeout: null,
    concurrency: null,
    startRate: null,
    maxFailures: null,
    target: 'probe',
  };
  const names = world.nodes.map(({ plan }) => plan.name);
  void world.startJob(PROBE_ID, spec, names);
  const until = world.timeline.now + PROBE_MS;
  while (world.violation === null && world.ledger.durable.jobs.get(PROBE_ID)?.phase !== 'finished') {
    if (!(await world.step(until))) break;
  }
  if (world.violation !== null) return;
  const status = world.ledger.durable.jobs.get(PROBE_ID)?.status;
  const nodes = [...world.ledger.durable.nodesOf(PROBE_ID).values()];
  if (status === 'complete' && nodes.every(({ node, status }) => status === 'succeeded' || !ours.includes(node)))
    return;
  const told = nodes.map((node) => `${node.node} ${node.status}`).join(', ');
  world.report(new Violation('recovery', `the last job is ${status}: ${told}`));
}

const PROBE_MS = 100_000;

/** What the database says in the end. */
async function audit(world: World): Promise<void> {
  if (world.violation !== null) return;
  // Jobs linger and nodes are told to be idle; then nothing may be left over.
  const until = world.timeline.now + (world.scenario.config.push.linger + 1) * 1000;
  while (world.violation === null && (await world.step(until)));
  const { database, ledger } = world;
  const fail = (rule: string, detail: string): void => world.report(new Violation(rule, detail));

  const jobs = await database.read.selectFrom('push_jobs').select(['id', 'status', 'phase']).execute();
  const stored = new Map(jobs.map((job) => [job.id, job]));
  for (const id of world.accepted) if (!stored.has(id)) fail('acknowledged is stored', `job ${short(id)} is gone`);
  for (const id of world.refused) if (stored.has(id)) fail('refused is not stored', `job ${short(id)} is there`);
  for (const job of jobs) {
    if (job.phase !== 'finished') fail('every job ends', `job ${short(job.id)} is ${job.phase}`);
    if (ledger.durable.jobs.get(job.id)?.status !== job.status) fail('the ledger', `job ${short(job.id)}`);
  }
  const nodes = await database.read.selectFrom('push_job_nodes').select(['job_id', 'node', 'status']).execute();
  for (const { job_id: id, node, status } of nodes) {
    if (!isFinalJobNode(status)) fail('every job ends', `${node} is ${status} in job ${short(id)}`);
    if (ledger.durable.nodesOf(id).get(node)?.status !== status) fail('the ledger', `${node} in job ${short(id)}`);
  }
  const chunks = await database.read.selectFrom('output_chunks').selectAll().execute();
  for (const { subject, part: node, position, data } of chunks) {
    const id = idOf(PUSH_FEED, subject) ?? subject;
    if (!Buffer.from(data).equals(output(id, node, position, data.length))) {
      fail('output', `${node} in job ${short(id)} at ${position}`);
    }
  }
  checkGrowth(world, fail);
}

function checkGrowth({ nodes, servers }: World, fail: (rule: string, detail: string) => void): void {
  const most = nodes.length;
  for (const server of servers.running) {
    for (const [table, size] of Object.entries(server.nodes.sizes())) {
      if (size > most) fail('growth', `${size} ${table} in a server with ${most} nodes`);
    }
    const live = server.push.liveJobs().length;
    if (live > 0) fail('growth', `${live} jobs in a server at rest`);
    const { timers } = server.process;
    if (timers > SERVER_TIMERS) fail('growth', `${timers} timers in a server at rest`);
  }
  for (const { agent, plan } of nodes) {
    const timers = agent?.process.timers ?? 0;
    if (timers > AGENT_TIMERS) fail('growth', `${timers} timers in the agent of ${plan.name} at rest`);
  }
}

function tally(world: World): Map<string, number> {
  const statuses = new Map<string, number>();
  const count = (status: string): void => void statuses.set(status, (statuses.get(status) ?? 0) + 1);
  for (const job of world.ledger.durable.jobs.values()) count(`job ${job.status}`);
  for (const nodes of world.ledger.durable.jobNodes.values()) for (const node of nodes.values()) count(node.status);
  return statuses;
}
