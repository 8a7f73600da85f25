import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { commandLine } from '@muster/platform/ssh';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SYSTEM_LIMITS } from '../../src/systems/limits.js';
import { localConnection } from '../../src/systems/local/local.js';
import { ForkScheduler } from '../../src/systems/schedulers/fork.js';
import { LOOK } from '../../src/systems/schedulers/fork-scripts.js';
import type { Connection, RemoteJob } from '../../src/systems/types.js';
import { WRAPPER_FILES } from '../../src/systems/wrapper.js';
import { launchOf, schedulerConformance } from './support/scheduler-conformance.js';

const forkHere = (connection: Connection = localConnection({ name: 'here', root: '/' }, systemClock)): ForkScheduler =>
  new ForkScheduler('here', connection, systemClock);

/** Before those of the jobs: the shell, its flag, the text and its name. */
const LOOK_WORDS = 4;

schedulerConformance('fork on this machine', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'muster-fork-'));
  return {
    scratch,
    scheduler: forkHere(),
    other: forkHere(),
    patienceMs: 60_000,
    close: () => rm(scratch, { recursive: true }),
  };
});

describe('a process of a job', () => {
  let scratch: string;
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'muster-fork-'));
  });
  afterAll(() => rm(scratch, { recursive: true }));

  async function running(program: string): Promise<RemoteJob> {
    const launch = await launchOf(scratch, program);
    return { ...launch, ...(await forkHere().submit(launch)) };
  }

  it('is not taken for another that has its pid', async () => {
    const job = await running('#!/bin/sh\nexec sleep 1000\n');
    const [pid, ticks, boot] = job.remoteJobId.split(':');
    const scheduler = forkHere();
    const earlier = `${pid}:${Number(ticks) - 1}:${boot}`;
    const otherBoot = `${pid}:${ticks}:00000000-0000-0000-0000-000000000000`;
    for (const remoteJobId of [earlier, otherBoot]) {
      expect(await scheduler.look({ ...job, remoteJobId })).toEqual({ state: 'lost' });
    }
    // A job whose wrapper had that pid at another time: this one is not its, and is left alone.
    const mine = await launchOf(scratch, '');
    const started = join(mine.workDirectory, WRAPPER_FILES.started);
    await mkdir(started);
    for (const remoteJobId of [earlier, otherBoot]) {
      await writeFile(join(started, 'by'), `${remoteJobId}\n`);
      expect(await scheduler.kill({ ...mine, remoteJobId })).toBe('ended');
      expect(await scheduler.look(job)).toEqual({ state: 'running' });
    }
    expect(await scheduler.kill(job)).toBe('ended');
  });

  it('is killed though it left its session', async () => {
    const job = await running(
      '#!/bin/sh\nsetsid sh -c \'trap "" TERM; while :; do date +%N >alive; sleep 0.05; done\' &\nsleep 1000\n',
    );
    const alive = (): Promise<string> => readFile(join(job.workDirectory, 'alive'), 'utf8');
    await expect.poll(alive).not.toBe('');
    expect(await forkHere().kill(job)).toBe('ended');
    const last = await alive();
    expect(await forkHere().kill(job)).toBe('ended');
    expect(await alive()).toBe(last);
  });

  it('is lost when its wrapper was killed', async () => {
    const job = await running('#!/bin/sh\nkill -9 $PPID\n');
    await expect.poll(() => forkHere().look(job)).toEqual({ state: 'lost' });
  });

  it('tells of its end where the directory can be watched', async () => {
    const job = await running('#!/bin/sh\nuntil test -f go; do sleep 0.1; done\n');
    const scheduler = forkHere();
    const told = new Promise<void>((resolve) => {
      const stop = scheduler.follow?.(job, async () => {
        if ((await scheduler.look(job)).state !== 'ended') return;
        stop?.();
        resolve();
      });
    });
    await writeFile(join(job.workDirectory, 'go'), '');
    await told;
  });

  it('asks once for all who ask at the same time', async () => {
    const here = localConnection({ name: 'here', root: '/' }, systemClock);
    const commands: unknown[] = [];
    const counted: Connection = {
      ...here,
      exec: (...asked) => {
        commands.push(asked);
        return here.exec(...asked);
      },
    };
    const scheduler = forkHere(counted);
    const jobs = await Promise.all(Array.from({ length: 30 }, () => launchOf(scratch, '')));
    const looks = jobs.map((job) => scheduler.look({ ...job, remoteJobId: '1:1:0' }));
    expect(await Promise.all(looks)).toEqual(jobs.map(() => ({ state: 'lost' })));
    // A line holds the words of many, not of all.
    expect(commands.length).toBeLessThanOrEqual(2);
  });

  it('asks of as many at once as a line holds, however they are called', async () => {
    const lines: string[] = [];
    const answering: Connection = {
      ...localConnection({ name: 'here', root: '/' }, systemClock),
      exec: async (argv) => {
        lines.push(commandLine(argv));
        const jobs = (argv.length - LOOK_WORDS) / 4;
        return { code: 0, signal: null, stdout: 'muster:running\n'.repeat(jobs), stderr: '' };
      },
    };
    const scheduler = forkHere(answering);
    const many = Array.from({ length: 400 }, (_, n) => ({
      ...{ uuid: `${n}-007`, remoteJobId: `${n + 1}:1:0` },
      workDirectory: `/scratch/${n % 2 === 0 ? "it's ".repeat(20) : 'plain'.repeat(20)}/${n}`,
    }));
    const states = await Promise.all(many.map((job) => scheduler.look(job)));
    expect(states).toEqual(many.map(() => ({ state: 'running' })));
    const longest = Math.max(...lines.map((line) => line.length));
    expect(longest).toBeLessThanOrEqual(SYSTEM_LIMITS.line + commandLine([LOOK, 'muster']).length + 20);
    expect(longest).toBeGreaterThan(SYSTEM_LIMITS.line / 2);
    // The first asks alone.
    expect(lines.length).toBeLessThanOrEqual(3);
  });

  it('that answers what nobody understands is a trouble that says so', async () => {
    const rubbish: Connection = {
      ...localConnection({ name: 'here', root: '/' }, systemClock),
      exec: async () => ({ code: 0, signal: null, stdout: 'Welcome to\nmuster:perhaps\n', stderr: '' }),
    };
    const job = { ...(await launchOf(scratch, '')), remoteJobId: '1:1:0' };
    const trouble = {
      name: 'SystemTrouble',
      kind: 'TRANSMISSION_FAILURE',
      message: expect.stringContaining('muster:perhaps'),
    };
    await expect(forkHere(rubbish).look(job)).rejects.toMatchObject(trouble);
    await expect(forkHere(rubbish).submit(job)).rejects.toMatchObject(trouble);
    await expect(forkHere(rubbish).kill(job)).rejects.toMatchObject(trouble);
  });

  it('that cannot be started fails, and says why', async () => {
    const launch = await launchOf(scratch, '');
    await expect(forkHere().submit({ ...launch, stdout: 'none/out' })).rejects.toMatchObject({
      name: 'Failed',
      condition: 'JOB_LAUNCH_FAILURE',
      message: expect.stringContaining('none/out'),
    });
  });
});
