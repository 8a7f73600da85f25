import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { obstacle } from '../../src/recovery/conditions/index.js';
import type { RecoveryFixture } from '../support/recovery.js';

/** @param whole Also what does not depend on how messages come. */
export function recoveryReaderSuite(
  open: () => Promise<RecoveryFixture>,
  { whole }: { readonly whole: boolean },
): void {
  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const DOWN = obstacle('CONNECTION_FAILURE', 'hpc1 cannot be reached', { systemId: 'hpc1' });
  const BUSY = obstacle('SCHEDULER_BUSY', 'hpc1 takes nothing', { systemId: 'hpc1' });

  let fixture: RecoveryFixture;
  beforeEach(async () => {
    fixture = await open();
    fixture.systems.trouble.set('hpc1', 'CONNECTION_FAILURE');
  });
  afterEach(() => fixture.close());

  /** The next test is made, and answered. */
  async function tested(count: number): Promise<void> {
    await expect.poll(() => fixture.systems.opened.length).toBe(count);
  }

  describe('a job that is blocked', () => {
    it('waits until its tester says that it may go on, and goes on where it was, by its own queue (sheet §7.7)', async () => {
      fixture.listen();
      await fixture.start();
      await fixture.blocked('j-007', DOWN, 'STAGING_INPUTS', { worker: 'w1' });
      const { next_attempt: next } = await fixture.record({ attempts: 0, created: fixture.jobs.clock.now() });
      expect(next).toBe(fixture.jobs.clock.now() + MINUTE);
      fixture.jobs.clock.advance(MINUTE);
      await fixture.record({ attempts: 1, last_answer: 'hpc1: CONNECTION_FAILURE' });
      expect(await fixture.status('j-007')).toBe('BLOCKED');
      fixture.systems.trouble.clear();
      fixture.jobs.clock.advance(MINUTE);
      await fixture.empty();
      await expect.poll(() => fixture.submitted.map(({ job }) => job)).toEqual(['j-007']);
      expect(await fixture.jobs.read('j-007')).toMatchObject({
        status: 'STAGING_INPUTS',
        blockedCount: 1,
        worker: null,
      });
      expect(await fixture.jobs.history('j-007')).toContain('STAGING_INPUTS: hpc1 cannot be reached');
    });

    it('costs one test at each interval, however many wait for the same (sheet §7.3)', async () => {
      fixture.listen();
      await fixture.start();
      for (let n = 0; n < 50; n++) await fixture.blocked(`j${n}-007`, DOWN);
      await fixture.record({ attempts: 0 });
      for (let n = 1; n <= 3; n++) {
        fixture.jobs.clock.advance(MINUTE);
        await fixture.record({ attempts: n });
      }
      expect(fixture.systems.opened).toEqual(['hpc1', 'hpc1', 'hpc1']);
      fixture.systems.trouble.clear();
      fixture.jobs.clock.advance(MINUTE);
      await fixture.empty();
      await expect.poll(() => fixture.submitted).toHaveLength(50);
      expect(fixture.systems.opened).toHaveLength(4);
    });

    it('brings no test forward when it joins others', async () => {
      await fixture.start();
      await fixture.blocked('a-007', DOWN);
      const { next_attempt: next } = await fixture.record({ attempts: 0 });
      fixture.jobs.clock.advance(MINUTE / 2);
      await fixture.blocked('b-007', DOWN);
      await expect.poll(async () => (await fixture.rows()).length).toBe(2);
      await fixture.restart();
      expect(await fixture.records()).toMatchObject([{ next_attempt: next, attempts: 0 }]);
      expect(fixture.systems.opened).toEqual([]);
    });

    it('waits with those that did something else when they were blocked, but not with those of another system', async () => {
      await fixture.start();
      const doing = (BlockedJobActivity: string, systemId: string) => ({
        ...DOWN,
        parameters: { systemId, BlockedJobActivity },
      });
      await fixture.blocked('a-007', doing('STAGING_INPUTS', 'hpc1'));
      await fixture.blocked('b-007', doing('ARCHIVING', 'hpc1'));
      await fixture.blocked('c-007', doing('ARCHIVING', 'hpc2'));
      await expect.poll(async () => (await fixture.records()).length).toBe(2);
    });

    it('is found by a hint, or at the next start, also when its message is lost', async () => {
      await fixture.start();
      const job = await fixture.jobs.job('a-007');
      await fixture.block(job, DOWN, false);
      await expect.poll(async () => (await fixture.records())[0]?.next_attempt).toBe(fixture.jobs.clock.now() + MINUTE);
      await fixture.readers.stop();
      await fixture.block(await fixture.jobs.job('b-007'), BUSY, false);
      await fixture.restart();
      await expect.poll(async () => (await fixture.records()).map((row) => row.next_attempt > 0)).toEqual([true, true]);
    });

    if (whole) {
      it('fails with all that wait beside it when the policy gives up (JOB_RECOVERY_TIMEOUT)', async () => {
        await fixture.start();
        const first = obstacle('FIRST_AUTHENTICATION_FAILED', 'login refused', { systemId: 'hpc1' });
        fixture.systems.trouble.set('hpc1', 'AUTHENTICATION_FAILED');
        await fixture.blocked('a-007', first);
        await fixture.blocked('b-007', first);
        for (let n = 1; n <= 2; n++) {
          await fixture.record({ attempts: n - 1, next_attempt: fixture.jobs.clock.now() + MINUTE });
          fixture.jobs.clock.advance(MINUTE);
        }
        await fixture.record({ attempts: 2, next_attempt: fixture.jobs.clock.now() + MINUTE });
        fixture.jobs.clock.advance(MINUTE);
        await fixture.empty();
        for (const uuid of ['a-007', 'b-007']) {
          expect(await fixture.jobs.read(uuid)).toMatchObject({ status: 'FAILED', condition: 'JOB_RECOVERY_TIMEOUT' });
          expect((await fixture.jobs.read(uuid)).lastMessage).toContain('TOO_MANY_ATTEMPTS after 3 tests');
        }
        expect(fixture.systems.opened).toHaveLength(3);
        expect(fixture.logged.map(({ text }) => text)).toContain('JOBS_RECOVERY_EXPIRED');
      });

      it('fails at once when its tester says that it can never go on, or nobody knows its tester or policy', async () => {
        await fixture.start();
        fixture.systems.trouble.set('hpc1', 'gone');
        await fixture.blocked('a-007', DOWN);
        await fixture.record({ attempts: 0 });
        fixture.jobs.clock.advance(MINUTE);
        await fixture.empty();
        expect(await fixture.jobs.read('a-007')).toMatchObject({ status: 'FAILED', condition: 'JOB_RECOVERY_FAILURE' });
        await fixture.blocked('b-007', { ...DOWN, tester: 'RAIN_TESTER' });
        await fixture.record({ attempts: 0 });
        fixture.jobs.clock.advance(MINUTE);
        await expect.poll(() => fixture.status('b-007')).toBe('FAILED');
        await fixture.blocked('c-007', { ...DOWN, condition: 'RAIN' });
        await expect.poll(() => fixture.status('c-007')).toBe('FAILED');
        expect((await fixture.jobs.read('c-007')).lastMessage).toContain('UNKNOWN_POLICY');
        await fixture.empty();
      });

      it('goes on waiting when the tester throws, or does not answer', async () => {
        await fixture.start();
        fixture.systems.trouble.set('hpc1', 'silent');
        await fixture.blocked('a-007', DOWN);
        await fixture.record({ attempts: 0 });
        fixture.jobs.clock.advance(MINUTE);
        await tested(1);
        fixture.jobs.clock.advance(MINUTE);
        await fixture.record({ attempts: 1, last_answer: 'no answer within 60 seconds' });
      });
    }
  });

  describe('a broker that is away', () => {
    it('delays jobs that may go on, and fails none: their messages are published when it is back', async () => {
      fixture.listen();
      fixture.systems.trouble.clear();
      await fixture.start();
      for (let n = 0; n < 5; n++) await fixture.blocked(`j${n}-007`, DOWN);
      await fixture.record({ attempts: 0, next_attempt: fixture.jobs.clock.now() + MINUTE });
      fixture.away = true;
      fixture.jobs.clock.advance(MINUTE);
      await expect
        .poll(() => fixture.logged.some(({ text }) => text.includes('JOBS_RECOVERY_RESUBMIT_JOB_ERROR')))
        .toBe(true);
      await expect
        .poll(async () => (await fixture.rows()).map(({ state }) => state))
        .toEqual(Array(5).fill('releasing'));
      fixture.jobs.clock.advance(5000);
      expect(fixture.submitted).toEqual([]);
      for (let n = 0; n < 5; n++) expect(await fixture.status(`j${n}-007`)).toBe('STAGING_INPUTS');
      fixture.away = false;
      await expect
        .poll(() => {
          fixture.jobs.clock.advance(1000);
          return fixture.submitted.length;
        })
        .toBe(5);
      await fixture.empty();
      expect(fixture.systems.opened).toEqual(['hpc1']);
    });
  });

  describe('a restart of the reader', () => {
    it('forgets neither the tests that were made nor the time of the next, nor since when the jobs wait (§7.10.4)', async () => {
      await fixture.start();
      await fixture.blocked('a-007', DOWN);
      const created = fixture.jobs.clock.now();
      await fixture.record({ attempts: 0 });
      fixture.jobs.clock.advance(MINUTE);
      await fixture.record({ attempts: 1, created });
      await fixture.restart(30_000);
      await fixture.record({ attempts: 1, created, next_attempt: created + 2 * MINUTE });
      expect(fixture.systems.opened).toHaveLength(1);
      // However often it is started again, it is given up two days after the job was blocked.
      for (let day = 0; day < 2; day++) await fixture.restart(24 * HOUR);
      await expect.poll(() => fixture.status('a-007')).toBe('FAILED');
      expect(await fixture.jobs.read('a-007')).toMatchObject({ condition: 'JOB_RECOVERY_TIMEOUT' });
      expect((await fixture.jobs.read('a-007')).lastMessage).toContain('TIME_EXPIRED');
    });

    it('leaves the work to another process, which takes it up when the lease ends', async () => {
      await fixture.start();
      await fixture.blocked('a-007', DOWN);
      await fixture.record({ attempts: 0 });
      const other = fixture.newReaders('there');
      other.add({ id: 'o1', name: 'portals' });
      fixture.jobs.clock.advance(0);
      fixture.jobs.clock.advance(20_000);
      expect(other.acting).toEqual([]);
      await fixture.readers.stop();
      fixture.jobs.clock.advance(20_000);
      await expect.poll(() => other.acting).toEqual(['o1']);
      fixture.jobs.clock.advance(MINUTE);
      await fixture.record({ attempts: 1 });
      await other.stop();
    });
  });
}
