import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kit, trial } from './support/kit.js';

let dir: string;
beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'muster-kit-')));
});
afterAll(() => rmSync(dir, { recursive: true }));

let made = 0;
function write(name: string, text: string): string {
  made += 1;
  const path = join(dir, `${made}-${name}`);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}
const script = (text: string) => write('script.sh', `#!/bin/sh\n${text}\n`);
const moduleOf = (text: string) => write('module.mjs', text);

describe('muster-plugin run', () => {
  it('shows how a task ends, for people', async () => {
    const program = script('echo "::progress 40 half" >&3; printf "a\\033[1mb\\n"; echo bad >&2; exit 3');
    const { code, stdout, stderr } = await kit(['run', '--program', program, '--args', '[]', '{}']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout.replace(/took +\S+/, 'took N')).toBe(
      [
        'status    2 (failed)',
        'exit      3',
        'took N s',
        'progress  40% half',
        'stdout    7 bytes',
        '  | a\\x1b[1mb',
        'stderr    4 bytes',
        '  | bad',
        'wrong     exit status 3',
        '',
      ].join('\n'),
    );
  });

  it('says what to do about a response that is wrong', async () => {
    const program = script(
      'echo "said"; echo "{\\"status\\":\\"1\\"}" > "$(echo "$MUSTER_TASK_FILE" | sed s/.json$/-response.json/)"',
    );
    const { code, stdout } = await kit(['run', '--program', program, '{}']);
    expect(code).toBe(1);
    expect(stdout).toContain('wrong     plugin returned unknown type for status');
    expect(stdout).toContain('fix       Give status as a whole number without quotes: 1 succeeded, 2 or more failed.');
    expect(stdout).toContain('printed on stdout, which is no output of the task\n  | said\n');
  });

  it('ends with 0 when the task succeeded', async () => {
    expect((await kit(['run', '--program', '/bin/true', '--args', '[]', '{}'])).code).toBe(0);
  });

  it('takes a task from a file, from standard input, or as it stands', async () => {
    const program = script('echo "$MUSTER_TASK_ID $1"');
    const task = JSON.stringify({ _id: 'a'.repeat(24), params: { word: 'hi' } });
    const args = ['--program', program, '--args', '{word}'];
    const file = write('task.json', task);
    for (const from of [file, task]) expect((await trial(...args, from)).stdout).toBe(`${'a'.repeat(24)} hi\n`);
    const { stdout } = await kit(['run', ...args, '-'], '{"word": "only params"}');
    expect(stdout).toMatch(/ {2}\| [0-9a-f]{24} only params\n/);
  });

  it('passes arguments as they are, never through a shell', async () => {
    const program = script('printf "<%s>" "$@"');
    const params = JSON.stringify({ a: '$(id) `id`; "x" *', list: [1] });
    const given = ['--args', '["{a}", "--list={list}", "{{}}"]', '--args', '--flag'];
    const { stdout } = await trial('--program', program, ...given, params);
    expect(stdout).toBe('<$(id) `id`; "x" *><--list=[1]><{}><--flag>');
  });

  it('says which parameter is missing, and runs nothing', async () => {
    expect(await trial('--program', '/bin/echo', '--args', '{region}', '{}')).toMatchObject({
      status: 2,
      stdout: null,
      reason: expect.stringContaining("parameter 'region' is missing"),
      exitCode: null,
    });
  });

  it('gives a program of the simple contract its parameters in a file, and on request on standard input', async () => {
    const program = script('cat "$MUSTER_TASK_FILE"; printf " "; cat');
    expect((await trial('--program', program, '--args', '[]', '{"a": 1}')).stdout).toBe('{"a":1} ');
    expect((await trial('--program', program, '--args', '[]', '--stdin', '{"a": 1}')).stdout).toBe('{"a":1} {"a":1}');
  });

  it('passes little of its own environment, and what it is given', async () => {
    const program = script('env | cut -d= -f1 | sort | tr "\\n" " "; echo "$COLOR"');
    const { stdout } = await trial('--program', program, '--args', '[]', '--env', 'COLOR=blue', '--node', 'n', '{}');
    expect(stdout).toMatch(/ MUSTER_TASK_ID .*blue\n$/);
    expect(stdout).not.toMatch(/VITEST| NODE_/);
  });

  it('ends what takes too long, and all that it started', async () => {
    const program = script('sleep 1000 & echo begun; wait');
    expect(await trial('--program', program, '--args', '[]', '--timeout', '200ms', '{}')).toMatchObject({
      status: 2,
      reason: 'it took longer than its limit of 0.2 s, and was ended',
      signal: 'SIGTERM',
    });
  });

  it('tells a program that cannot be run from one that failed', async () => {
    const program = write('odd', '#!/no/such/interpreter\n');
    expect(await trial('--program', program, '--args', '[]', '{}')).toMatchObject({
      status: 2,
      stdout: null,
      reason: `cannot run ${program}: no such file or directory`,
    });
    expect(await trial('--perl', 'No Class', '{}')).toMatchObject({ stdout: 'Unable to start' });
  });

  it.each([
    [['run', '{}'], 'give one of --program FILE, --module FILE and --perl CLASS'],
    [['run', '--program', 'x', '--perl', 'Y', '{}'], 'give one of'],
    [['run', '--module', 'x', '--args', 'a', '{}'], '--args goes with --program only'],
    [['run', '--program', 'x', '--stdin', '{}'], '--stdin goes with --args only'],
    [['run', '--program', 'x', '--args', '{', '{}'], "--args: '{': '{' names no parameter"],
    [['run', '--program', 'x', '--args', '[1]', '{}'], 'is no JSON list of texts'],
    [['run', '--program', 'x', '--timeout', 'soon', '{}'], '--timeout soon is no time above 0'],
    [['run', '--program', 'x', '--env', 'A', '{}'], '--env A is not NAME=VALUE'],
    [['run', '--program', 'x', '{"a"'], 'the task is no JSON'],
    [['run', '--program', 'x', '/no/task.json'], 'cannot read the task /no/task.json'],
    [['run', '--program', 'x'], "missing required argument 'task'"],
    [['walk'], 'unknown command'],
  ])('refuses %j', async (args, said) => {
    const { code, stdout, stderr } = await kit(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(said);
    expect(stderr).toContain('fix: ');
  });
});

describe('a module under the kit', () => {
  it('succeeds when it returns nothing', async () => {
    expect(await trial('--module', moduleOf('export function run() {}'), '{}')).toMatchObject({
      status: 1,
      stdout: null,
      stderr: null,
      exitCode: null,
    });
  });

  it('is given its task and what to work with', async () => {
    const module = moduleOf(`export async function run(task, { log, progress, signal }) {
      log(JSON.stringify([task.params, task.queue.name, task.attempt, task.node, signal.aborted]));
      log('bad', 'stderr');
      progress(0.4, 'text');
      console.log('printed');
      return { status: 3, stdout: 'end' };
    }`);
    expect(await trial('--module', module, '--queue', 'q', '--node', 'n', '{"a": 1}')).toMatchObject({
      status: 3,
      stdout: '[{"a":1},"q",1,"n",false]\nend',
      stderr: 'bad\n',
      progress: [{ fraction: 0.4, text: 'text' }],
      printed: { stdout: 'printed\n', stderr: null },
    });
  });

  it('is told when its time is over', async () => {
    const module = moduleOf(`export const run = (_, { signal }) => new Promise((resolve) => {
      const end = () => resolve({ stdout: signal.reason.message });
      if (signal.aborted) end();
      else signal.addEventListener('abort', end);
    });`);
    expect(await trial('--module', module, '--timeout', '500ms', '{}')).toMatchObject({
      status: 2,
      reason: 'it took longer than its limit of 0.5 s, and was ended',
      stdout: 'its time is over',
    });
  });

  it.each([
    ['export const walk = 1;', "it exports no function 'run'"],
    ['export const run = 1;', "it exports no function 'run'"],
    ['throw new Error("broken");', 'broken'],
    ['import "./none.mjs";', 'none.mjs'],
  ])('cannot be started: %s', async (text, reason) => {
    const tried = await trial('--module', moduleOf(text), '{}');
    expect(tried).toMatchObject({ status: 2, stdout: null, reason: expect.stringMatching(/^cannot (run|load) /) });
    expect(tried.reason).toContain(reason);
    expect(tried.stderr).toBe(tried.reason);
  });

  it.each([
    [null, 'there is no such file', 'Check the path of --module'],
    ['export const walk = 1;', "it exports no function 'run'", 'Export it: export async function run'],
  ])('that is none says what to do: %s', async (text, reason, fix) => {
    const module = text === null ? join(dir, 'none.mjs') : moduleOf(text);
    const { code, stdout } = await kit(['run', '--module', module, '{}']);
    expect(code).toBe(1);
    expect(stdout).toContain(reason);
    expect(stdout).not.toContain('load-module');
    expect(stdout).toContain(`fix       ${fix}`);
  });

  it.each([
    ['process.exit(0)', 'the plugin ended its process instead of returning (exit status 0)'],
    ['process.kill(process.pid, "SIGKILL")', 'the plugin ended its process instead of returning (signal: killed)'],
  ])('fails when it does %s', async (text, reason) => {
    const module = moduleOf(`export const run = () => { ${text}; return new Promise(() => {}); };`);
    expect(await trial('--module', module, '{}')).toMatchObject({ status: 2, reason });
  });
});
