import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RECOVERY_EVENTS } from '../../src/event-types.js';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { blockedRows, releasingRow } from '../../src/recovery/enter.js';
import { RecoveryRows } from '../../src/recovery/repository.js';
import { ORG } from '../support/jobs.js';
import { openRecovery, type RecoveryFixture } from '../support/recovery.js';

/** Sheet §7.10, by number. 2 to 5 are in `policies.test.ts`, `conditions.test.ts` and `reader.test.ts`. */

const MINUTE = 60_000;
const at = (systemId: string) => obstacle('CONNECTION_FAILURE', `${systemId} cannot be reached`, { systemId });

let fixture: RecoveryFixture;
beforeEach(async () => {
  fixture = await openRecovery();
});
afterEach(() => fixture.close());

const recordId = async () => {
  const [record] = await fixture.records();
  if (record === undefined) throw new Error('no record');
  return record.id;
};

describe('a defect of the predecessor', () => {
  it('7.10.1: of two records that are due at the same moment both are tested', async () => {
    await fixture.start();
    fixture.systems.trouble.set('hpc1', 'CONNECTION_FAILURE');
    fixture.systems.trouble.set('hpc2', 'CONNECTION_FAILURE');
    await fixture.blocked('a-007', at('hpc1'));
    await fixture.blocked('b-007', at('hpc2'));
    const due = fixture.jobs.clock.now() + MINUTE;
    await expect.poll(async () => (await fixture.records()).map((row) => row.next_attempt)).toEqual([due, due]);
    fixture.jobs.clock.advance(MINUTE);
    await expect.poll(async () => (await fixture.records()).map((row) => row.attempts)).toEqual([1, 1]);
    expect(fixture.systems.opened.toSorted()).toEqual(['hpc1', 'hpc2']);
  });

  it('7.10.6: after a crash between status and message the message is published, and nothing is tested', async () => {
    fixture.listen();
    const job = await fixture.blocked('a-007', at('hpc1'));
    const row = releasingRow(job, await recordId(), 'it goes on', fixture.jobs.clock.now());
    await fixture.jobs.jobs.change(job, { to: 'STAGING_INPUTS' }, [row]);
    await fixture.start();
    await expect.poll(() => fixture.submitted.map(({ job: uuid }) => uuid)).toEqual(['a-007']);
    await fixture.empty();
    fixture.jobs.clock.advance(10 * MINUTE);
    expect(fixture.systems.opened).toEqual([]);
    expect((await fixture.jobs.history('a-007')).filter((entry) => entry.startsWith('STAGING_INPUTS'))).toHaveLength(2);
  });

  it('7.10.6: a row of a job that is not BLOCKED any more goes, and the job is left alone', async () => {
    fixture.listen();
    const job = await fixture.blocked('a-007', at('hpc1'));
    await fixture.jobs.jobs.change(job, { to: 'STAGING_INPUTS' });
    await fixture.start();
    await fixture.empty();
    expect(await fixture.status('a-007')).toBe('STAGING_INPUTS');
    expect(fixture.submitted).toEqual([]);
  });

  it('7.10.6: a job that was blocked again before its old row was deleted keeps the new one', async () => {
    const job = await fixture.blocked('a-007', at('hpc1'));
    const rows = new RecoveryRows(fixture.store, ORG.id);
    const row = releasingRow(job, await recordId(), 'it goes on', fixture.jobs.clock.now());
    const active = await fixture.jobs.jobs.change(job, { to: 'STAGING_INPUTS' }, [row]);
    await fixture.block(active, at('hpc2'), false);
    // As the reader does it that published the message meanwhile.
    await rows.drop(['a-007'], 'releasing');
    expect(await fixture.rows()).toMatchObject([{ uuid: 'a-007', state: 'waiting' }]);
  });

  it('7.10.7: a job that joins while its record is being deleted keeps a record, and goes on', async () => {
    fixture.listen();
    await fixture.start();
    const rows = new RecoveryRows(fixture.store, ORG.id);
    // Released again and again, while others join.
    for (let n = 0; n < 10; n++) {
      await fixture.blocked(`a${n}-007`, at('hpc1'));
      await expect.poll(async () => (await fixture.rows()).length).toBe(1);
      fixture.jobs.clock.advance(MINUTE);
      const job = await fixture.jobs.job(`b${n}-007`, 'PENDING');
      await fixture.block(job, at('hpc1'));
      // Also what a database that is slow has interrupted is tried again after a while.
      await expect
        .poll(async () => {
          fixture.jobs.clock.advance(MINUTE);
          return [await fixture.records(), await fixture.rows()];
        })
        .toEqual([[], []]);
      expect(await rows.lost()).toEqual([]);
    }
    // Nobody takes them here, and time passes: some are taken for lost, and published twice.
    await expect.poll(() => new Set(fixture.submitted.map(({ job }) => job)).size).toBe(20);
  });

  it('7.10.7: whoever deletes a record locks it before it looks whether anybody waits', async () => {
    const job = await fixture.jobs.job('a-007');
    const other = await fixture.jobs.job('b-007');
    const rows = new RecoveryRows(fixture.store, ORG.id);
    const told = RECOVERY_EVENTS.tell('job_recovery.removed', ORG, { recovery: 'r', condition: 'c' }, {});
    const server = fixture.store.kind === 'postgres' ? await fixture.jobs.test.another() : fixture.store;
    for (let round = 0; round < 20; round++) {
      await fixture.store.commit(blockedRows(job, at('hpc1'), round));
      await rows.drop(['a-007'], 'waiting');
      const id = await recordId();
      await Promise.all([
        rows.deleteRecord(fixture.jobs.recorder, id, told),
        server.commit(blockedRows(other, at('hpc1'), round)),
      ]);
      // Who was first does not matter: the row that joined has a record.
      expect(await fixture.records()).toMatchObject([{ id }]);
      expect(await fixture.rows()).toMatchObject([{ uuid: 'b-007', recovery_id: id }]);
      await rows.drop(['b-007'], 'waiting');
      expect(await rows.deleteRecord(fixture.jobs.recorder, id, told)).toBe(true);
    }
  });

  it('7.10.8: the same job twice, and the same message twice, are one row and no error', async () => {
    await fixture.start();
    fixture.systems.trouble.set('hpc1', 'CONNECTION_FAILURE');
    const job = await fixture.jobs.job('a-007');
    const now = fixture.jobs.clock.now();
    const rows = [...blockedRows(job, at('hpc1'), now), ...blockedRows(job, at('hpc1'), now)];
    await fixture.jobs.jobs.change(job, { to: 'BLOCKED' }, rows);
    await fixture.store.commit(blockedRows(job, at('hpc1'), now));
    for (let n = 0; n < 3; n++) await fixture.send({ msgType: 'RECOVER', jobUuid: 'a-007' });
    const { next_attempt: next } = await fixture.record({ attempts: 0, next_attempt: now + MINUTE });
    expect(await fixture.rows()).toHaveLength(1);
    expect(next).toBe(now + MINUTE);
    expect(fixture.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('7.10.9: two readers never change the same job: what a replaced one stores is refused', async () => {
    await fixture.start();
    fixture.systems.trouble.set('hpc1', 'silent');
    await fixture.blocked('a-007', at('hpc1'));
    await fixture.record({ attempts: 0, next_attempt: fixture.jobs.clock.now() + MINUTE });
    // Somebody else has the lease now, and this reader does not know yet.
    await fixture.store.transact((trx) =>
      trx.updateTable('leases').set({ holder: 'there', epoch: 99 }).where('name', '=', 'job-recovery/o1').execute(),
    );
    await fixture.send({ msgType: 'CANCEL_RECOVER', jobUuid: 'a-007' });
    const dead = async () => (await fixture.broker.depths(['aloe.jobq.AllTenants.dead.Queue']))[0]?.ready;
    await expect.poll(async () => [await dead(), await fixture.status('a-007')]).toEqual([0, 'BLOCKED']);
  });

  it('7.10.10: records are taken up in whatever order they are read, and tested when each is due', async () => {
    fixture.systems.trouble.set('hpc1', 'CONNECTION_FAILURE');
    fixture.systems.trouble.set('hpc2', 'CONNECTION_FAILURE');
    await fixture.start();
    await fixture.blocked('a-007', at('hpc1'));
    await fixture.record({ attempts: 0, next_attempt: fixture.jobs.clock.now() + MINUTE });
    fixture.jobs.clock.advance(MINUTE / 2);
    await fixture.blocked('b-007', at('hpc2'));
    await expect.poll(async () => (await fixture.records()).every((row) => row.next_attempt > 0)).toBe(true);
    await fixture.restart();
    fixture.jobs.clock.advance(MINUTE / 2);
    await expect.poll(() => fixture.systems.opened).toEqual(['hpc1']);
    fixture.jobs.clock.advance(MINUTE / 2);
    await expect.poll(() => fixture.systems.opened).toEqual(['hpc1', 'hpc2']);
  });

  it('a BLOCKED job that waits for nothing, as after a loss of rows, tries again', async () => {
    fixture.listen();
    const job = await fixture.jobs.job('a-007', 'STAGING_INPUTS');
    await fixture.jobs.jobs.change(job, { to: 'BLOCKED' });
    await fixture.start();
    await expect.poll(() => fixture.submitted.map(({ job: uuid }) => uuid)).toEqual(['a-007']);
    expect(await fixture.status('a-007')).toBe('STAGING_INPUTS');
  });
});
