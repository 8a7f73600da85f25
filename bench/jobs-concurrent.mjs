import { readdirSync, readlinkSync } from 'node:fs';
import { atOnce, slotsOf, startJobServer } from './jobs.mjs';
import { cpuSeconds, residentMib } from './proc.mjs';
import { pause, progressing } from './tasks.mjs';

export const about = 'Many jobs that run in one process: memory, CPU and statements while nothing happens to them';
export const defaults = { tasks: 5000, connections: 32, seconds: 60 };

const MOST_CORE_SHARE = 0.05;

export async function* run({ tasks: count, connections, seconds, databaseUrl, profile }) {
  const jobs = await startJobServer({ databaseUrl, profile, flags: slotsOf(count) });
  try {
    await jobs.register(['sleep', '100000']);
    const { pid } = jobs.server;
    const empty = residentMib(pid);
    const body = jobs.body({ maxRunTime: '24:00:00' });
    const began = performance.now();
    await atOnce(connections, count, () => jobs.submit(body));
    await progressing(async () => count - (await jobs.count(`status = 'RUNNING'`)), 'jobs to run');
    const begun = (performance.now() - began) / 1000;
    // What was begun last is looked at more often than what runs for long.
    await pause(seconds * 1000);
    jobs.server.profile();
    const [cpu, transactions] = [cpuSeconds(pid), await jobs.transactions()];
    await pause(seconds * 1000);
    const share = (cpuSeconds(pid) - cpu) / seconds;
    const stored = ((await jobs.transactions()) - transactions) / seconds;
    jobs.server.profile();
    const details = {
      jobs: count,
      seconds_to_begin: Number(begun.toFixed(1)),
      broker: jobs.broker,
      database: 'postgres',
    };
    const line = (figure, value, unit, target) => ({
      figure,
      value,
      unit,
      target,
      floor: null,
      ratio: null,
      ...details,
    });
    yield line('jobs-concurrent-cpu', Number(share.toFixed(3)), 'cores', MOST_CORE_SHARE);
    yield line('jobs-concurrent-memory', Math.round(residentMib(pid) - empty), 'MiB', null);
    yield line('jobs-concurrent-transactions', Number(stored.toFixed(2)), 'transactions/s', null);
    await jobs.database.query('select 1');
  } finally {
    await jobs.stop();
    endAll(jobs.server.dir);
  }
}

/** Programs of jobs outlive the server: all that work in its directory. */
function endAll(dir) {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readlinkSync(`/proc/${pid}/cwd`).startsWith(`${dir}/`)) process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      // It has ended meanwhile, or is a thread of the kernel.
      if (!['ENOENT', 'ESRCH', 'EACCES'].includes(error.code)) throw error;
    }
  }
}
