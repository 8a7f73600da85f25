import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { blockedRows } from '../../src/recovery/enter.js';
import type { ActiveStatus, Status } from '../../src/status.js';
import { type JobFixture, openJobs } from '../support/jobs.js';

let fixture: JobFixture;
beforeEach(async () => {
  fixture = await openJobs();
});
afterEach(() => fixture.close());

/** All that a change may store. */
async function stored() {
  const { read } = fixture.store;
  const [jobs, history, deliveries, blocked, events] = await Promise.all([
    read.selectFrom('jobs').selectAll().execute(),
    read.selectFrom('job_history').selectAll().orderBy('id').execute(),
    read.selectFrom('deliveries').selectAll().orderBy('id').execute(),
    read.selectFrom('job_blocked').selectAll().execute(),
    read.selectFrom('event_log').select('first').execute(),
  ]);
  return { jobs, history, deliveries, blocked, events };
}

describe('a change of a job that the machine does not know (sheet §2.4, §2.5)', () => {
  const subscribed = {
    request: JSON.stringify({ notifications: [{ event: '*', url: 'http://h/', persistent: true }] }),
  };

  test.each<[from: ActiveStatus | 'ACCEPTED', to: Status]>([
    ['ACCEPTED', 'RUNNING'],
    ['ACCEPTED', 'BLOCKED'],
    ['PENDING', 'RUNNING'],
    ['STAGING_INPUTS', 'SUBMITTING'],
    ['RUNNING', 'QUEUED'],
    ['RUNNING', 'FINISHED'],
    ['ARCHIVING', 'PENDING'],
  ])('from %s to %s is refused, and nothing of it is stored', async (from, to) => {
    const job = await fixture.job('j-007', from, subscribed);
    const before = await stored();
    expect(before.deliveries.length).toBeGreaterThan(0);
    fixture.clock.advance(1000);
    let asked = false;
    const rows = blockedRows(job, obstacle('CONNECTION_FAILURE', 'x', { systemId: 'hpc1' }), fixture.clock.now());
    const change = fixture.jobs.change(job, { to, patch: { worker: 'w9' }, message: 'm' }, rows, async () => {
      asked = true;
    });
    await expect(change).rejects.toThrow(`JOBS_STATE_NO_TRANSITION j-007: ${from} to ${to}`);
    expect(asked).toBe(false);
    expect(await stored()).toEqual(before);
  });

  test.each(['FINISHED', 'STOPPED', 'FAILED'] as const)('from %s there is none', async (ended) => {
    const cleaning = await fixture.job('j-007', 'CLEANING_UP', subscribed);
    const job = await fixture.jobs.change(cleaning, { to: ended });
    const before = await stored();
    for (const to of ['PENDING', 'BLOCKED', 'PAUSED', 'FAILED', ended] as const) {
      await expect(fixture.jobs.change(job, { to })).rejects.toThrow('JOBS_STATE_NO_TRANSITION');
    }
    expect(await stored()).toEqual(before);
  });

  test('is judged by the row, too: what was read before it changed changes nothing', async () => {
    const read = await fixture.job('j-007', 'RUNNING', subscribed);
    await fixture.jobs.change(read, { to: 'STOPPED' });
    const before = await stored();
    // The machine knows this one.
    await expect(fixture.jobs.change(read, { to: 'CLEANING_UP' })).rejects.toMatchObject({ name: 'JobLost' });
    expect(await stored()).toEqual(before);
  });
});
