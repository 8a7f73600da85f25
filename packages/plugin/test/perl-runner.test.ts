import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PERL_RUNNER, perlCall, taskFilesOf } from '../src/contract/index.js';

const EXAMPLES = fileURLToPath(new URL('../../../examples/plugins/perl/lib', import.meta.url));
const ID = '0123456789abcdef01234567';
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-perl-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Runs a class on a task. `run` is the body of its method of that name; without it the class is one of the examples. */
function runPerl(params: object, run?: string, plugin = run === undefined ? 'Disbatch::Plugin::Demo' : 'Made') {
  const create = 'sub new { my ($class, %args) = @_; bless { %args }, $class }';
  if (run !== undefined) {
    writeFileSync(join(dir, 'Made.pm'), `package Made;\n${create}\nsub run { my $self = shift;\n${run}\n}\n1;\n`);
  }
  const files = taskFilesOf(dir, ID);
  const task = { _id: ID, queue: 'f'.repeat(24), status: -1, params, node: 'node1', stdout: null, stderr: null };
  writeFileSync(files.task, JSON.stringify(task));
  const { file, args } = perlCall('perl', plugin, [dir, EXAMPLES], files.task);
  const before = existsSync(files.response);
  const { status: exit, stderr: log } = spawnSync(file, args, { encoding: 'utf8' });
  const response = existsSync(files.response) ? (JSON.parse(readFileSync(files.response, 'utf8')) as object) : null;
  if (!before) rmSync(files.response, { force: true });
  return { exit, log, response };
}

describe('the Perl runner (sheet §3.1)', () => {
  it('hands the task and a logger to the plugin, and writes what it returns', () => {
    const { exit, log, response } = runPerl({ commands: 'a' });
    expect({ exit, response }).toEqual({ exit: 0, response: { status: 1, stdout: 'did a\n', stderr: null } });
    expect(log).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ INFO did 'a' for task 0123456789abcdef01234567\n$/);
  });

  it.each([
    ['b', { status: 1, stdout: null, stderr: 'could not do b\n' }],
    ['*', { status: 2, stdout: 'did a\n', stderr: 'could not do b\ncould not do c, and gave up\n' }],
    ['zz', { status: 1, stdout: null, stderr: null }],
  ])('Demo does %s (sheet §3.2)', (commands, response) => {
    expect(runPerl({ commands }).response).toEqual(response);
  });

  it.each([
    ['e', 15, 0],
    ['7C', 7, 8],
    ['Eb', 0, 15],
  ])('Demo writes the MiB that %s asks for', (commands, stdout, stderr) => {
    const { response } = runPerl({ commands });
    const written = response as { stdout: string | null; stderr: string | null };
    const mebibytes = (text: string | null) => Math.floor((text ?? '').length / 2 ** 20);
    expect([mebibytes(written.stdout), mebibytes(written.stderr)]).toEqual([stdout, stderr]);
  });

  it.each(['die "it broke\\n"', '$self->{nothing}->method', '$self->no_such_method'])(
    'an uncaught exception fails the task: %s',
    (run) => {
      expect(runPerl({}, run).response).toMatchObject({
        status: 2,
        stdout: 'Unable to complete',
        stderr: expect.stringMatching(/^Thread has uncaught exception: ./),
      });
    },
  );

  it.each(['return 1', 'return [1]', 'return', 'return "text"'])(
    'a result that is no hash fails the task: %s',
    (run) => {
      expect(runPerl({}, run).response).toMatchObject({
        status: 2,
        stdout: expect.stringMatching(/^\$VAR1 = /),
        stderr: 'Task did not return a HASH. See stdout for Dumper result',
      });
    },
  );

  it.each([
    ['1', 1],
    ['"44"', 44],
    ['"fizz"', 2],
    ['0', 2],
    ['-1', 2],
    ['1.5', 2],
    ['"01"', 2],
    ['undef', 2],
    ['[1]', 2],
  ])('the status %s counts as %i, and the outputs are kept', (status, counts) => {
    const run = `return { status => ${status}, stdout => 7, stderr => 'err', other => 1 }`;
    expect(runPerl({}, run).response).toEqual({ status: counts, stdout: '7', stderr: 'err' });
  });

  it('text is the same whether the plugin decoded it or left it as bytes', () => {
    const run = 'return { status => 1, stdout => "\\xc3\\xa9", stderr => "\\x{e9}\\x{20ac}" }';
    expect(runPerl({}, run).response).toEqual({ status: 1, stdout: 'é', stderr: 'é€' });
    const given = 'return { status => 1, stdout => $self->{task}{params}{text} }';
    expect(runPerl({ text: 'é€' }, given).response).toMatchObject({ stdout: 'é€' });
  });

  it('ids are text, and tell their hex digits', () => {
    const run = 'my $id = $self->{task}{_id}; return { status => 1, stdout => "$id", stderr => $id->value . $id->hex }';
    expect(runPerl({}, run).response).toEqual({ status: 1, stdout: ID, stderr: ID + ID });
  });

  it.each(['mongo', 'nodes', 'queues', 'tasks'])('%s says that there is no MongoDB', (name) => {
    expect(runPerl({}, `return $self->{workerthread}->${name}`).response).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`there is no MongoDB here, and so no \`${name}\``),
    });
  });

  it('logs at each level', () => {
    const levels = 'for (qw(debug info warn error)) { $self->{workerthread}->logger->$_("said ", $_) }';
    const { log } = runPerl({}, `${levels} return { status => 1 }`);
    const words = log
      .trim()
      .split('\n')
      .map((line) => line.split(' ').slice(1).join(' '));
    expect(words).toEqual(['DEBUG said debug', 'INFO said info', 'WARN said warn', 'ERROR said error']);
  });

  it('a class that is not there, or is none, cannot be started', () => {
    expect(runPerl({}, undefined, 'Not::There').response).toEqual({
      status: 2,
      stdout: 'Unable to start',
      stderr: `Not::There not found for task ${ID}`,
    });
    expect(runPerl({}, undefined, 'Demo;die').response).toEqual({
      status: 2,
      stdout: 'Unable to start',
      stderr: "plugin value 'Demo;die' must be a valid perl package name, matching /^[\\w:]+$/",
    });
  });

  it('a child that the plugin forked and that returns, too, writes nothing', () => {
    const run = 'my $pid = fork; waitpid $pid, 0 if $pid; return { status => $pid ? 1 : 3 }';
    expect(runPerl({}, run)).toMatchObject({ exit: 0, response: { status: 1 } });
  });

  it('never writes over a response that is there', () => {
    const { response } = taskFilesOf(dir, ID);
    writeFileSync(response, '{"status":3}');
    const { exit, log } = runPerl({ commands: 'a' });
    expect(exit).not.toBe(0);
    expect(log).toContain(`cannot write ${response}: File exists`);
    expect(readFileSync(response, 'utf8')).toBe('{"status":3}');
  });

  it.each([[[]], [['--task', 'x.json']], [['--task', 'x', '--plugin', 'X']], [['--what']]])(
    'says what is wrong with the arguments %j',
    (args) => {
      const { status, stderr } = spawnSync('perl', [...PERL_RUNNER, ...args], { encoding: 'utf8' });
      expect(status).not.toBe(0);
      expect(stderr).toMatch(/usage: |ends with \.json/);
    },
  );
});
