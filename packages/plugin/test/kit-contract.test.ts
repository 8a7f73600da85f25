import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Trial, tryPlugin } from '@muster/plugin/kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** The runner contract tests of the reference (sheet §9.2) that a plugin can meet, on real processes. */

const MIB = 2 ** 20;
const NON_JSON = 'plugin saved non-json in response file (see stdout for any content it may have set)';
const SEEN = '(see stdout for status and any stdout or stderr it may have set)';
const UNKNOWN = `plugin returned unknown type for status ${SEEN}`;
const NOT_POSITIVE = `plugin returned non-positive status ${SEEN}`;
const UNCLEAN =
  'plugin returned status:1 but did not exit cleanly (see stdout for any stdout or stderr it may have set)';

/** Answers with what its parameters say: a text, an object, or outputs of so many bytes. */
const SAMPLE = `#!${process.execPath}
const fs = require('node:fs');
const file = process.argv[process.argv.indexOf('--task') + 1];
const task = JSON.parse(fs.readFileSync(file, 'utf8'));
const { text, response, sizes, exit = 0, echo } = task.params;
const config = process.argv.indexOf('--config');
const seen = { argv: process.argv.slice(2), task, config: config < 0 ? null : JSON.parse(fs.readFileSync(process.argv[config + 1], 'utf8')) };
const big = sizes && { status: 1, stdout: 'o'.repeat(sizes[0]), stderr: 'e'.repeat(sizes[1]) };
const answer = text ?? JSON.stringify(echo ? { status: 1, stdout: JSON.stringify(seen) } : (big ?? response));
if (answer !== undefined) fs.writeFileSync(file.replace(/\\.json$/, '-response.json'), answer);
console.log('not output of the task');
process.exit(exit);
`;

let dir: string;
let sample: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-contract-'));
  sample = join(dir, 'sample');
  writeFileSync(sample, SAMPLE, { mode: 0o755 });
});
afterAll(() => rmSync(dir, { recursive: true }));

type Params = Readonly<Record<string, string | number | Readonly<Record<string, string | number>> | readonly number[]>>;

describe.each(['default', 'nomongo'] as const)('a plugin of type %s', (contract) => {
  const run = (params: Params, program = sample): Promise<Trial> =>
    tryPlugin(
      { contract, program },
      {
        params,
        id: '0123456789abcdef01234567',
        queueId: 'f'.repeat(24),
        node: 'node1',
        ctime: Date.UTC(2026, 0, 31),
        mtime: Date.UTC(2026, 0, 31, 0, 0, 1),
      },
    );

  it('gets its task in a file, and a configuration unless it is nomongo (sheet §3.4)', async () => {
    const trial = await run({ echo: 1 });
    const seen = JSON.parse(trial.stdout ?? '') as { argv: string[]; task: unknown; config: unknown };
    expect(seen.task).toEqual({
      _id: '0123456789abcdef01234567',
      queue: 'f'.repeat(24),
      status: -1,
      params: { echo: 1 },
      node: 'node1',
      ctime: '2026-01-31T00:00:00Z',
      mtime: '2026-01-31T00:00:01Z',
      stdout: null,
      stderr: null,
    });
    const words = seen.argv.filter((word) => word.startsWith('--'));
    expect(words).toEqual(contract === 'default' ? ['--config', '--task'] : ['--task']);
    expect(seen.config).toEqual(
      contract === 'default'
        ? { node: 'node1', temp_dir: expect.any(String), plugins: { [sample]: { type: 'default' } }, auth: {} }
        : null,
    );
    expect(trial.printed.stdout).toBe('not output of the task\n');
  });

  it.each([1, 2, 44])('status %i, exit 0: kept, outputs kept', async (status) => {
    const response = { status, stdout: 'out', stderr: 'err' };
    expect(await run({ response })).toMatchObject({ ...response, reason: null, exitCode: 0, signal: null });
  });

  it('status 2, exit 3: kept', async () => {
    expect(await run({ response: { status: 2, stdout: 'out' }, exit: 3 })).toMatchObject({
      status: 2,
      stdout: 'out',
      stderr: null,
      exitCode: 3,
    });
  });

  it('status 1, exit 3: failed', async () => {
    const response = { status: 1, stdout: 'out', stderr: 'err' };
    expect(await run({ response, exit: 3 })).toMatchObject({
      status: 2,
      stdout: JSON.stringify(response),
      stderr: UNCLEAN,
      exitCode: 3,
    });
  });

  it.each([{}, { status: 'fizz' }, { status: 1.5 }])('status missing, "fizz", 1.5: %j', async (response) => {
    const stdout = JSON.stringify({ status: null, ...response, stdout: null, stderr: null });
    expect(await run({ response })).toMatchObject({ status: 2, stdout, stderr: UNKNOWN });
  });

  it.each([0, -1])('status %i', async (status) => {
    const stdout = JSON.stringify({ status, stdout: 'out', stderr: null });
    expect(await run({ response: { status, stdout: 'out' } })).toMatchObject({
      status: 2,
      stdout,
      stderr: NOT_POSITIVE,
    });
  });

  it.each([0, 3])('no response file, exit %i', async (exit) => {
    expect(await run({ exit })).toMatchObject({
      status: 2,
      stdout: null,
      stderr: expect.stringMatching(/^could not read task plugin response file: open .*: no such file or directory$/),
      exitCode: exit,
    });
  });

  it.each(['this is not json', '{"status":1e999}'])('response %s', async (text) => {
    expect(await run({ text })).toMatchObject({ status: 2, stdout: text, stderr: NON_JSON });
  });

  it('extra keys in response: ignored; missing stderr: null', async () => {
    expect(await run({ response: { status: 1, stdout: 'out', other: 1 } })).toMatchObject({
      status: 1,
      stdout: 'out',
      stderr: null,
      reason: null,
    });
  });

  it.each([
    [7, 8],
    [1, 15],
    [16, 0],
  ])('%i MiB stderr and %i MiB stdout: content equal', async (stderr, stdout) => {
    const trial = await run({ sizes: [stdout * MIB, stderr * MIB] });
    expect(trial.status).toBe(1);
    expect(trial.stdout === 'o'.repeat(stdout * MIB)).toBe(true);
    expect(trial.stderr === 'e'.repeat(stderr * MIB)).toBe(true);
  });

  it('relative path, missing file, not executable: Unable to start, no exit', async () => {
    const plain = join(dir, 'plain');
    writeFileSync(plain, SAMPLE);
    chmodSync(plain, 0o644);
    const id = '0123456789abcdef01234567';
    const texts = [
      ['sample', `plugin value 'sample' for task ${id} must be a full path`],
      [join(dir, 'none'), `${join(dir, 'none')} not found or not executable for task ${id}`],
      [dir, `${dir} not found or not executable for task ${id}`],
      [plain, `${plain} not found or not executable for task ${id}`],
    ] as const;
    for (const [program, stderr] of texts) {
      expect(await run({}, program)).toMatchObject({
        status: 2,
        stdout: 'Unable to start',
        stderr,
        exitCode: null,
        signal: null,
      });
    }
  });
});
