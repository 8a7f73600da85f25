import { DEAD_QUEUE } from '@muster/broker';
import { Violation } from '../kernel/violation.js';
import type { Request } from './chaos.js';
import type { StoredJob } from './checks.js';
import { TERMINAL } from './legal.js';
import { HPC, QUEUE, STORAGE } from './organization.js';
import { OUTPUT } from './remote/system.js';
import type { World } from './world.js';

/** What is not as it should be when all jobs have ended; empty: nothing is left of them but what is kept. */
export async function left(world: World): Promise<string[]> {
  const { read } = world.database;
  const waiting = await read.selectFrom('job_blocked').select(['uuid', 'state']).execute();
  const records = await read.selectFrom('job_recovery').select(['id', 'condition']).execute();
  const running = [...world.system(HPC).programs.values()].filter(({ state }) => state !== 'ended');
  return [
    ...waiting.map(({ uuid, state }) => `${uuid} is ${state}`),
    ...records.map(({ condition }) => `a record for ${condition}`),
    ...(await messages(world, QUEUE)).map((id) => `a message ${id}`),
    ...running.map(({ uuid, state }) => `the program of ${uuid} is ${state}`),
  ];
}

async function messages(world: World, queue: string): Promise<string[]> {
  if (world.brokerServer !== null) return world.brokerServer.messages(queue).map(({ id }) => id);
  const rows = await world.database.read
    .selectFrom('broker_messages')
    .select('id')
    .where('queue', '=', queue)
    .where('settled', '=', 0)
    .execute();
  return rows.map(({ id }) => id);
}

/** How it all came to its end, beside what really happened. */
export async function judge(world: World, requests: readonly Request[]): Promise<void> {
  const broken = (rule: string, detail: string): void => world.report(new Violation(rule, detail));
  const { checks, database } = world;
  const { read } = database;
  const rows = new Map((await read.selectFrom('jobs').selectAll().execute()).map((row) => [row.uuid, row]));
  for (const { uuid, key } of requests) {
    if (uuid !== null && !rows.has(uuid)) broken('nothing is lost', `${uuid} was taken, and is not there`);
    if (uuid === null && key !== null) broken('nothing is lost', `what was sent with ${key} was never taken`);
  }
  if (rows.size > requests.length) broken('one job for each request', `${rows.size} of ${requests.length}`);
  const taken = new Set(requests.map(({ uuid }) => uuid));
  for (const { uuid } of await read.selectFrom('job_refusals').select('uuid').execute()) {
    if (rows.has(uuid) && !taken.has(uuid))
      broken('what is refused is not run', `${uuid} is ${rows.get(uuid)?.status}`);
  }
  for (const id of await messages(world, DEAD_QUEUE)) broken('no message is rejected', id);
  for (const job of checks.jobs.values()) {
    if (rows.get(job.uuid)?.status !== job.status) broken('what is stored is told', job.uuid);
    await history(world, job);
    truth(world, job);
  }
}

/** Its history tells its way, in its order. */
async function history(world: World, { uuid }: StoredJob): Promise<void> {
  const entries = await world.database.read
    .selectFrom('job_history')
    .select(['event', 'status'])
    .where('uuid', '=', uuid)
    .orderBy('id')
    .execute();
  const told = entries.flatMap(({ event, status }) => (event === status ? [status] : [])).join(' ');
  const way = world.checks.ways.get(uuid)?.join(' ') ?? '';
  if (told !== way) world.report(new Violation('history tells the way', `${uuid} went ${way}; history says ${told}`));
}

/** What is said of its program is so, and what it made is where it should be. */
function truth(world: World, { uuid, status, condition, archivePath }: StoredJob): void {
  const broken = (rule: string, detail: string): void => world.report(new Violation(rule, `${uuid} ${detail}`));
  const program = world.system(HPC).programs.get(uuid);
  if (!TERMINAL.has(status)) broken('every job ends', `is ${status}`);
  if (status === 'FINISHED' && (program?.code !== 0 || program.killed)) {
    broken('true results', `is FINISHED, and its program ended with ${program?.code ?? 'nothing'}`);
  }
  if (condition === 'JOB_REMOTE_OUTCOME_ERROR' && (program?.code ?? 0) === 0) {
    broken('true results', 'failed for its program, which did not');
  }
  if (status !== 'FINISHED' || archivePath === null) return;
  const kept = world.system(STORAGE).files.get(`/${archivePath}/${OUTPUT}`)?.bytes.toString();
  if (kept !== `the result of ${uuid}`) broken('outputs are whole', `has '${kept}' in its archive`);
}
