import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recoveryCommandOf } from '../../src/messages.js';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { killRows } from '../../src/recovery/enter.js';
import { recordCommandOf } from '../../src/recovery/messages.js';
import { RecoveryCalls } from '../../src/worker/recovery-calls.js';
import { ORG } from '../support/jobs.js';
import { openRecovery, type RecoveryFixture } from '../support/recovery.js';

const MINUTE = 60_000;
const DOWN = obstacle('CONNECTION_FAILURE', 'hpc1 cannot be reached', { systemId: 'hpc1' });
const RUNNING = { remoteJobId: '4711', workPath: '/scratch/jobs/j' };

let fixture: RecoveryFixture;
beforeEach(async () => {
  fixture = await openRecovery();
  fixture.systems.trouble.set('hpc1', 'CONNECTION_FAILURE');
  await fixture.start();
});
afterEach(() => fixture.close());

/** As the front does it: stored first, then told. */
async function ask(uuid: string, wanted: 'stop' | 'pause' | 'resume', by = 'anna'): Promise<void> {
  const TOLD = { stop: 'CANCEL_RECOVER', pause: 'PAUSE_RECOVER', resume: 'RESUME_JOB' } as const;
  const job = await fixture.jobs.read(uuid);
  expect(await fixture.jobs.jobs.want(job, wanted, by)).toBe(true);
  await fixture.broker.publish(recoveryCommandOf(job, TOLD[wanted], by));
}

const by = async (uuid: string, status: string) =>
  (
    await fixture.store.read
      .selectFrom('job_history')
      .select('by')
      .where('uuid', '=', uuid)
      .where('event', '=', status)
      .orderBy('id', 'desc')
      .executeTakeFirst()
  )?.by;

describe('what is asked of a job that no worker has', () => {
  it.each([
    ['PAUSED', 'resume', 'RUNNING'],
    ['PAUSED', 'stop', 'STOPPED'],
    ['BLOCKED', 'stop', 'STOPPED'],
    ['BLOCKED', 'pause', 'PAUSED'],
  ] as const)('%s: %s is done at once although its message was lost (sheet §6.3.6)', async (from, wanted, becomes) => {
    const job = await fixture.jobs.job('a-007', 'RUNNING', RUNNING);
    if (from === 'PAUSED') await fixture.jobs.jobs.change(job, { to: 'PAUSED' });
    else await fixture.block(job, DOWN);
    expect(await fixture.jobs.jobs.want(await fixture.jobs.read('a-007'), wanted, 'anna')).toBe(true);
    await expect.poll(() => fixture.status('a-007')).toBe(becomes);
    expect(await by('a-007', becomes)).toBe('anna');
  });
});

describe('a cancel of a job in recovery (sheet §7.8)', () => {
  it('stops it, and deletes the record with the last of its jobs', async () => {
    await fixture.blocked('a-007', DOWN);
    await fixture.blocked('b-007', DOWN);
    await fixture.record({ attempts: 0 });
    await ask('a-007', 'stop');
    await expect.poll(() => fixture.status('a-007')).toBe('STOPPED');
    expect(await fixture.jobs.read('a-007')).toMatchObject({ condition: 'CANCELLED_BY_USER', wanted: null });
    expect(await by('a-007', 'STOPPED')).toBe('anna');
    expect(await fixture.records()).toHaveLength(1);
    await ask('b-007', 'stop');
    await fixture.empty();
    expect(fixture.systems.killed).toEqual([]);
  });

  it('of one that is not in recovery does nothing', async () => {
    const job = await fixture.jobs.job('a-007', 'RUNNING');
    await fixture.broker.publish(recoveryCommandOf(job, 'CANCEL_RECOVER', 'anna'));
    await expect
      .poll(() => fixture.logged.map(({ text }) => text.split(' ')[0]))
      .toContain('JOBS_RECOVERY_JOB_NOT_FOUND');
    expect(await fixture.status('a-007')).toBe('RUNNING');
  });

  it('kills what runs remotely, and tries again until that is confirmed', async () => {
    await fixture.blocked('a-007', DOWN, 'RUNNING', RUNNING);
    await fixture.record({ attempts: 0 });
    await ask('a-007', 'stop');
    await expect.poll(() => fixture.status('a-007')).toBe('STOPPED');
    await fixture.record({ condition: 'REMOTE_END_UNCONFIRMED', next_attempt: fixture.jobs.clock.now() + 10_000 });
    expect(fixture.systems.killed).toEqual([]);
    fixture.jobs.clock.advance(10_000);
    await fixture.record({ attempts: 1 });
    // It answers, but cannot say whether the program has ended.
    fixture.systems.trouble.clear();
    fixture.systems.kills = 'unsure';
    fixture.jobs.clock.advance(10_000);
    await fixture.record({ attempts: 2 });
    expect(fixture.systems.killed).toEqual(['a-007']);
    fixture.systems.kills = 'ended';
    fixture.jobs.clock.advance(20_000);
    await fixture.empty();
    expect(fixture.systems.killed).toEqual(['a-007', 'a-007']);
    expect((await fixture.jobs.history('a-007')).at(-1)).toContain('REMOTE_ENDED');
  });

  it('kills at once where the system answers', async () => {
    fixture.systems.trouble.clear();
    await fixture.blocked('a-007', obstacle('QUOTA_EXCEEDED', 'full', { systemId: 'hpc1' }), 'QUEUED', RUNNING);
    await fixture.record({ attempts: 0 });
    await ask('a-007', 'stop');
    await fixture.empty();
    expect(fixture.systems.killed).toEqual(['a-007']);
  });

  it('says in the history when it could not be confirmed', async () => {
    await fixture.blocked('a-007', DOWN, 'RUNNING', RUNNING);
    await fixture.record({ attempts: 0 });
    await ask('a-007', 'stop');
    const { id } = await fixture.record({ condition: 'REMOTE_END_UNCONFIRMED' });
    await fixture.broker.publish(recordCommandOf(ORG.name, 'GIVE_UP', id, 'anna'));
    await fixture.empty();
    expect((await fixture.jobs.history('a-007')).at(-1)).toMatch(/^REMOTE_END_UNCONFIRMED: .*4711.*anna gave it up/);
    expect(await fixture.status('a-007')).toBe('STOPPED');
  });

  it('kills what runs of one that its worker stopped, also when the worker could tell nobody', async () => {
    fixture.systems.trouble.clear();
    const job = await fixture.jobs.job('a-007', 'RUNNING', RUNNING);
    await fixture.jobs.jobs.change(job, { to: 'STOPPED' }, killRows(job, fixture.jobs.clock.now()));
    await fixture.record({ condition: 'REMOTE_END_UNCONFIRMED' });
    fixture.jobs.clock.advance(10_000);
    await expect.poll(() => fixture.systems.killed).toEqual(['a-007']);
    await fixture.empty();
  });

  it('goes on killing after a restart', async () => {
    await fixture.blocked('a-007', DOWN, 'RUNNING', RUNNING);
    await fixture.record({ attempts: 0 });
    await ask('a-007', 'stop');
    await fixture.record({ condition: 'REMOTE_END_UNCONFIRMED' });
    fixture.systems.trouble.clear();
    await fixture.restart(MINUTE);
    await fixture.empty();
    expect(fixture.systems.killed).toEqual(['a-007']);
  });

  it('of a worker that could not end the remote part is taken over', async () => {
    const job = await fixture.jobs.job('a-007', 'RUNNING', RUNNING);
    await fixture.jobs.jobs.change(job, { to: 'STOPPED' }, killRows(job, fixture.jobs.clock.now()));
    fixture.systems.trouble.clear();
    await fixture.send({ msgType: 'RECOVER', jobUuid: 'a-007' });
    await fixture.record({ condition: 'REMOTE_END_UNCONFIRMED', next_attempt: fixture.jobs.clock.now() + 10_000 });
    fixture.jobs.clock.advance(10_000);
    await fixture.empty();
    expect(fixture.systems.killed).toEqual(['a-007']);
  });

  it('of a worker that was killed before it had said so is taken over, too', async () => {
    const job = await fixture.jobs.job('a-007', 'RUNNING', RUNNING);
    fixture.systems.trouble.clear();
    await fixture.jobs.jobs.change(job, { to: 'STOPPED' }, killRows(job, fixture.jobs.clock.now()));
    await fixture.record({ condition: 'REMOTE_END_UNCONFIRMED', next_attempt: fixture.jobs.clock.now() + 10_000 });
    fixture.jobs.clock.advance(10_000);
    await fixture.empty();
    expect(fixture.systems.killed).toEqual(['a-007']);
  });

  it('of a worker that has ended the program itself leaves nothing', async () => {
    const job = await fixture.jobs.job('a-007', 'RUNNING', RUNNING);
    await fixture.jobs.jobs.change(job, { to: 'STOPPED' }, killRows(job, fixture.jobs.clock.now()));
    await fixture.record({ condition: 'REMOTE_END_UNCONFIRMED' });
    const { store, broker } = fixture;
    const quiet = () => undefined;
    const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
    await new RecoveryCalls({ store, broker, log, sender: 'w1' }).ended(job);
    await fixture.empty();
    expect(fixture.systems.killed).toEqual([]);
  });

  it('that was stored while nobody read the queue is done at the next start', async () => {
    await fixture.blocked('a-007', DOWN);
    await fixture.record({ attempts: 0 });
    await fixture.readers.stop();
    await fixture.jobs.jobs.want(await fixture.jobs.read('a-007'), 'stop', 'anna');
    await fixture.restart();
    await expect.poll(() => fixture.status('a-007')).toBe('STOPPED');
    expect(await by('a-007', 'STOPPED')).toBe('anna');
    await fixture.empty();
  });

  it('wins over a release that begins at the same time', async () => {
    await fixture.blocked('a-007', DOWN);
    await fixture.record({ attempts: 0 });
    await fixture.jobs.jobs.want(await fixture.jobs.read('a-007'), 'stop', 'anna');
    fixture.systems.trouble.clear();
    fixture.jobs.clock.advance(MINUTE);
    await expect.poll(() => fixture.status('a-007')).toBe('STOPPED');
    await fixture.empty();
  });
});

describe('a job that is paused', () => {
  it('goes on where it was when somebody says so', async () => {
    fixture.listen();
    const job = await fixture.jobs.job('a-007', 'RUNNING', { ...RUNNING, worker: 'w1' });
    await fixture.jobs.jobs.change(job, { to: 'PAUSED' });
    await ask('a-007', 'resume');
    await expect.poll(() => fixture.submitted.map(({ job: uuid }) => uuid)).toEqual(['a-007']);
    expect(await fixture.jobs.read('a-007')).toMatchObject({ status: 'RUNNING', worker: null, wanted: null });
    expect(await by('a-007', 'PAUSED')).toBe('jdoe');
    await fixture.empty();
  });

  it('is stopped, and what runs remotely is killed', async () => {
    fixture.systems.trouble.clear();
    const job = await fixture.jobs.job('a-007', 'RUNNING', RUNNING);
    await fixture.jobs.jobs.change(job, { to: 'PAUSED' });
    await ask('a-007', 'stop');
    await expect.poll(() => fixture.status('a-007')).toBe('STOPPED');
    await fixture.empty();
    expect(fixture.systems.killed).toEqual(['a-007']);
  });

  it('leaves recovery when it was blocked, and goes on later where it was then', async () => {
    fixture.listen();
    await fixture.blocked('a-007', DOWN, 'ARCHIVING');
    await fixture.record({ attempts: 0 });
    await ask('a-007', 'pause');
    await expect.poll(() => fixture.status('a-007')).toBe('PAUSED');
    await fixture.empty();
    await ask('a-007', 'resume');
    await expect.poll(() => fixture.submitted).toHaveLength(1);
    expect(await fixture.status('a-007')).toBe('ARCHIVING');
  });

  it('is resumed at the next start when the message (RESUME_JOB) was lost', async () => {
    fixture.listen();
    const job = await fixture.jobs.job('a-007', 'RUNNING', RUNNING);
    await fixture.jobs.jobs.change(job, { to: 'PAUSED' });
    await fixture.jobs.jobs.want(await fixture.jobs.read('a-007'), 'resume', 'anna');
    await fixture.restart();
    await expect.poll(() => fixture.submitted.map(({ job: uuid }) => uuid)).toEqual(['a-007']);
    expect(await fixture.jobs.read('a-007')).toMatchObject({ status: 'RUNNING', wanted: null });
    expect(await by('a-007', 'RUNNING')).toBe('anna');
    await fixture.empty();
  });

  it('is resumed once, however often it is asked', async () => {
    fixture.listen();
    const job = await fixture.jobs.job('a-007', 'RUNNING');
    await fixture.jobs.jobs.change(job, { to: 'PAUSED' });
    await ask('a-007', 'resume');
    await fixture.broker.publish(recoveryCommandOf(job, 'RESUME_JOB', 'anna'));
    await expect.poll(() => fixture.submitted).toHaveLength(1);
    await fixture.empty();
    expect((await fixture.jobs.history('a-007')).filter((entry) => entry.startsWith('RUNNING'))).toHaveLength(2);
    expect(fixture.submitted).toHaveLength(1);
  });
});

describe('what an administrator may do', () => {
  it('is to test now', async () => {
    await fixture.blocked('a-007', DOWN);
    const { id } = await fixture.record({ attempts: 0, next_attempt: fixture.jobs.clock.now() + MINUTE });
    await fixture.broker.publish(recordCommandOf(ORG.name, 'TEST_NOW', id, 'anna'));
    await fixture.record({ attempts: 1 });
    expect(fixture.systems.opened).toHaveLength(1);
  });

  it('is to give up: the jobs fail', async () => {
    await fixture.blocked('a-007', DOWN);
    const { id } = await fixture.record({ attempts: 0, next_attempt: fixture.jobs.clock.now() + MINUTE });
    await fixture.broker.publish(recordCommandOf(ORG.name, 'GIVE_UP', id, 'anna'));
    await expect.poll(() => fixture.status('a-007')).toBe('FAILED');
    expect((await fixture.jobs.read('a-007')).lastMessage).toContain('anna gave it up');
    await fixture.empty();
  });

  it('is to end the reader of this process (RECOVER_SHUTDOWN)', async () => {
    await fixture.send({ msgType: 'RECOVER_SHUTDOWN', force: true });
    await expect.poll(() => fixture.readers.acting).toEqual([]);
  });
});

describe('a message for recovery', () => {
  it.each(['no json', '[]', '{}', '{"msgType":"RAIN"}', '{"msgType":"RECOVER"}', '{"msgType":"GIVE_UP"}', 'null'])(
    'that nobody understands is in the dead-letter queue: %s',
    async (body) => {
      const { exchange, key } = recoveryCommandOf({ tenant: ORG.name, uuid: 'x' }, 'CANCEL_RECOVER', 'anna');
      await fixture.broker.publish({ exchange, key, body });
      const dead = async () => (await fixture.broker.depths(['aloe.jobq.AllTenants.dead.Queue']))[0]?.ready;
      await expect.poll(dead).toBe(1);
      expect(fixture.logged.some(({ text }) => text.startsWith('JOBS_WORKER_INVALD_MSG_TYPE'))).toBe(true);
    },
  );
});
