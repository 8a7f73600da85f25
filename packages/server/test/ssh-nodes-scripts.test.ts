import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { beginOf, launchLine, leftOf, lookLine, lookOf, signalLine, stderrOf } from '../src/ssh-nodes/scripts.js';

/** The lines that hosts are asked to run, run by shells as sshd would have them run. */

const exec = promisify(execFile);
const SHELLS = ['/bin/bash', '/bin/dash'];
const RUN = '0b2b1f6e-7f0e-4a53-9df6-2f6a1c1f0c11';

async function runBy(shell: string, line: string) {
  // A session of its own, as sshd gives it.
  return exec('setsid', ['-w', shell, '-c', line], { encoding: 'buffer', maxBuffer: 16 * 1024 * 1024 });
}

const launch = (file: string, args: readonly string[], env: Record<string, string> = {}, capture = true) =>
  launchLine({ run: RUN, file, args, cwd: undefined, env: { ...env, MUSTER_RUN: RUN }, account: null, capture });

/** What an argument or a value of the environment can hold. */
const word = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.replaceAll('\0', '')),
  fc.constantFrom(
    '',
    ' ',
    "'",
    '"',
    '\\',
    '$(id)',
    '`id`',
    '!!',
    '*',
    '~',
    '-n',
    '--',
    '%s',
    '\n',
    'a\nb\n',
    '&& id',
    ';',
    '#x',
    '{a,b}',
    'A=b',
  ),
);

describe.each(SHELLS)('by %s', (shell) => {
  test('any arguments arrive at the program unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 6 }), async (args) => {
        const { stdout } = await runBy(shell, launch('node', ['-e', PRINT_ARGS, '--', ...args]));
        const begin = beginOf(RUN, stdout);
        expect(begin.kind).toBe('begun');
        expect(JSON.parse(begin.kind === 'begun' ? begin.rest.toString() : 'null')).toEqual(args);
      }),
      { numRuns: 12 },
    );
  }, 60_000);

  test('any values of variables arrive at it unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(word, async (value) => {
        const { stdout } = await runBy(
          shell,
          launch('node', ['-p', 'JSON.stringify(process.env.VALUE)'], { VALUE: value }),
        );
        const begin = beginOf(RUN, stdout);
        expect(JSON.parse(begin.kind === 'begun' ? begin.rest.toString() : 'null')).toEqual(value);
      }),
      { numRuns: 12 },
    );
  }, 60_000);

  test('it leads a process group, and stderr begins where it begins', async () => {
    const line = launch('sh', ['-c', 'echo $$ $(ps -o pgid= -p $$); echo wrong >&2']);
    const { stdout, stderr } = await runBy(shell, `echo greeting; echo noise >&2; ${line}`);
    const begin = beginOf(RUN, stdout);
    if (begin.kind !== 'begun') throw new Error(begin.kind);
    const [pid, group] = begin.rest.toString().trim().split(/\s+/);
    expect([Number(pid), Number(group)]).toEqual([begin.pid, begin.pid]);
    expect(stderrOf(RUN, stderr)?.toString()).toBe('wrong\n');
  });

  test('what is not wanted is not sent', async () => {
    const { stdout, stderr } = await runBy(shell, launch('sh', ['-c', 'echo a; echo b >&2'], {}, false));
    expect(beginOf(RUN, stdout)).toMatchObject({ kind: 'begun', rest: Buffer.alloc(0) });
    expect(stderrOf(RUN, stderr)).toEqual(Buffer.alloc(0));
  });

  test('a program that is not there is told', async () => {
    const failed = await runBy(shell, launch('no-such-program', [])).catch((error: unknown) => error);
    expect(beginOf(RUN, (failed as { stdout: Buffer }).stdout)).toEqual({ kind: 'missing' });
  });

  test('what a run left is found by what it carries, and ended', async () => {
    const marker = randomUUID();
    const left = async (signal: 'TERM' | 'KILL' | '0') =>
      leftOf((await runBy(shell, signalLine(signal, { leader: null, marker }))).stdout.toString());
    expect(await left('0')).toEqual({ left: 0, denied: 0 });
    await exec('sh', ['-c', 'setsid sleep 7654399 >/dev/null 2>&1 & setsid sleep 7654399 >/dev/null 2>&1 &'], {
      env: { ...process.env, MUSTER_RUN: marker },
    });
    await expect.poll(() => left('0')).toEqual({ left: 2, denied: 0 });
    expect(await left('TERM')).toEqual({ left: 2, denied: 0 });
    await expect.poll(() => left('0')).toEqual({ left: 0, denied: 0 });
  });

  test('a look around says what there is', async () => {
    const { stdout } = await runBy(shell, `echo hello; ${lookLine()}`);
    expect(lookOf(stdout.toString())).toEqual({ groups: true, processes: true, system: 'Linux' });
    expect(lookOf('% unknown command')).toBeNull();
  });

  test('a command runs in its directory, whatever that is called, and not at all where there is none', async () => {
    const base = await mkdtemp(join(tmpdir(), 'muster-ssh-dir-'));
    const inside = (cwd: string) =>
      launchLine({ run: RUN, file: 'pwd', args: [], cwd, env: {}, account: null, capture: true });
    for (const name of ['plain', "it's $(id) `id`", '-n "q" \\ ;', ' a\nb ']) {
      const dir = join(base, name);
      await mkdir(dir);
      const begin = beginOf(RUN, (await runBy(shell, inside(dir))).stdout);
      expect(begin.kind === 'begun' && begin.rest.toString()).toBe(`${dir}\n`);
      const look = lookOf((await runBy(shell, lookLine(dir))).stdout.toString());
      expect(look?.directory).toBe(true);
    }
    const none = join(base, 'none');
    const failed = await runBy(shell, inside(none)).catch((error: { stdout: Buffer }) => error);
    expect(beginOf(RUN, failed.stdout)).toEqual({ kind: 'no directory' });
    expect(lookOf((await runBy(shell, lookLine(none))).stdout.toString())?.directory).toBe(false);
    await rm(base, { recursive: true });
  });
});

const PRINT_ARGS = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))';
