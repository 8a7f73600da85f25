import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { commandLine } from '@muster/platform/ssh';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STOP } from '../../src/systems/schedulers/stop.js';
import { environmentText, WRAPPER, WRAPPER_FILES } from '../../src/systems/wrapper.js';

const run = promisify(execFile);
let scratch: string;
let made = 0;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'muster-wrapper-'));
});
afterAll(() => rm(scratch, { recursive: true }));

/** A work directory with an awkward name, and this program. */
async function workDirectory(program: string, environment?: string): Promise<string> {
  const directory = join(scratch, `a 'b' "c"\n$(d) ${made++}`);
  await mkdir(directory);
  await writeFile(join(directory, WRAPPER_FILES.wrapper), WRAPPER);
  await writeFile(join(directory, WRAPPER_FILES.program), program);
  await chmod(join(directory, WRAPPER_FILES.program), 0o700);
  if (environment !== undefined) await writeFile(join(directory, WRAPPER_FILES.environment), environment);
  return directory;
}

/** In a group of its own, as the schedulers start it. */
function start(shell: string, directory: string, mode = 'batch', env: NodeJS.ProcessEnv = {}) {
  return spawn(shell, [join(directory, WRAPPER_FILES.wrapper), 'job-1', mode], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, SLURM_JOB_ID: '42', ...env },
  });
}

async function outcome(child: ReturnType<typeof start>) {
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (piece) => (stdout += piece));
  child.stderr.on('data', (piece) => (stderr += piece));
  const [code, signal] = await once(child, 'close');
  return { code, signal, stdout, stderr };
}

const exitOf = (directory: string): Promise<string> => readFile(join(directory, WRAPPER_FILES.exit), 'utf8');
const startedBy = (directory: string): Promise<string> =>
  readFile(join(directory, WRAPPER_FILES.started, 'by'), 'utf8');

describe.each(['dash', 'bash'])('the wrapper in %s', (shell) => {
  it('keeps the exit code, and who started it', async () => {
    const directory = await workDirectory('#!/bin/sh\necho "$MUSTER_JOB in $PWD"\nexit 7\n');
    const { code, stdout } = await outcome(start(shell, directory));
    expect(code).toBe(7);
    expect(stdout).toBe(`job-1 in ${directory}\n`);
    expect(await exitOf(directory)).toBe('7\n');
    expect(await startedBy(directory)).toBe('42\n');
  });

  it('a second start does nothing, and does not touch what the first left', async () => {
    const directory = await workDirectory('#!/bin/sh\necho once >>count\n');
    expect((await outcome(start(shell, directory))).code).toBe(0);
    const second = await outcome(start(shell, directory, 'batch', { SLURM_JOB_ID: '43' }));
    expect(second).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await readFile(join(directory, 'count'), 'utf8')).toBe('once\n');
    expect(await startedBy(directory)).toBe('42\n');
  });

  it('of ten that start at once, one runs the program', async () => {
    const directory = await workDirectory('#!/bin/sh\necho once >>count\nsleep 0.1\n');
    await Promise.all(Array.from({ length: 10 }, () => outcome(start(shell, directory))));
    expect(await readFile(join(directory, 'count'), 'utf8')).toBe('once\n');
  });

  it.each(['before', 'after'])(
    'stopped right %s it has written who it is, it never begins the program',
    async (when) => {
      const directory = await workDirectory('#!/bin/sh\necho ran >>count\n');
      const programs = await mkdtemp(join(scratch, 'programs-'));
      const stop = `/bin/sh -c '${STOP}' muster .`;
      const write = '/bin/mv "$@"';
      const lines = when === 'before' ? [stop, write] : [write, stop];
      await writeFile(join(programs, 'mv'), `#!/bin/sh\n${lines.join('\n')}\n`, { mode: 0o700 });
      const ended = await outcome(start(shell, directory, 'batch', { PATH: `${programs}:${process.env.PATH}` }));
      expect(ended).toMatchObject({ code: 0, stdout: '', stderr: '' });
      expect(await startedBy(directory)).toBe('42\n');
      await expect(readFile(join(directory, 'count'))).rejects.toThrow('ENOENT');
      await expect(exitOf(directory)).rejects.toThrow('ENOENT');
    },
  );

  it('stopped when it has begun, it goes on, and has said who it is', async () => {
    const directory = await workDirectory(`#!/bin/sh\n/bin/sh -c '${STOP}' muster . && cat .muster-started/by\n`);
    expect(await outcome(start(shell, directory))).toMatchObject({ code: 0, stdout: '42\n' });
  });

  it('a signal to the group ends the program, and the wrapper says so', async () => {
    const directory = await workDirectory('#!/bin/sh\necho up\nexec sleep 1000\n');
    const child = start(shell, directory);
    const ended = outcome(child);
    await once(child.stdout, 'data');
    process.kill(-Number(child.pid), 'SIGTERM');
    expect((await ended).code).toBe(143);
    expect(await exitOf(directory)).toBe('143\n');
  });

  it('does not stay behind where its directory is gone', async () => {
    const waits = join(scratch, `waits-${shell}`);
    const programs = join(scratch, `programs-${shell}`);
    await mkdir(programs);
    await writeFile(join(programs, 'sleep'), `#!/bin/sh\necho "$1" >>${waits}\n`, { mode: 0o700 });
    const directory = await workDirectory('#!/bin/sh\nrm -rf "$PWD"\nexit 3\n');
    const { signal } = await outcome(start(shell, directory, 'group', { PATH: `${programs}:${process.env.PATH}` }));
    // Its own, to its group.
    expect(signal).toBe('SIGKILL');
    // Where its directory is there, but nothing can be written, it is sixty.
    expect(await readFile(waits, 'utf8')).toBe('1\n1\n');
  });

  it('a program that cannot be run is 126 or 127', async () => {
    const missing = await workDirectory('#!/no/such/interpreter\n');
    await outcome(start(shell, missing));
    expect(['126\n', '127\n']).toContain(await exitOf(missing));
  });

  it('leading a group, it ends what the program left running, and tells its pid, start and boot', async () => {
    const directory = await workDirectory('#!/bin/sh\n(trap "" TERM; echo $$; exec sleep 1000) &\nread -r x; exit 3\n');
    const child = start(shell, directory, 'group');
    const { signal } = await outcome(child);
    // Its output is closed: nobody holds it any more.
    expect(signal).toBe('SIGKILL');
    expect(await exitOf(directory)).toBe('3\n');
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    expect(await startedBy(directory)).toMatch(new RegExp(`^${child.pid}:[1-9][0-9]*:${boot}\\n$`));
  });

  it('the environment reaches the program as it was meant', async () => {
    const value = `'"$(touch owned)\`touch owned\`\n\\ ;&|*`;
    const directory = await workDirectory('#!/bin/sh\nprintf %s "$query"\n', environmentText({ query: value }));
    expect((await outcome(start(shell, directory))).stdout).toBe(value);
    await expect(readFile(join(directory, 'owned'))).rejects.toThrow('ENOENT');
  });

  it('where the mark cannot be taken, the program is not run, and stderr says why', async () => {
    const directory = await workDirectory('#!/bin/sh\necho ran\n');
    await writeFile(join(directory, WRAPPER_FILES.started), '');
    const { code, stdout, stderr } = await outcome(start(shell, directory));
    expect({ code, stdout }).toEqual({ code: 125, stdout: '' });
    expect(stderr).toContain('.muster-started');
  });
});

describe('words for a shell', () => {
  it('come back from a real shell as they went in', async () => {
    const word = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'));
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 5 }), async (words) => {
        const line = commandLine(['printf', '%s\\0', ...words, 'end']);
        const { stdout } = await run('sh', ['-c', line]);
        expect(stdout).toBe([...words, 'end', ''].join('\0'));
      }),
      { numRuns: 60 },
    );
  });

  it('a zero byte and a name that is none are refused', () => {
    expect(() => commandLine(['a\0b'])).toThrow('zero byte');
    expect(() => environmentText({ 'a b': '1' })).toThrow("no name of a variable: 'a b'");
    expect(() => environmentText({ a: '\0' })).toThrow('zero byte');
  });
});
