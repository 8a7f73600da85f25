import type { Clock } from '@muster/base';
import { type Acquisition, type Lease, Leases } from '@muster/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/worker/limits.js';
import { leaseName } from '../../src/worker/tenure.js';
import { QUEUE } from '../support/jobs.js';
import { openRecovery, type RecoveryFixture } from '../support/recovery.js';

const MINUTE = 60_000;

let fixture: RecoveryFixture;
beforeEach(async () => {
  fixture = await openRecovery();
});
afterEach(() => fixture.close());

async function held(asked: Promise<Acquisition>): Promise<Lease> {
  const answer = await asked;
  return answer.kind === 'acquired' ? answer.lease : expect.fail(`${answer.holder} has it`);
}

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

  it('are none of those that a worker has which renews its lease, though its clock be behind', async () => {
    const { store, clock } = fixture.jobs;
    const leases = (holder: string, skewMs: number) => {
      const skewed: Clock = {
        now: () => clock.now() + skewMs,
        monotonic: () => clock.monotonic(),
        after: (delayMs, work) => clock.after(delayMs, work),
      };
      return new Leases({ store, clock: skewed, holder });
    };
    await fixture.jobs.job('a-007', 'RUNNING', { worker: 'lives' });
    await fixture.jobs.job('b-007', 'RUNNING', { worker: 'silent' });
    clock.advance(MINUTE);
    await fixture.start();
    fixture.listen();
    const living = leases('lives@x', -140_000);
    let lease = await held(living.acquire(leaseName('lives'), LIMITS.leaseMs));
    await leases('silent@x', 140_000).acquire(leaseName('silent'), LIMITS.leaseMs);
    clock.advance(MINUTE);
    await expect
      .poll(async () => {
        clock.advance(LIMITS.renewMs);
        lease = (await living.renew(lease, LIMITS.leaseMs)) ?? expect.fail('it was taken');
        return submitted();
      })
      .toEqual(['b-007']);
  });

  it('are none whose queue holds their messages', async () => {
    const { clock } = fixture.jobs;
    await fixture.jobs.job('a-007', 'ACCEPTED');
    await fixture.broker.publish({ exchange: '', key: QUEUE, body: '{}' });
    clock.advance(MINUTE);
    await fixture.start();
    clock.advance(MINUTE);
    // Its reader was asked, and has answered: nothing was published besides.
    await fixture.restart(MINUTE);
    expect((await fixture.broker.depths([QUEUE]))[0]?.ready).toBe(1);
  });
});
