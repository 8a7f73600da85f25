import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ManualClock, systemClock } from '@muster/base';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findAccount } from '../../src/execution/account.js';
import { type CommandGroups, openCommandGroups } from '../../src/execution/command-groups.js';
import { Forker } from '../../src/execution/forker.js';
import { type ForkerEvent, ForkerReader, startFrame } from '../../src/execution/forker-frames.js';
import { forkerProgram } from '../../src/execution/forker-process.js';
import { type Exit, type Launch, LaunchError } from '../../src/execution/runner.js';
import { systemProcesses } from '../../src/execution/system-processes.js';
import { PIPE_GRACE_MS } from '../../src/limits.js';
import { scratch, silent } from '../support/agent.js';

let place: Awaited<ReturnType<typeof scratch>>;
beforeEach(async () => {
  place = await scratch();
  await chmod(place.dir, 0o755);
});
afterEach(() => place.dispose());

const forker = new Forker();

interface Wrote {
  stdout: string;
  stderr: string;
  third: string;
}

async function start(
  by: Forker | null,
  what: Partial<Launch>,
  clock: typeof systemClock | ManualClock = systemClock,
  groups: CommandGroups | null = null,
) {
  const run = randomUUID();
  const wrote: Wrote = { stdout: '', stderr: '', third: '' };
  const command = await systemProcesses(groups, by).launch(
    {
      run,
      file: '/bin/sh',
      args: [],
      cwd: undefined,
      account: null,
      capture: true,
      ...what,
      env: { PATH: '/usr/bin:/bin', ...what.env, MUSTER_RUN: run },
      ...(what.third !== undefined && {
        third: (data: Uint8Array) => {
          wrote.third += Buffer.from(data).toString();
        },
      }),
    },
    clock,
    (stream, data) => {
      // Much is looked at elsewhere.
      if (data.length < 10_000) wrote[stream] += Buffer.from(data).toString('latin1');
    },
  );
  return { ...command, run, wrote };
}

async function run(by: Forker | null, what: Partial<Launch>): Promise<Wrote & Exit> {
  const { ended, wrote } = await start(by, what);
  const exit = await ended;
  return { ...exit, ...wrote };
}

const sh = (script: string, ...args: string[]) => ({ args: ['-c', script, 'sh', ...args] });
const refusal = (by: Forker | null, what: Partial<Launch>) =>
  run(by, what).then(
    () => null,
    (error: unknown) => error,
  );

async function parentOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  const parent = / \(.*\) \S (\d+)/s.exec(` ${stat}`)?.[1];
  return readFile(`/proc/${parent}/cmdline`, 'latin1');
}

const STARTERS = [
  ['by a forker', forker],
  ['by Node', null],
] as const;

describe.each(STARTERS)('a command started %s', (_, by) => {
  it('has the arguments, the environment and the directory it was given, and nothing else', async () => {
    const env = { PATH: '/usr/bin:/bin', EMPTY: '', LINES: 'a\nb', BYTES: 'grün' };
    const script = 'printf "%s|" "$@"; pwd; env -0 | sort -z | tr "\\0" ";"';
    const { stdout } = await run(by, { ...sh(script, 'a b', '', '*', 'ü\n'), env, cwd: place.dir });
    const text = Buffer.from(stdout, 'latin1').toString();
    expect(text.replace(/MUSTER_RUN=[^;]*;/, '')).toBe(
      `a b||*|ü\n|${place.dir}\nBYTES=grün;EMPTY=;LINES=a\nb;PATH=/usr/bin:/bin;PWD=${place.dir};`,
    );
  });

  it('has nothing of the environment of the one before it', async () => {
    await run(by, { ...sh('true'), env: { FORMER: 'one' } });
    const { stdout } = await run(by, { file: 'env', args: [], env: { LATTER: 'two' } });
    expect(stdout).toContain('LATTER=two');
    expect(stdout).not.toContain('FORMER');
  });

  it('is started by the one that is meant', async () => {
    const { pid, ended } = await start(by, sh('sleep 0.2'));
    expect((await parentOf(pid)).startsWith('muster-forker')).toBe(by !== null);
    await ended;
  });
  it('leads a session and a process group of its own', async () => {
    const { pid, ended, wrote } = await start(by, sh('exec cat /proc/self/stat'));
    await ended;
    expect(wrote.stdout.split(' ').slice(4, 6).map(Number)).toEqual([pid, pid]);
  });
  it('has three descriptors and no other, and a fourth when that is read', async () => {
    // The tests may have been started with more of them, which have high numbers.
    const list = 'for n in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && printf $n; done; exit 0';
    expect((await run(by, sh(list))).stdout).toBe('012');
    const { stdout, third } = await run(by, { ...sh(`echo three >&3; ${list}`), third: () => undefined });
    expect(stdout).toBe('0123');
    expect(third).toBe('three\n');
  });
  it('takes signals as a program does that was just started', async () => {
    const { stdout } = await run(by, { file: '/bin/cat', args: ['/proc/self/status'] });
    expect(stdout.match(/^Sig(Blk|Ign|Cgt):\t0+$/gm)).toHaveLength(3);
  });
  it('reads nothing, or the input it was given from its beginning', async () => {
    expect((await run(by, sh('cat; echo end'))).stdout).toBe('end\n');
    const file = join(place.dir, 'input');
    await writeFile(file, 'from a file');
    const input = openSync(file, 'r');
    try {
      const { ended, wrote } = await start(by, { ...sh('cat'), input });
      await ended;
      expect(wrote.stdout).toBe('from a file');
    } finally {
      closeSync(input);
    }
  });
  it('writes to nobody when nobody captures it', async () => {
    expect(
      await run(by, {
        ...sh('echo out; echo err >&2; to=$(readlink /proc/$$/fd/1 /proc/$$/fd/2); echo "$to" >&3'),
        capture: false,
        third: () => undefined,
      }),
    ).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: '',
      third: '/dev/null\n/dev/null\n',
    });
  });
  it('ends with its exit status, or the signal that killed it, after all it wrote', async () => {
    expect(await run(by, sh('echo out; echo err >&2; exit 7'))).toEqual({
      exitCode: 7,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
      third: '',
    });
    expect(await run(by, sh('kill -TERM $$'))).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
    expect(await run(by, sh('kill -SEGV $$'))).toMatchObject({ exitCode: null, signal: 'SIGSEGV' });
  });
  it('is found in the PATH that it is given', async () => {
    const program = join(place.dir, 'found');
    // Node looks for what the forker has not found, so who has found it is a part of this.
    await writeFile(program, '#!/bin/sh\necho "found by $(cat /proc/$PPID/comm)"\n', { mode: 0o755 });
    const { stdout } = await run(by, { file: 'found', env: { PATH: `/nonesuch:${place.dir}:/bin` } });
    expect(stdout).toMatch(by === null ? /^found by (?!muster-forker)/ : /^found by muster-forker\n$/);
    expect(await refusal(by, { file: 'found' })).toMatchObject({ message: 'cannot run found: no such program' });
  });
  it('that cannot be started is refused with the reason', async () => {
    const plain = join(place.dir, 'plain');
    await writeFile(plain, 'no program', { mode: 0o644 });
    const lost = join(place.dir, 'lost');
    await writeFile(lost, '#!/no/such/sh -e\n', { mode: 0o755 });
    const windows = join(place.dir, 'windows');
    await writeFile(windows, '#!/bin/sh\r\necho\r\n', { mode: 0o755 });
    const loop = join(place.dir, 'loop');
    await symlink(loop, loop);
    const cwd = join(place.dir, 'none');
    const told: [Partial<Launch>, string][] = [
      [{ file: '/no/such' }, 'cannot run /no/such: no such program'],
      [{ file: lost }, `cannot run ${lost}: there is no /no/such/sh, its interpreter`],
      [{ file: './lost', cwd: place.dir }, 'cannot run ./lost: there is no /no/such/sh, its interpreter'],
      [{ file: windows }, `cannot run ${windows}: there is no /bin/sh\\r, its interpreter`],
      [{ file: '/bin/true', cwd }, 'cannot run /bin/true: no such program or directory'],
      [{ file: plain }, `cannot run ${plain}: permission denied`],
      [{ file: place.dir }, `cannot run ${place.dir}: permission denied`],
      [
        { file: '/bin/true', args: ['x'.repeat(200_000)] },
        'cannot run /bin/true: arguments and environment are too long',
      ],
      [{ file: loop }, `cannot run ${loop}: spawn ELOOP`],
    ];
    for (const [what, message] of told) {
      const error = await refusal(by, what);
      expect(error).toBeInstanceOf(LaunchError);
      expect(error).toMatchObject({ message });
    }
  });
  it('with a zero byte anywhere is refused', async () => {
    const ways: Partial<Launch>[] = [
      { file: '/bin/tr\0ue' },
      { file: '/bin/true', args: ['a', 'b\0c'] },
      { file: '/bin/true', env: { A: 'b\0c' } },
      { file: '/bin/true', cwd: '/t\0mp' },
    ];
    for (const what of ways) {
      expect(await refusal(by, what)).toMatchObject({
        message: expect.stringMatching(/must be a string.* without null bytes/),
      });
    }
  });
  it('becomes the user it is given, with the groups of that user and no others', async () => {
    const account = await findAccount('nobody');
    const script = 'grep -E "^(Uid|Gid|Groups):" /proc/self/status';
    const own = { ...sh(script), account };
    const lines = /Uid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\nGroups:\t(65534)? ?\n/;
    expect((await run(by, own)).stdout).toMatch(lines);
    // What is loaded into the command is loaded into no program of root's before.
    expect((await run(by, { ...own, env: { LD_BIND_NOW: '1' } })).stdout).toMatch(lines);
    const closed = join(place.dir, 'closed');
    await mkdir(closed, { mode: 0o700 });
    expect(await run(by, { ...sh('ls'), account, cwd: closed, file: '/bin/sh' })).toMatchObject({ exitCode: 2 });
  });
  it('loses its output after a grace when something it left behind holds that open', async () => {
    const clock = new ManualClock();
    const { ended, wrote, pid } = await start(by, sh('sleep 60 & echo $!'), clock);
    let exit: Exit | null = null;
    void ended.then((how) => {
      exit = how;
    });
    await expect.poll(() => wrote.stdout).toContain('\n');
    // It is told to have ended when it has been waited for.
    await expect.poll(() => readFile(`/proc/${pid}/stat`).catch(() => null)).toBeNull();
    await expect
      .poll(async () => {
        clock.advance(PIPE_GRACE_MS / 4);
        return exit;
      })
      .toEqual({ exitCode: 0, signal: null });
    process.kill(Number(wrote.stdout), 'SIGKILL');
  });
  it('loses no byte of much output, and others are started and end meanwhile', async () => {
    const bytes = 200_000_000;
    let read = 0;
    const launched = await systemProcesses(null, by).launch(
      {
        run: randomUUID(),
        ...sh(`head -c ${bytes} /dev/zero`),
        file: '/bin/sh',
        cwd: undefined,
        env: { PATH: '/usr/bin:/bin' },
        account: null,
        capture: true,
      },
      systemClock,
      (_stream, data) => {
        read += data.length;
      },
    );
    expect((await run(by, sh('echo meanwhile'))).stdout).toBe('meanwhile\n');
    expect(await launched.ended).toEqual({ exitCode: 0, signal: null });
    expect(read).toBe(bytes);
  });
  it('is one of 500 at once', async () => {
    const all = await Promise.all(Array.from({ length: 500 }, (_, n) => run(by, sh(`echo ${n}; exit ${n % 200}`))));
    expect(all.map(({ stdout }) => stdout)).toEqual(all.map((_, n) => `${n}\n`));
    expect(all.map(({ exitCode }) => exitCode)).toEqual(all.map((_, n) => n % 200));
  }, 60_000);
});

describe('a forker', () => {
  it('is begun once, and starts the first command', async () => {
    const own = new Forker();
    expect(own.begin(systemClock)).toBe(true);
    const { pid } = own;
    own.begin(systemClock);
    expect(pid).toEqual(expect.any(Number));
    expect(own.pid).toBe(pid);
    const first = await start(own, sh('sleep 1'));
    expect(await parentOf(first.pid)).toMatch(/^muster-forker/);
    expect(await first.ended).toEqual({ exitCode: 0, signal: null });
  });
  it('that is killed takes its commands with it, and says so of each; the next commands are started without it', async () => {
    const own = new Forker();
    const clock = new ManualClock();
    own.begin(clock);
    const one = await start(own, sh('echo begun; sleep 60 & wait'));
    const other = await start(own, { ...sh('trap "" TERM; echo begun; sleep 60'), env: {} });
    await expect.poll(() => [one.wrote.stdout, other.wrote.stdout]).toEqual(['begun\n', 'begun\n']);
    process.kill(own.pid ?? 0, 'SIGKILL');
    for (const { ended, pid } of [one, other]) {
      expect(await ended).toEqual({
        exitCode: null,
        signal: 'SIGKILL',
        lost: 'the process that starts commands ended (SIGKILL) while it ran',
      });
      const state = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => ') Z');
      expect(state).toMatch(/\) Z/);
    }
    const next = await start(own, sh('sleep 1'), clock);
    expect(own.pid).toBeUndefined();
    expect((await parentOf(next.pid)).startsWith('muster-forker')).toBe(false);
    expect(await next.ended).toEqual({ exitCode: 0, signal: null });
  });
  it('is followed by another after a pause that grows', async () => {
    const own = new Forker();
    const clock = new ManualClock();
    const pauses: number[] = [];
    for (let death = 0; death < 4; death += 1) {
      await (await start(own, sh(':'), clock)).ended;
      const { pid = 0 } = own;
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => own.pid).toBeUndefined();
      let pause = 0;
      for (; own.pid === undefined; pause += 500) {
        await (await start(own, sh(':'), clock)).ended;
        clock.advance(500);
      }
      pauses.push(pause - 500);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000]);
  });
  it('keeps no more output than the agent reads, however much there is', async () => {
    const own = new Forker();
    const clock = new ManualClock();
    const { ended } = await start(own, sh('head -c 300000000 /dev/zero'), clock);
    // The agent is busy with something else.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    expect(await ended).toEqual({ exitCode: 0, signal: null });
    const most = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${own.pid}/status`, 'utf8'))?.[1];
    expect(Number(most)).toBeLessThan(20_000);
  });
  it('ends with the process that it starts commands for, and leaves them running', async () => {
    const child = spawn(forkerProgram() ?? '', [], { stdio: ['pipe', 'pipe', 'ignore'] });
    const exited = once(child, 'exit');
    const reader = new ForkerReader();
    const told: ForkerEvent[] = [];
    child.stdout.on('data', (piece: Buffer) => told.push(...reader.read(piece)));
    const request = {
      run: '',
      file: '/bin/sleep',
      args: ['60'],
      cwd: undefined,
      env: {},
      account: null,
      capture: true,
    };
    child.stdin.write(startFrame(7, request, { group: null, ids: {} }));
    await expect.poll(() => told).toHaveLength(2);
    expect(told).toMatchObject([{ type: 'hello' }, { type: 'born', id: 7, pid: expect.any(Number) }]);
    child.stdin.end();
    expect(await exited).toEqual([0, null]);
    const [, born] = told;
    if (born?.type === 'born') process.kill(born.pid, 'SIGKILL');
  });
});

describe('a command with a control group', () => {
  it('is born there, and neither the agent nor the forker ever is', async () => {
    const groups = await openCommandGroups({ dataDir: place.dir, limits: undefined, logger: silent }).catch(String);
    if (typeof groups === 'string') return expect(groups).toMatch(/cgroup|control group|move processes/);
    const moved = vi.spyOn(groups, 'bear');
    const { pid, ended, wrote, run } = await start(forker, sh('cat /proc/self/cgroup; sleep 0.2'), systemClock, groups);
    await expect.poll(() => wrote.stdout).toContain(basename(groups.of(run).path));
    expect(await groups.of(run).processes()).toContain(pid);
    expect(await groups.of(run).processes()).not.toContain(forker.pid);
    expect((await parentOf(pid)).startsWith('muster-forker')).toBe(true);
    await ended;
    expect(moved).not.toHaveBeenCalled();
    await expect.poll(() => groups.of(run).populated()).toBe(false);
  });
  it('that the forker cannot be put into is started by Node', async () => {
    const groups = await openCommandGroups({ dataDir: place.dir, limits: undefined, logger: silent }).catch(String);
    if (typeof groups === 'string') return expect(groups).toMatch(/cgroup|control group|move processes/);
    const none = groups.base.child(`none-${randomUUID()}`);
    const request = {
      run: randomUUID(),
      ...sh(':'),
      file: '/bin/sh',
      cwd: undefined,
      env: {},
      account: null,
      capture: true,
    };
    expect(await forker.launch(request, systemClock, () => undefined, none)).toBeNull();
  });
});
