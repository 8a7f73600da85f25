import { atOnce, slotsOf, startJobServer } from './jobs.mjs';
import { progressing } from './tasks.mjs';

export const about = 'Whole jobs a second through all phases on this host, and what a job costs the database';
export const defaults = { tasks: 300, slots: 20, connections: 16 };

const MOST_TRANSACTIONS = 2;

export async function* run({ tasks: count, slots, connections, databaseUrl, profile }) {
  const jobs = await startJobServer({ databaseUrl, profile, flags: slotsOf(slots) });
  try {
    await jobs.register();
    await whole(jobs, connections, slots * 2);
    jobs.server.profile();
    const before = await jobs.transactions();
    const seconds = await whole(jobs, connections, count);
    // What the database has counted is told a moment later.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const transactions = (await jobs.transactions()) - before;
    jobs.server.profile();
    const { rows } = await jobs.database.query(
      'select count(*)::float / count(distinct uuid) as statuses from job_history',
    );
    const { statuses } = rows[0];
    const details = { jobs: count, slots, broker: jobs.broker, database: 'postgres' };
    yield {
      figure: 'jobs-noop',
      value: Number((count / seconds).toFixed(1)),
      unit: 'jobs/s',
      target: null,
      floor: null,
      ratio: null,
      ...details,
    };
    yield {
      figure: 'jobs-noop-transactions',
      value: Number((transactions / count / statuses).toFixed(2)),
      unit: 'transactions for each status',
      target: MOST_TRANSACTIONS,
      floor: null,
      ratio: null,
      statuses: Number(statuses.toFixed(1)),
      a_job: Number((transactions / count).toFixed(1)),
      ...details,
    };
  } finally {
    await jobs.stop();
  }
}

/** Seconds from the first that is submitted until the last has ended. */
async function whole(jobs, connections, count) {
  const before = await jobs.count(`status = 'FINISHED'`);
  const body = jobs.body();
  const began = performance.now();
  await atOnce(connections, count, () => jobs.submit(body));
  await progressing(async () => before + count - (await jobs.count(`status = 'FINISHED'`)), 'jobs');
  return (performance.now() - began) / 1000;
}
