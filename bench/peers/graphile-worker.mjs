import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker';
import { Pool } from './pool.mjs';

/** As its own performance test is configured: a local queue, and completions in batches. */
const LOCAL_QUEUE = 500;
const CONNECTIONS = 8;
/** The shortest that it takes; it is told of new jobs besides. */
const POLL_MS = 100;

export async function prepare(url) {
  await runMigrations({ connectionString: url });
}

export async function producer(url) {
  const pool = new Pool(url, CONNECTIONS);
  const utils = await makeWorkerUtils({ pgPool: pool.pool });
  return {
    add: (tasks) => utils.addJobs(tasks.map((payload) => ({ identifier: 'noop', payload }))),
    /** What is done is deleted. */
    isEmpty: async () =>
      (await pool.first('SELECT EXISTS (SELECT 1 FROM graphile_worker._private_jobs) AS left')).left === false,
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}

export async function work(url, slots, done) {
  const runner = await run({
    noHandleSignals: true,
    taskList: { noop: async () => done(1) },
    preset: {
      worker: {
        // It would say so of every task.
        logger: new Logger(() => () => undefined),
        connectionString: url,
        maxPoolSize: CONNECTIONS,
        concurrentJobs: slots,
        pollInterval: POLL_MS,
        localQueue: { size: LOCAL_QUEUE },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
  return () => runner.stop();
}
