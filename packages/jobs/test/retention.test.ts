import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killRows } from '../src/recovery/enter.js';
import { JobRetention } from '../src/retention.js';
import { type JobFixture, ORG, openJobs } from './support/jobs.js';

const DAY = 86_400_000;
const YEAR = 365 * DAY;

let fixture: JobFixture;
let retention: JobRetention;
beforeEach(async () => {
  fixture = await openJobs();
  retention = newRetention(YEAR);
});
afterEach(() => fixture.close());

function newRetention(keepMs: number): JobRetention {
  const failed = (error: unknown) => {
    throw error;
  };
  return new JobRetention({ store: fixture.store, clock: fixture.clock, keepMs, failed });
}

const ended = async (uuid: string): Promise<void> => {
  const request = JSON.stringify({ notifications: [{ event: '*', url: 'http://hook/', persistent: true }] });
  const job = await fixture.job(uuid, 'ARCHIVING', { request });
  await fixture.jobs.change(job, { to: 'FINISHED' });
};
const jobs = async () =>
  (await fixture.store.read.selectFrom('jobs').select('uuid').orderBy('uuid').execute()).map(({ uuid }) => uuid);
const rows = async () => {
  const { read } = fixture.store;
  const found = await Promise.all(
    (['job_history', 'job_notifications'] as const).map((table) => read.selectFrom(table).select('uuid').execute()),
  );
  const deliveries = await read.selectFrom('deliveries').select('id').execute();
  return [...found, deliveries].map((list) => list.length);
};

describe('retention', () => {
  it('keeps a job that has ended for a year, with its history, and then deletes all of it', async () => {
    await ended('a-007');
    fixture.clock.advance(YEAR);
    await ended('b-007');
    await retention.prune();
    expect(await jobs()).toEqual(['a-007', 'b-007']);
    const before = await rows();
    fixture.clock.advance(1);
    await retention.prune();
    expect(await jobs()).toEqual(['b-007']);
    expect(await rows()).toEqual(before.map((count) => count / 2));
  });

  it('leaves alone jobs that were taken over from another system, however long ago they ended', async () => {
    await ended('a-007');
    await fixture.store.transact((trx) => trx.updateTable('jobs').set({ foreign_job: 1 }).execute());
    fixture.clock.advance(2 * YEAR);
    await retention.prune();
    expect(await jobs()).toEqual(['a-007']);
  });

  it('deletes more than fit into one transaction', async () => {
    for (let n = 0; n < 450; n++) {
      const job = await fixture.job(`j${n}-007`, 'ACCEPTED');
      await fixture.jobs.change(job, { to: 'STOPPED' });
    }
    fixture.clock.advance(YEAR + 1);
    await retention.prune();
    expect(await jobs()).toEqual([]);
    expect(await rows()).toEqual([0, 0, 0]);
  });

  it('leaves alone what has not ended, and whose program may still run', async () => {
    await fixture.job('a-007', 'RUNNING');
    const job = await fixture.job('b-007', 'RUNNING', { remoteJobId: '1', workPath: '/scratch/b' });
    await fixture.jobs.change(job, { to: 'STOPPED' }, killRows(job, fixture.clock.now()));
    fixture.clock.advance(2 * YEAR);
    await retention.prune();
    expect(await jobs()).toEqual(['a-007', 'b-007']);
  });

  it('keeps everything when it is told to', async () => {
    await ended('a-007');
    fixture.clock.advance(10 * YEAR);
    await newRetention(0).prune();
    expect(await jobs()).toEqual(['a-007']);
  });

  it('drops messages that nobody took after ninety days, and refusals after thirty', async () => {
    const now = fixture.clock.now();
    const stray = {
      kind: 'alternate',
      org_id: ORG.id,
      exchange: 'x',
      routing_key: 'k',
      reason: null,
      body: Buffer.alloc(1),
      length: 1,
    } as const;
    await fixture.store.transact(async (trx) => {
      await trx
        .insertInto('job_stray_messages')
        .values([
          { ...stray, id: 'old', at: now },
          { ...stray, id: 'new', at: now + DAY },
        ])
        .execute();
      await trx
        .insertInto('job_refusals')
        .values([
          { uuid: 'old', at: now },
          { uuid: 'new', at: now + 70 * DAY },
        ])
        .execute();
    });
    fixture.clock.advance(90 * DAY + 1);
    await retention.prune();
    const { read } = fixture.store;
    expect(await read.selectFrom('job_stray_messages').select('id').execute()).toEqual([{ id: 'new' }]);
    expect(await read.selectFrom('job_refusals').select('uuid').execute()).toEqual([{ uuid: 'new' }]);
  });
});
