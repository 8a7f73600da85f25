import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '@muster/base';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startSshd } from '../../../platform/test/support/sshd.js';
import { localConnection } from '../../src/systems/local/local.js';
import { SlurmScheduler } from '../../src/systems/schedulers/slurm.js';
import { sshConnection } from '../../src/systems/ssh/ssh.js';
import type { Connection, Launch, RemoteJob, RemoteState } from '../../src/systems/types.js';
import { launchOf, schedulerConformance } from './support/scheduler-conformance.js';
import { type Slurm, startSlurm } from './support/slurm.js';

let slurm: Slurm;
beforeAll(async () => {
  slurm = await startSlurm();
});
afterAll(() => slurm.remove());

const here = (environment: Record<string, string> = slurm.environment): Connection =>
  localConnection({ name: 'hpc1', root: '/', environment }, systemClock);
/** Pauses are over so many times sooner. */
const hurried = (times: number): Clock => ({
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * times,
  after: (delayMs, work) => systemClock.after(delayMs / times, work),
});
const slurmOver = (connection: Connection, clock: Clock = systemClock): SlurmScheduler =>
  new SlurmScheduler('hpc1', connection, clock);

schedulerConformance('slurm on this machine', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'muster-slurm-jobs-'));
  return {
    scratch,
    scheduler: slurmOver(here(), hurried(4)),
    other: slurmOver(here(), hurried(4)),
    patienceMs: 50_000,
    close: () => rm(scratch, { recursive: true, maxRetries: 5 }),
  };
});

schedulerConformance('slurm over ssh', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'muster-slurm-ssh-'));
  const sshd = await startSshd();
  const system = { ...sshd.system, environment: slurm.environment };
  const connection = sshConnection(system, async () => ({ privateKey: sshd.privateKey }), { clock: systemClock });
  return {
    scratch,
    scheduler: slurmOver(connection, hurried(4)),
    other: slurmOver(connection, hurried(4)),
    patienceMs: 50_000,
    async close() {
      connection.close();
      await sshd.remove();
      await rm(scratch, { recursive: true, maxRetries: 5 });
    },
  };
});

describe('a job of slurm', () => {
  let scratch: string;
  let tooLong: Promise<RemoteState>;
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'muster-slurm-jobs-'));
    // Slurm counts in minutes: its end is looked at later.
    const job = await submitted('#!/bin/sh\nexec sleep 1000\n', { maxSeconds: 1 });
    const ended = async (): Promise<RemoteState> => {
      const state = await end(job);
      if (state.state !== 'ended') throw new Error(`it is ${state.state}`);
      return state;
    };
    tooLong = vi.waitFor(ended, { timeout: 150_000, interval: 1000 });
  });
  afterAll(() => rm(scratch, { recursive: true, maxRetries: 5 }));

  const SLEEP = '#!/bin/sh\nexec sleep 1000\n';
  async function submitted(program: string, more: Partial<Launch> = {}): Promise<RemoteJob> {
    const launch = await launchOf(scratch, program, more);
    return { ...launch, ...(await slurmOver(here()).submit(launch)) };
  }
  const is = (job: RemoteJob, state: RemoteState['state'], timeout = 50_000): Promise<void> =>
    expect.poll(async () => (await slurmOver(here()).look(job)).state, { timeout }).toBe(state);
  const end = (job: RemoteJob): Promise<RemoteState> => slurmOver(here()).look(job);

  it('carries the name of the job, its limits, its queue and the directives of the queue', async () => {
    const queue = { name: 'urgent', directives: ['#SBATCH --comment="of the queue"', '#SBATCH --begin=now+1hour'] };
    const job = await submitted(SLEEP, { queue, processorsPerNode: 3, memoryMb: 77, maxSeconds: 3725 });
    const told = await slurm.command('scontrol', 'show', 'job', job.remoteJobId);
    for (const part of [
      `JobName=muster-${job.uuid}`,
      'Partition=urgent',
      'NumNodes=1',
      'NumTasks=3',
      'MinMemoryNode=77M',
      'TimeLimit=01:03:00',
      'Comment=of the queue',
      'Requeue=0',
      `WorkDir=${job.workDirectory}`,
    ]) {
      expect(told).toContain(part);
    }
    expect(await slurmOver(here()).look(job)).toEqual({ state: 'queued' });
    // Found by its name: nothing of it was started yet.
    expect(await slurmOver(here()).find(job)).toMatchObject({ remoteJobId: job.remoteJobId });
    expect(await slurmOver(here()).kill(job)).toBe('ended');
    expect(await end(job)).toMatchObject({ state: 'ended', condition: 'SCHEDULER_CANCELLED' });
  });

  it('that somebody else cancelled says so', async () => {
    const job = await submitted(SLEEP);
    await is(job, 'running');
    await slurm.command('scancel', job.remoteJobId);
    await is(job, 'ended');
    expect(await end(job)).toMatchObject({ condition: 'SCHEDULER_CANCELLED' });
  });

  it('that was preempted says so', async () => {
    const job = await submitted(SLEEP, { processorsPerNode: 15 });
    await is(job, 'running');
    const urgent = await submitted(SLEEP, { processorsPerNode: 15, queue: { name: 'urgent' } });
    await is(job, 'ended');
    expect(await end(job)).toMatchObject({ condition: 'SCHEDULER_STOPPED' });
    expect(await slurmOver(here()).kill(urgent)).toBe('ended');
  });

  it('that is forgotten by the controller is told from what the wrapper wrote', async () => {
    const job = await submitted('#!/bin/sh\nexit 5\n');
    await expect
      .poll(() => slurm.command('squeue', '--noheader', '--states=all', `--name=muster-${job.uuid}`), {
        timeout: 50_000,
      })
      .toBe('');
    expect(await end(job)).toEqual({ state: 'ended', code: 5, condition: null, detail: '' });
  });

  it('whose program was killed without a word is not taken for one that ended by itself', async () => {
    const job = await submitted('#!/bin/sh\nkill -9 $PPID\n');
    await is(job, 'ended');
    expect(await end(job)).toMatchObject({ code: null, condition: 'SCHEDULER_TERMINATED' });
  });

  it.each([
    ['a partition that is not there', { queue: { name: 'none' } }, 'artition'],
    ['more memory than any node has', { memoryMb: 99_000_000 }, 'configuration is not available'],
  ])('for %s is refused for good', async (_, more, text) => {
    await expect(submitted(SLEEP, more)).rejects.toMatchObject({
      name: 'Failed',
      condition: 'JOB_LAUNCH_FAILURE',
      message: expect.stringContaining(text),
    });
  });

  it('while the controller is away waits, and is found when it is back', async () => {
    const job = await submitted('#!/bin/sh\nuntil test -f go; do sleep 0.2; done\n');
    await is(job, 'running');
    await slurm.stopController();
    const environment = { ...slurm.environment };
    const busy = { name: 'SystemTrouble', kind: 'SCHEDULER_BUSY' };
    await expect(slurmOver(here(environment)).look(job)).rejects.toMatchObject(busy);
    await expect(submitted(SLEEP)).rejects.toMatchObject(busy);
    await slurm.startController();
    await is(job, 'running');
    await writeFile(join(job.workDirectory, 'go'), '');
    await is(job, 'ended');
    expect(await end(job)).toMatchObject({ code: 0 });
  });

  it('that took longer than it may says so', { timeout: 150_000 }, async () => {
    expect(await tooLong).toMatchObject({ state: 'ended', code: 143, condition: 'SCHEDULER_TIMEOUT' });
  });

  it('whose node failed says so', async () => {
    const job = await submitted(SLEEP, { processorsPerNode: 1 });
    await is(job, 'running');
    await slurm.command('scontrol', 'update', `nodename=${slurm.node}`, 'state=down', 'reason=test');
    await is(job, 'ended');
    expect(await end(job)).toMatchObject({
      condition: 'SCHEDULER_TERMINATED',
      detail: expect.stringContaining('NODE_FAIL'),
    });
  });
});

describe('what the commands of slurm say', () => {
  let scratch: string;
  let made = 0;
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'muster-fake-slurm-'));
  });
  afterAll(() => rm(scratch, { recursive: true, maxRetries: 5 }));

  /** Commands of these names and texts in place of the real ones. */
  async function fake(commands: Record<string, string>): Promise<SlurmScheduler> {
    const directory = join(scratch, `bin${made++}`);
    await mkdir(directory);
    const all = { squeue: '', sacct: 'echo "Slurm accounting storage is disabled" >&2; exit 1', ...commands };
    for (const [name, text] of Object.entries(all)) {
      await writeFile(join(directory, name), `#!/bin/sh\necho "${name} $*" >>'${directory}/calls'\n${text}\n`);
      await chmod(join(directory, name), 0o755);
    }
    return slurmOver(here({ PATH: `${directory}:/usr/bin:/bin` }), hurried(20));
  }
  const calls = async (name: string): Promise<string[]> =>
    (await readFile(join(scratch, `bin${made - 1}`, 'calls'), 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith(name));
  const job = async (remoteJobId = '7'): Promise<RemoteJob & Launch> => ({
    ...(await launchOf(scratch, '')),
    remoteJobId,
  });

  it.each([
    ['PENDING', 'queued', null],
    ['CONFIGURING', 'queued', null],
    ['REQUEUED', 'queued', null],
    ['REQUEUE_FED', 'queued', null],
    ['REQUEUE_HOLD', 'queued', null],
    ['RESV_DEL_HOLD', 'queued', null],
    ['SPECIAL_EXIT', 'queued', null],
    ['POWER_UP_NODE', 'queued', null],
    ['RUNNING', 'running', null],
    ['SUSPENDED', 'running', null],
    ['STOPPED', 'running', null],
    ['SIGNALING', 'running', null],
    ['RESIZING', 'running', null],
    ['STAGE_OUT', 'running', null],
    ['COMPLETING', 'running', null],
    ['COMPLETED', 'ended', null],
    ['FAILED', 'ended', null],
    ['OUT_OF_MEMORY', 'ended', 'SCHEDULER_OUT_OF_MEMORY'],
    ['TIMEOUT', 'ended', 'SCHEDULER_TIMEOUT'],
    ['DEADLINE', 'ended', 'SCHEDULER_DEADLINE'],
    ['CANCELLED', 'ended', 'SCHEDULER_CANCELLED'],
    ['PREEMPTED', 'ended', 'SCHEDULER_STOPPED'],
    ['REVOKED', 'ended', 'SCHEDULER_STOPPED'],
    ['NODE_FAIL', 'ended', 'SCHEDULER_TERMINATED'],
    ['LAUNCH_FAILED', 'ended', 'SCHEDULER_TERMINATED'],
    ['RECONFIG_FAIL', 'ended', 'SCHEDULER_TERMINATED'],
    ['BOOT_FAIL', 'ended', 'SCHEDULER_TERMINATED'],
  ])('%s is %s (%s), from the controller and from accounting', async (word, state, condition) => {
    const seven = await job();
    await writeFile(join(seven.workDirectory, '.muster-exit'), '9\n');
    const expected =
      state === 'ended' ? { state, code: 9, condition, detail: expect.stringContaining(word) } : { state };
    const controller = await fake({ squeue: `echo 'muster:7|${word}|None'` });
    expect(await controller.look(seven)).toEqual(expected);
    const accounting = await fake({ sacct: `echo '7|${word === 'CANCELLED' ? 'CANCELLED by 1000' : word}|None'` });
    expect(await accounting.look(seven)).toEqual(expected);
  });

  it('a state that nobody knows, and rubbish, are a trouble that shows it', async () => {
    const trouble = (text: string) => ({
      name: 'SystemTrouble',
      kind: 'TRANSMISSION_FAILURE',
      message: expect.stringContaining(text),
    });
    const unknown = await fake({ squeue: "echo 'muster:7|PONDERING|None'" });
    await expect(unknown.look(await job())).rejects.toMatchObject(trouble('PONDERING'));
    const rubbish = await fake({ squeue: "echo '<html>Bad'; echo Gateway", scancel: 'exit 0' });
    await expect(rubbish.look(await job())).rejects.toMatchObject(trouble('<html>Bad Gateway'));
    await expect(rubbish.find(await job())).rejects.toMatchObject(trouble('<html>Bad Gateway'));
    await expect(rubbish.kill(await job())).rejects.toMatchObject(trouble('<html>Bad Gateway'));
    const failing = await fake({ squeue: 'echo "squeue: dead" >&2; exit 1' });
    await expect(failing.look(await job())).rejects.toMatchObject(trouble('squeue: dead'));
  });

  it('an answer that is no id fails the job, unless it is found by its name', async () => {
    const lost = await fake({ sbatch: 'cat >/dev/null; echo hello' });
    await expect(lost.submit(await job())).rejects.toMatchObject({ condition: 'JOB_LAUNCH_FAILURE' });
    const found = await fake({ sbatch: 'cat >/dev/null; echo hello', squeue: "echo 'muster:12|PENDING|None'" });
    expect(await found.submit(await job())).toEqual({ remoteJobId: '12', schedulerJobId: '12' });
    expect((await calls('squeue'))[0]).toContain('--name=muster-');
    const cluster = await fake({ sbatch: 'cat >/dev/null; echo noise; echo "12;cluster1"' });
    expect(await cluster.submit(await job())).toMatchObject({ remoteJobId: '12' });
  });

  it.each([
    ['sbatch: error: Batch job submission failed: Socket timed out on send/recv operation', 'SCHEDULER_BUSY'],
    ['sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying', 'SCHEDULER_BUSY'],
    ['sbatch: error: QOSMaxSubmitJobPerUserLimit', 'SCHEDULER_BUSY'],
    ['sbatch: error: fork: Resource temporarily unavailable', 'SCHEDULER_BUSY'],
    ['slurmstepd: write: No space left on device', 'DISK_FULL'],
  ])('%s is %s', async (text, kind) => {
    const scheduler = await fake({ sbatch: `cat >/dev/null; echo '${text}' >&2; exit 1` });
    await expect(scheduler.submit(await job())).rejects.toMatchObject({ name: 'SystemTrouble', kind });
  });

  it('a system without slurm says that it has none', async () => {
    const directory = join(scratch, 'none');
    await mkdir(directory);
    await symlink('/usr/bin/env', join(directory, 'env'));
    await expect(slurmOver(here({ PATH: directory })).submit(await job())).rejects.toMatchObject({
      condition: 'JOB_LAUNCH_FAILURE',
      message: expect.stringContaining('sbatch'),
    });
  });

  it('one question is asked for all who ask at about the same time', async () => {
    const scheduler = await fake({
      squeue:
        "echo \"$*\" | grep -o 'jobs=[0-9,]*' | tr -c '0-9\\n' '\\n' | sed -n 's/^[0-9][0-9]*$/muster:&|RUNNING|None/p'",
    });
    const jobs = await Promise.all(Array.from({ length: 50 }, (_, at) => job(String(at + 1))));
    await scheduler.look(await job('99'));
    const looks = await Promise.all(jobs.map((one) => scheduler.look(one)));
    expect(looks).toEqual(jobs.map(() => ({ state: 'running' })));
    expect(await calls('squeue')).toHaveLength(2);
  });

  it('nobody knows it for a while after it was submitted', async () => {
    const scheduler = await fake({
      squeue: `test "$(grep -c squeue "\${0%/*}/calls")" -lt 3 || echo 'muster:7|PENDING|None'`,
    });
    expect(await scheduler.look(await job())).toEqual({ state: 'queued' });
    expect(await calls('squeue')).toHaveLength(3);
  });

  it('when nobody ever knows it, it is lost', async () => {
    const scheduler = await fake({ squeue: 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1' });
    expect(await scheduler.look(await job())).toEqual({ state: 'lost' });
    expect(await calls('squeue')).toHaveLength(15);
  });
});
