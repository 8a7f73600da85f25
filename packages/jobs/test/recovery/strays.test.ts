import { Leases } from '@muster/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { QUEUE } from '../support/jobs.js';
import { openRecovery, type RecoveryFixture } from '../support/recovery.js';

const MINUTE = 60_000;

let fixture: RecoveryFixture;
beforeEach(async () => {
  fixture = await openRecovery();
});
afterEach(() => fixture.close());

const submitted = () => fixture.submitted.map(({ job }) => job).toSorted();

describe('jobs whose message is lost', () => {
  it('have it published again, a minute after the reader has begun', async () => {
    await fixture.jobs.job('a-007', 'ACCEPTED');
    await fixture.jobs.job('b-007', 'RUNNING', { worker: 'dead' });
    const over = await fixture.jobs.job('c-007', 'RUNNING');
    await fixture.jobs.jobs.change(over, { to: 'STOPPED' });
    fixture.jobs.clock.advance(MINUTE);
    await fixture.start();
    fixture.listen();
    fixture.jobs.clock.advance(MINUTE - 1);
    expect(fixture.submitted).toEqual([]);
    fixture.jobs.clock.advance(1);
    await expect.poll(submitted).toEqual(['a-007', 'b-007']);
    expect(await fixture.status('b-007')).toBe('RUNNING');
  });

  it('are none of those that a live worker has, or whose queue holds their messages', async () => {
    const { store, clock } = fixture.jobs;
    await fixture.jobs.job('a-007', 'RUNNING', { worker: 'w1' });
    clock.advance(MINUTE);
    await fixture.start();
    const lease = await new Leases({ store, clock, holder: 'w1@x' }).acquire('job-worker/w1', 10 * MINUTE);
    expect(lease.kind).toBe('acquired');
    clock.advance(MINUTE);
    await expect.poll(() => fixture.logged.some(({ text }) => text.includes('messages of jobs are lost'))).toBe(false);
    await fixture.jobs.job('b-007', 'ACCEPTED');
    await fixture.broker.publish({ exchange: '', key: QUEUE, body: '{}' });
    clock.advance(MINUTE);
    await fixture.restart();
    clock.advance(MINUTE);
    // Its reader was asked, and has answered: nothing was published besides.
    await fixture.restart(MINUTE);
    expect((await fixture.broker.depths([QUEUE]))[0]?.ready).toBe(1);
  });
});
