import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { until } from './support/until.js';

/** `muster queue` and `muster task`, as a person or a script runs them, on real processes. */

let cluster: Cluster;

/** A program that knows nothing of us: it says what it got, writes it down, and waits or fails where it is told to. */
const PROGRAM = `#!/bin/sh
echo "$1" >> "$RUNS"
echo "scaling $1 to $2"
case "$1" in
  broken*) echo "cannot read $1" >&2; exit 3 ;;
  once*) [ -e "$DIR/$1.again" ] || { touch "$DIR/$1.again"; exit 75; } ;;
  slow*)
    while [ ! -e "$DIR/$1.half" ]; do sleep 0.05; done; echo '::progress 40 scaling' >&3
    while [ ! -e "$DIR/$1.go" ]; do sleep 0.05; done; echo "done with $1" ;;
esac
`;

const at = (name: string): string => join(cluster.dir, name);

beforeAll(async () => {
  cluster = await Cluster.start();
  const program = at('thumbnail.sh');
  writeFileSync(program, PROGRAM.replaceAll('$RUNS', at('runs')).replaceAll('$DIR', cluster.dir));
  chmodSync(program, 0o755);
  const tasks = { max: 4, plugins: { thumbnail: { program, args: ['{file}', '{width}'] } } };
  await cluster.startAgents({
    media1: { labels: { role: 'media' }, tasks },
    media2: { labels: { role: 'media' }, tasks },
    db1: { labels: { role: 'db' }, tasks },
  });
  expect((await cluster.muster('queue', 'create', 'resize', '--plugin', 'thumbnail', '--threads', '8')).code).toBe(0);
});
afterAll(() => cluster.stop());

const add = async (file: string, ...flags: readonly string[]): Promise<string> => {
  const added = await cluster.muster(
    'task',
    'add',
    'resize',
    '--param',
    `file=${file}`,
    '--param',
    'width=200',
    ...flags,
  );
  return added.stdout.trim();
};
const go = (file: string): void => writeFileSync(at(`${file}.go`), '');
const runsOf = (file: string): number => {
  const runs = existsSync(at('runs')) ? readFileSync(at('runs'), 'utf8').split('\n') : [];
  return runs.filter((one) => one === file).length;
};

interface Task {
  readonly id: string;
  readonly status: string;
  readonly node: string | null;
  readonly attempt: number;
}
const show = (id: string): Promise<Task> => cluster.json<Task>('task', 'show', id);

describe('a task', () => {
  test('is run once, on one node, and its end is the exit code of who waits', async () => {
    expect((await cluster.muster('task', 'add', 'resize', '--param', 'file=a.png', '--wait')).code).toBe(1);
    const good = await cluster.muster('task', 'wait', await add('b.png'));
    expect(good).toMatchObject({ code: 0, stderr: '' });
    expect(runsOf('b.png')).toBe(1);
  });

  test('that fails says how, and what it wrote', async () => {
    const id = await add('broken.png');
    const waited = await cluster.muster('task', 'wait', id);
    expect(waited.code).toBe(1);
    expect(waited.stderr).toContain(`task ${id} failed: exit status 3`);
    expect((await cluster.muster('task', 'show', id, '--output')).stdout).toBe('scaling broken.png to 200\n');
    expect((await cluster.muster('task', 'show', id, '--stderr')).stdout).toBe('cannot read broken.png\n');
  });

  test('is followed while it runs', async () => {
    const id = await add('slow-1.png');
    const follow = cluster.launch('task show', ['task', 'show', id, '--follow']);
    await follow.logged(/scaling slow-1\.png/);
    expect((await show(id)).status).toBe('running');
    writeFileSync(at('slow-1.png.half'), '');
    await follow.logged(/40% scaling/);
    go('slow-1.png');
    expect((await follow.exited).code).toBe(0);
    expect(follow.stdout).toBe('scaling slow-1.png to 200\ndone with slow-1.png\n');
  });

  test('that asks for it is run again, and both runs are followed and kept', async () => {
    const id = await add('once.png');
    const follow = await cluster.muster('task', 'show', id, '--follow');
    expect(follow.code).toBe(0);
    expect(follow.stdout).toContain('scaling once.png to 200\n');
    const { attempts } = await cluster.json<{ attempts: readonly Task[] }>('task', 'show', id);
    expect(attempts.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 'failed'],
      [2, 'succeeded'],
    ]);
    expect((await cluster.muster('task', 'show', id, '--output', '--attempt', '1')).stdout).toContain(
      'scaling once.png',
    );
  });

  test('that is cancelled while it runs is ended on its node', async () => {
    const id = await add('slow-2.png');
    await until('it runs', async () => (await show(id)).status === 'running');
    expect((await cluster.muster('task', 'cancel', id)).code).toBe(0);
    const waited = await cluster.muster('task', 'wait', id);
    expect(waited.stderr).toMatch(/cancelled|terminated/);
    expect((await cluster.muster('task', 'hold', id)).code).toBe(1);
  });
});

describe('a queue', () => {
  test('takes its tasks to the nodes that it names, and to no others', async () => {
    await cluster.muster('queue', 'create', 'media', '--plugin', 'thumbnail', '--nodes', 'role:media');
    const files = Array.from({ length: 20 }, (_, n) => `{"file":"m${n}.png","width":${n}}`);
    writeFileSync(at('m.jsonl'), files.join('\n'));
    const added = await cluster.muster('task', 'add', 'media', '--from', at('m.jsonl'));
    expect(added.stdout).toMatch(/^added 20 tasks to media/);
    const list = () =>
      cluster.json<readonly Task[]>('task', 'list', 'queue:media AND status:succeeded', '--limit', '50');
    await until('all are done', async () => (await list()).length === 20);
    const nodes = new Set((await list()).map(({ node }) => node));
    expect([...nodes].every((node) => node === 'media1' || node === 'media2')).toBe(true);
    const runs = files.map((_, n) => runsOf(`m${n}.png`));
    expect(runs).toEqual(files.map(() => 1));
  });

  test('that stands still says why', async () => {
    await cluster.muster('queue', 'create', 'lonely', '--plugin', 'nobody-has-it');
    await cluster.muster('task', 'add', 'lonely');
    expect((await cluster.muster('queue', 'why', 'lonely')).stdout).toContain('nobody-has-it');
    const [queue] = await cluster.json<readonly { name: string; why: readonly string[] }[]>('queue', 'list');
    expect(queue).toMatchObject({ name: 'lonely', why: [expect.stringContaining('nobody-has-it')] });
  });

  test('is paused, resumed and deleted with its tasks', async () => {
    await cluster.muster('queue', 'pause', 'resize');
    const id = await add('c.png');
    expect((await cluster.muster('task', 'why', id)).stdout).toContain('paused');
    await cluster.muster('queue', 'resume', 'resize');
    expect((await cluster.muster('task', 'wait', id)).code).toBe(0);
    const retried = await cluster.muster('task', 'retry', '--where', 'queue:resize AND status:failed', '--yes');
    expect(retried.stdout).toMatch(/^queued again \d+ tasks?$/m);
    expect((await cluster.muster('queue', 'rm', 'resize', '--force', '--yes')).code).toBe(0);
    expect((await cluster.muster('task', 'show', id)).code).toBe(4);
  });
});
