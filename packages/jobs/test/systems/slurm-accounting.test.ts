import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { localConnection } from '../../src/systems/local/local.js';
import { SlurmScheduler } from '../../src/systems/schedulers/slurm.js';
import type { Launch, RemoteJob } from '../../src/systems/types.js';
import { launchOf } from './support/scheduler-conformance.js';
import { type Slurm, startSlurm } from './support/slurm.js';

/** Slurm may say that a job runs before its program does. */
const SLEEP = '#!/bin/sh\n: >begun\nexec sleep 1000\n';
/** Slurm looks at limits of time, and forgets, now and then. */
const FORGOTTEN_MS = 120_000;

/** With the real `sacct`, on a `slurmdbd` of the test. */
describe('a job that the controller of Slurm has forgotten is found in accounting', () => {
  let slurm: Slurm;
  let scratch: string;
  const jobs = new Map<string, RemoteJob>();

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'muster-slurm-jobs-'));
    slurm = await startSlurm({ accounted: true });
    await submit('good', '#!/bin/sh\n');
    await submit('bad', '#!/bin/sh\nexit 5\n');
    await submit('killed', '#!/bin/sh\nkill -9 $PPID\n');
    await submit('late', SLEEP);
    await submit('cancelled', SLEEP);
    await submit('early', SLEEP, { queue: { name: 'normal', directives: ['#SBATCH --begin=now+1hour'] } });
    for (const name of ['late', 'cancelled']) {
      const begun = join(jobOf(name).workDirectory, 'begun');
      await vi.waitFor(() => expect(existsSync(begun)).toBe(true), { timeout: 50_000 });
    }
    await slurm.command('scontrol', 'update', `JobId=${idOf('late')}`, 'EndTime=now+1');
    await slurm.command('scancel', idOf('cancelled'), idOf('early'));
    const forgotten = async () => expect(await slurm.command('squeue', '--noheader', '--states=all')).toBe('');
    await vi.waitFor(forgotten, { timeout: FORGOTTEN_MS, interval: 500 });
  }, 60_000 + FORGOTTEN_MS);
  afterAll(async () => {
    await slurm?.remove();
    await rm(scratch, { recursive: true, force: true, maxRetries: 5 });
  });

  async function submit(name: string, program: string, more: Partial<Launch> = {}): Promise<void> {
    const launch = await launchOf(scratch, program, more);
    jobs.set(name, { ...launch, ...(await scheduler().submit(launch)) });
  }
  /** Each remembers what it was told a moment ago. */
  const scheduler = (): SlurmScheduler =>
    new SlurmScheduler(
      'hpc1',
      localConnection({ name: 'hpc1', root: '/', environment: slurm.environment }, systemClock),
      systemClock,
    );
  const jobOf = (name: string): RemoteJob => jobs.get(name) as RemoteJob;
  const idOf = (name: string): string => jobOf(name).remoteJobId;
  const look = (name: string) => scheduler().look(jobOf(name));

  it.each([
    ['good', 0, null, 'COMPLETED'],
    ['bad', 5, null, 'FAILED'],
    ['killed', null, 'SCHEDULER_TERMINATED', 'FAILED'],
    ['late', 143, 'SCHEDULER_TIMEOUT', 'TIMEOUT'],
    ['cancelled', 143, 'SCHEDULER_CANCELLED', 'CANCELLED by '],
    ['early', null, 'SCHEDULER_CANCELLED', 'CANCELLED by '],
  ])('%s: %s, %s, %s', async (name, code, condition, detail) => {
    expect(await look(name)).toEqual({ state: 'ended', code, condition, detail: expect.stringContaining(detail) });
  });

  it('all of them by one call', async () => {
    const one = scheduler();
    const states = await Promise.all([...jobs.values()].map((job) => one.look(job)));
    expect(states.map(({ state }) => state)).toEqual(states.map(() => 'ended'));
  });

  it.each(['good', 'early'])('by its name, so that it is not submitted again: %s', async (name) => {
    // As if nobody had written down who started it.
    const found = await scheduler().find({ uuid: jobOf(name).uuid, workDirectory: scratch });
    expect(found).toMatchObject({ remoteJobId: idOf(name) });
  });

  it('one that nobody ever submitted is not', async () => {
    expect(await scheduler().find({ uuid: 'nobody', workDirectory: scratch })).toBeNull();
  });

  it.each([
    [7, 'NODE_FAIL', 'SCHEDULER_TERMINATED'],
    [8, 'PREEMPTED', 'SCHEDULER_STOPPED'],
    [9, 'BOOT_FAIL', 'SCHEDULER_TERMINATED'],
    [10, 'DEADLINE', 'SCHEDULER_DEADLINE'],
    [11, 'OUT_OF_MEMORY', 'SCHEDULER_OUT_OF_MEMORY'],
  ])('as what Slurm wrote down about it: %i is %s, %s', async (state, detail, condition) => {
    await slurm.accounting?.change(`update muster_job_table set state = ${state} where id_job = ${idOf('bad')}`);
    expect(await look('bad')).toMatchObject({ state: 'ended', condition, detail });
  });

  it('once accounting is back', async () => {
    await slurm.accounting?.stop();
    await expect(look('late')).rejects.toMatchObject({ name: 'SystemTrouble', kind: 'SCHEDULER_BUSY' });
    await slurm.accounting?.start();
    expect(await look('late')).toMatchObject({ condition: 'SCHEDULER_TIMEOUT' });
  });
});
