import { call, ORG } from './api.mjs';
import { atOnce, ok, slotsOf, startJobServer } from './jobs.mjs';
import { progressing } from './tasks.mjs';

export const about =
  'Until many jobs that wait for some systems have all gone on, and how often the systems were asked';
export const defaults = { tasks: 10_000, nodes: 10, slots: 200, connections: 32 };

/** Systems that are disabled block what is sent to them; enabled again, each is tested once for all. */
export async function* run({ tasks: count, nodes: conditions, slots, connections, databaseUrl, profile }) {
  const jobs = await startJobServer({ databaseUrl, profile, flags: slotsOf(slots) });
  try {
    await jobs.register();
    const names = Array.from({ length: conditions }, (_, index) => `s${index}`);
    for (const name of names) {
      await jobs.system(name);
      await jobs.change(name, 'disable');
    }
    const bodies = names.map((executionSystem) => jobs.body({ executionSystem }));
    await atOnce(connections, count, (n) => jobs.submit(bodies[n % conditions]));
    await progressing(async () => count - (await jobs.count(`status = 'BLOCKED'`)), 'jobs to be blocked');
    // Nobody goes on to work on them, so that what is measured is their release.
    for (const name of names) await jobs.change(name, 'enable');
    const { rows } = await jobs.database.query('select id from job_recovery');
    const began = performance.now();
    jobs.server.profile();
    for (const { id } of rows) {
      await ok(call(jobs.server, 'POST', `/organizations/${ORG}/job-recovery/${id}/test-now`, {}));
    }
    await progressing(async () => jobs.count(`status = 'BLOCKED'`), 'jobs to be released');
    const seconds = (performance.now() - began) / 1000;
    jobs.server.profile();
    yield {
      figure: 'jobs-recovery',
      value: Number(seconds.toFixed(1)),
      unit: 's',
      target: null,
      floor: null,
      ratio: null,
      jobs: count,
      conditions: rows.length,
      released_a_second: Math.round(count / seconds),
      broker: jobs.broker,
      database: 'postgres',
    };
  } finally {
    await jobs.stop();
  }
}
