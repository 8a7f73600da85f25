import PgBoss from 'pg-boss';
import { Pool } from './pool.mjs';

const QUEUE = 'noop';
const BATCH = 500;
/** Batches of one process that are fetched, run and completed at one time. */
const LOOPS = 2;
const IDLE_MS = 20;

const boss = (url) => {
  const made = new PgBoss({ connectionString: url, supervise: false, schedule: false });
  made.on('error', (error) => console.error(error.message));
  return made;
};

export async function prepare(url) {
  const made = await boss(url).start();
  await made.createQueue(QUEUE);
  await made.stop({ graceful: false, wait: true });
}

export async function producer(url) {
  const made = await boss(url).start();
  const pool = new Pool(url, 1);
  return {
    add: (tasks) => made.insert(tasks.map((data) => ({ name: QUEUE, data }))),
    isEmpty: async () =>
      (await pool.first("SELECT EXISTS (SELECT 1 FROM pgboss.job WHERE state < 'completed') AS left")).left === false,
    async close() {
      await pool.end();
      await made.stop({ graceful: false, wait: true });
    },
  };
}

/** `fetch` and `complete` by hand: its `work` asks for the next batch twice a second at most. */
export async function work(url, _slots, done) {
  const made = await boss(url).start();
  let stopped = false;
  const loop = async () => {
    while (!stopped) {
      const jobs = await made.fetch(QUEUE, { batchSize: BATCH });
      if (jobs.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
        continue;
      }
      await made.complete(
        QUEUE,
        jobs.map(({ id }) => id),
      );
      done(jobs.length);
    }
  };
  const loops = Array.from({ length: LOOPS }, loop);
  return async () => {
    stopped = true;
    await Promise.all(loops);
    await made.stop({ graceful: false, wait: true });
  };
}
