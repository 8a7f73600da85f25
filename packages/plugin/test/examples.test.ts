import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trial } from './support/kit.js';

const EXAMPLES = fileURLToPath(new URL('../../../examples/plugins/', import.meta.url));
const SHELL = join(EXAMPLES, 'shell/disk-report.sh');
const PYTHON = join(EXAMPLES, 'python/word-count.py');

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-examples-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

describe('the example in shell', () => {
  const report = (path: string, limit: number) =>
    trial('--program', SHELL, '--args', '["{path}", "{limit}"]', '--queue', 'disks', JSON.stringify({ path, limit }));

  it('prints its output, tells progress and succeeds', async () => {
    expect(await report(dir, 100)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^\/\S+: \d+% used \(task [0-9a-f]{24} of queue disks\)\n$/),
      stderr: null,
      progress: [
        { fraction: 0.5, text: 'asking for the usage' },
        { fraction: 1, text: 'done' },
      ],
      printed: { stdout: null, stderr: null },
    });
  });

  it('fails when the disk is fuller than it may be', async () => {
    expect(await report(dir, -1)).toMatchObject({
      status: 2,
      retry: false,
      reason: 'exit status 1',
      stderr: 'more than -1%\n',
    });
  });

  it('asks to be run again while the directory is not there', async () => {
    expect(await report(join(dir, 'none'), 100)).toMatchObject({ status: 2, retry: true, exitCode: 75 });
  });
});

describe('the example in Python', () => {
  it('answers in its response file, with progress', async () => {
    expect(await trial('--program', PYTHON, '{"text": "to be or not to be"}')).toMatchObject({
      status: 1,
      stdout: '6 words, 4 different ones\n',
      stderr: null,
      reason: null,
      progress: [{ fraction: 0.5, text: 'counting' }],
    });
  });

  it('says what is wrong with its parameters', async () => {
    expect(await trial('--program', PYTHON, '{"text": 7}')).toMatchObject({
      status: 2,
      stderr: 'params.text must be a text',
      exitCode: 0,
    });
  });
});

describe('the example in Perl', () => {
  it('returns status, stdout and stderr', async () => {
    const lib = join(EXAMPLES, 'perl/lib');
    expect(await trial('--perl', 'Disbatch::Plugin::Demo', '--lib', lib, '{"commands": "*"}')).toMatchObject({
      status: 2,
      stdout: 'did a\n',
      stderr: 'could not do b\ncould not do c, and gave up\n',
      reason: null,
      printed: { stdout: null, stderr: expect.stringContaining("INFO did 'abc'") },
    });
  });
});

describe('the example in TypeScript', () => {
  let module: string;
  let file: string;
  const sum = createHash('sha256').update('content').digest('hex');
  beforeAll(() => {
    const source = readFileSync(join(EXAMPLES, 'typescript/checksum.ts'), 'utf8');
    const { target, module: kind } = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext };
    module = join(dir, 'checksum.mjs');
    writeFileSync(module, ts.transpileModule(source, { compilerOptions: { target, module: kind } }).outputText);
    file = join(dir, 'file');
    writeFileSync(file, 'content');
  });

  it('logs, tells progress and returns its output', async () => {
    expect(await trial('--module', module, JSON.stringify({ file }))).toMatchObject({
      status: 1,
      stdout: `${file} has 7 bytes\n${sum}\n`,
      progress: [{ fraction: 1, text: '7 of 7 bytes' }],
    });
  });

  it('asks to be run again when the sum is another one', async () => {
    expect(await trial('--module', module, JSON.stringify({ file, expected: 'x' }))).toMatchObject({
      status: 2,
      retry: true,
      stderr: 'expected x\n',
    });
  });

  it('fails with what it throws', async () => {
    expect(await trial('--module', module, '{"file": "/none"}')).toMatchObject({
      status: 2,
      retry: false,
      reason: expect.stringContaining('ENOENT'),
    });
  });
});
