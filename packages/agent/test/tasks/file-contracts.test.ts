import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratch } from '../support/agent.js';
import { endHosts, TaskNode } from '../support/task-node.js';

let place: Awaited<ReturnType<typeof scratch>>;
let node: TaskNode | null;
beforeEach(async () => {
  place = await scratch();
  node = null;
});
afterEach(async () => {
  node?.vanish();
  await endHosts(join(place.dir, 'tasks'));
  await place.dispose();
});

async function start(plugins: Record<string, unknown>): Promise<TaskNode> {
  node = await TaskNode.start(join(place.dir, 'tasks'), { max: 4, plugins });
  return node;
}

async function program(name: string, script: string, mode = 0o755): Promise<string> {
  const path = join(place.dir, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, mode);
  return path;
}

const ANSWER = `for last; do :; done; answer="\${last%.json}-response.json"`;

describe('a program that reads a task file and answers in another (sheet §3.4)', () => {
  it('its output is what it answers, not what it prints', async () => {
    const path = await program(
      'plugin',
      `${ANSWER}; echo noise; echo '{"status":1,"stdout":"told","stderr":null}' > "$answer"`,
    );
    const at = await start({ p: { program: path, type: 'nomongo' } });
    at.assign('a', 'p');
    const result = await at.result('a');
    expect(result).toMatchObject({ status: 1, reason: null, exitCode: 0, stdout: 'told', stderr: null });
  });
  it('type default gets --config before --task, nomongo does not; the task file is the document as it was claimed', async () => {
    const script = `${ANSWER}; printf '{"status":1,"stdout":"%s","stderr":"%s"}' "$1 $3" "$(od -An -tx1 < "$last" | tr -d ' \\n')" > "$answer"`;
    const path = await program('plugin', script);
    const at = await start({ p: { program: path }, q: { program: path, type: 'nomongo' } });
    at.assign('5f0000000000000000000002', 'p', { n: 1 });
    at.assign('5f0000000000000000000003', 'q');
    const result = await at.result('5f0000000000000000000002');
    expect(result.stdout).toBe('--config --task');
    expect(JSON.parse(Buffer.from(result.stderr ?? '', 'hex').toString())).toEqual({
      _id: '5f0000000000000000000002',
      queue: '5f0000000000000000000001',
      status: -1,
      params: { n: 1 },
      node: 'node1',
      ctime: '2023-11-14T22:13:20Z',
      mtime: '2023-11-14T22:13:20.5Z',
      stdout: null,
      stderr: null,
    });
    expect((await at.result('5f0000000000000000000003')).stdout).toBe('--task ');
  });
  it('a status of its own is kept; without an answer it has failed (sheet §3.5)', async () => {
    const own = await program('own', `${ANSWER}; echo '{"status":44}' > "$answer"; exit 3`);
    const none = await program('none', 'exit 0');
    const at = await start({ p: { program: own }, q: { program: none } });
    at.assign('a', 'p');
    at.assign('b', 'q');
    expect(await at.result('a')).toMatchObject({ status: 44, exitCode: 3 });
    const result = await at.result('b');
    expect(result).toMatchObject({ status: 2, stdout: null });
    expect(result.stderr).toContain('could not read task plugin response file: ');
  });
  it('one that cannot be run is unable to start, and has no exit status (sheet §3.5)', async () => {
    const path = await program('plugin', 'exit 0', 0o644);
    const at = await start({ p: { program: path } });
    at.assign('a', 'p');
    expect(await at.result('a')).toMatchObject({
      status: 2,
      stdout: 'Unable to start',
      stderr: `${path} not found or not executable for task a`,
      exitCode: null,
      signal: null,
    });
  });
  it('a long answer is streamed, all of it', async () => {
    const script = `${ANSWER}; { printf '{"status":1,"stdout":"'; head -c 3000000 /dev/zero | tr '\\0' x; printf '"}'; } > "$answer"`;
    const at = await start({ p: { program: await program('plugin', script) } });
    at.assign('a', 'p', {}, { outputLimit: 10_000_000 });
    expect((await at.heard('a', 'finished')).result.bytes).toEqual({ stdout: 3_000_000, stderr: 0 });
    expect(at.outputOf('a')).toHaveLength(3_000_000);
  });
});

describe('a Perl class (sheet §3.1)', () => {
  it('runs through the runner, and its result is that of the task', async () => {
    const lib = join(import.meta.dirname, '../../../../examples/plugins/perl/lib');
    const at = await start({ 'Disbatch::Plugin::Demo': { perl: 'Disbatch::Plugin::Demo', lib: [lib] } });
    at.assign('a', 'Disbatch::Plugin::Demo', { commands: 'a' });
    at.assign('b', 'Disbatch::Plugin::Demo', { commands: 'c' });
    expect(await at.result('a')).toMatchObject({ status: 1, stdout: 'did a\n', exitCode: 0 });
    expect((await at.result('b')).status).toBe(2);
  });
});
