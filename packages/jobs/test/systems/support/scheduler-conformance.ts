import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Launch, RemoteJob, RemoteState, Scheduler } from '../../../src/systems/types.js';
import { WRAPPER, WRAPPER_FILES } from '../../../src/systems/wrapper.js';

export interface OpenedScheduler {
  /** Two, as two workers have them. */
  readonly scheduler: Scheduler;
  readonly other: Scheduler;
  readonly scratch: string;
  /** How long a program may take to start, in milliseconds. */
  readonly patienceMs: number;
  close(): Promise<void>;
}

/** A work directory with this program in it, as the phases leave it. */
export async function launchOf(scratch: string, program: string, more: Partial<Launch> = {}): Promise<Launch> {
  const uuid = `${randomUUID()}-007`;
  const workDirectory = join(scratch, `it's job "${uuid}" 100%j`);
  await mkdir(workDirectory, { recursive: true });
  const script = join(workDirectory, WRAPPER_FILES.wrapper);
  await writeFile(script, WRAPPER);
  await writeFile(join(workDirectory, WRAPPER_FILES.program), program);
  await chmod(join(workDirectory, WRAPPER_FILES.program), 0o700);
  return {
    uuid,
    name: 'a job',
    workDirectory,
    script,
    stdout: "the job's.out",
    stderr: '%x.err',
    queue: null,
    nodeCount: 1,
    processorsPerNode: 1,
    memoryMb: 0,
    maxSeconds: 600,
    ...more,
  };
}

/** What every scheduler does, with real programs. */
export function schedulerConformance(name: string, open: () => Promise<OpenedScheduler>): void {
  describe(`programs of ${name}`, () => {
    let opened: OpenedScheduler;
    let scheduler: Scheduler;
    beforeAll(async () => {
      opened = await open();
      scheduler = opened.scheduler;
    });
    afterAll(() => opened.close());

    const submitted = async (program: string): Promise<{ launch: Launch; job: RemoteJob }> => {
      const launch = await launchOf(opened.scratch, program);
      const { uuid, workDirectory } = launch;
      return { launch, job: { uuid, workDirectory, ...(await scheduler.submit(launch)) } };
    };
    const becomes = async (job: RemoteJob, state: RemoteState['state']): Promise<RemoteState> => {
      let seen: RemoteState | undefined;
      await expect
        .poll(
          async () => {
            seen = await scheduler.look(job);
            return seen.state;
          },
          { timeout: opened.patienceMs, interval: 100 },
        )
        .toBe(state);
      if (seen === undefined) throw new Error('it was never looked at');
      return seen;
    };
    const count = (launch: Launch): Promise<string> => readFile(join(launch.workDirectory, 'count'), 'utf8');

    it('a program runs, its outputs are kept, and its end is told', async () => {
      const { launch, job } = await submitted('#!/bin/sh\necho out\necho err >&2\nexit 7\n');
      expect(await becomes(job, 'ended')).toMatchObject({ code: 7, condition: null });
      expect(await readFile(join(launch.workDirectory, launch.stdout), 'utf8')).toBe('out\n');
      expect(await readFile(join(launch.workDirectory, launch.stderr), 'utf8')).toBe('err\n');
    });

    it('one that succeeds has the code 0', async () => {
      const { job } = await submitted('#!/bin/sh\n:\n');
      expect(await becomes(job, 'ended')).toMatchObject({ code: 0, condition: null });
    });

    it('one that runs is running, until its end', async () => {
      const { launch, job } = await submitted('#!/bin/sh\nuntil test -f go; do sleep 0.1; done\n');
      await becomes(job, 'running');
      await writeFile(join(launch.workDirectory, 'go'), '');
      await becomes(job, 'ended');
    });

    it('a submission whose answer was lost is found, and a second one runs nothing', async () => {
      const { launch, job } = await submitted('#!/bin/sh\necho once >>count\nuntil test -f go; do sleep 0.1; done\n');
      await becomes(job, 'running');
      // A scheduler may say so before the program has begun.
      await expect.poll(() => count(launch).catch(() => ''), { timeout: opened.patienceMs }).toBe('once\n');
      expect(await opened.other.find(launch)).toMatchObject({ remoteJobId: job.remoteJobId });
      const again = { ...job, ...(await opened.other.submit(launch)) };
      await becomes(job, 'running');
      await writeFile(join(launch.workDirectory, 'go'), '');
      expect(await becomes(job, 'ended')).toMatchObject({ code: 0 });
      expect(await becomes(again, 'ended')).toMatchObject({ code: 0 });
      expect(await count(launch)).toBe('once\n');
      expect(await opened.other.find(launch)).toMatchObject({ remoteJobId: job.remoteJobId });
    });

    it('nothing is found of what was never submitted', async () => {
      expect(await scheduler.find(await launchOf(opened.scratch, ''))).toBeNull();
    });

    it('a program that is killed ends with its children, and stays ended', async () => {
      const { launch, job } = await submitted(
        '#!/bin/sh\nsh -c \'trap "" TERM; while :; do date +%s%N >alive; sleep 0.1; done\' &\necho up >up\nwait\n',
      );
      const alive = (): Promise<string> => readFile(join(launch.workDirectory, 'alive'), 'utf8');
      await expect.poll(alive, { timeout: opened.patienceMs }).not.toBe('');
      expect(await scheduler.kill(job)).toBe('ended');
      const last = await alive();
      expect((await scheduler.look(job)).state).not.toBe('running');
      expect(await alive()).toBe(last);
      expect(await scheduler.kill(job)).toBe('ended');
    });

    it('one that nobody knows to be submitted is killed too', async () => {
      const { job } = await submitted('#!/bin/sh\nexec sleep 1000\n');
      await becomes(job, 'running');
      expect(await opened.other.kill({ ...job, remoteJobId: null })).toBe('ended');
      // A wrapper that had not begun its program by then never does; its own end may be told a moment later.
      await becomes(job, 'ended');
    });

    it('what was killed before it was submitted never starts', async () => {
      const launch = await launchOf(opened.scratch, '#!/bin/sh\necho once >>count\n');
      expect(await scheduler.kill({ ...launch, remoteJobId: null })).toBe('ended');
      const late = await scheduler.submit(launch).catch((error) => error);
      if (!(late instanceof Error)) await becomes({ ...launch, ...late }, 'ended');
      await expect(count(launch)).rejects.toThrow('ENOENT');
    });

    it('what never had a directory is ended', async () => {
      const gone = join(opened.scratch, 'none');
      expect(await scheduler.kill({ uuid: randomUUID(), workDirectory: gone, remoteJobId: null })).toBe('ended');
    });

    it('many jobs are looked at together', async () => {
      // A queue of tasks gives no more to a node where all fail at once, one after the other.
      const codes = Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? 0 : at));
      const jobs = await Promise.all(codes.map((code) => submitted(`#!/bin/sh\nexit ${code}\n`)));
      const ended = await Promise.all(jobs.map(({ job }) => becomes(job, 'ended')));
      expect(ended.map((state) => state.state === 'ended' && state.code)).toEqual(codes);
    });
  });
}
