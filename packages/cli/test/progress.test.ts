import { expect, test } from 'vitest';
import { fetchingText } from '../src/commands/push/live/fetching.js';
import { progressLine, StatusLine } from '../src/progress.js';
import { Tally } from '../src/tally.js';
import { testWorld } from './support/world.js';

function started(nodes: number): Tally {
  const tally = new Tally();
  tally.apply({ name: 'start', id: 'job-1', data: { node_count: nodes } });
  return tally;
}

function vote(tally: Tally, node: string, status: string): void {
  tally.apply({ name: 'quorum_vote', id: null, data: { node, status } });
}

function end(tally: Tally, node: string, status: string): void {
  tally.apply({ name: 'run_complete', id: null, data: { node, status } });
}

test('the line tells phase, how many have ended, and what became of them', () => {
  const tally = started(4);
  for (const node of ['a', 'b', 'c']) vote(tally, node, 'success');
  vote(tally, 'd', 'failure');
  tally.apply({ name: 'quorum_succeeded', id: null, data: {} });
  for (const node of ['a', 'b']) tally.apply({ name: 'run_start', id: null, data: { node } });
  end(tally, 'a', 'success');
  expect(progressLine(tally, 12_300)).toBe(
    'running ########........ 2/4  12s  1 ready  1 running  1 succeeded  1 refused',
  );
});

test('while nodes fetch files before they vote, the line says so', async () => {
  const files = { script: { size: 1000 }, uploads: [{ size: 120_000_000, dest: '/srv/f' }] };
  const tally = started(2);
  const world = testWorld();
  const plain = new StatusLine(world, tally);
  plain.beforeVote(fetchingText(files));
  plain.update();
  expect(world.err()).toBe('voting: 0 of 2 nodes done, nodes fetch 2 files (117,189 KiB)\n');
  const line = () => progressLine(tally, 5000, { beforeVote: fetchingText(files) });
  vote(tally, 'a', 'success');
  expect(line()).toBe('voting ................ 0/2  5s  nodes fetch 2 files (117,189 KiB)  1 ready');
  vote(tally, 'b', 'success');
  expect(line()).not.toContain('fetch');
  expect(fetchingText({})).toBe('');
});

test('a line for ten thousand nodes fits a terminal', () => {
  const tally = started(10_000);
  for (let n = 0; n < 10_000; n++) vote(tally, `node${n}`, 'success');
  for (let n = 0; n < 10_000; n++) end(tally, `node${n}`, n % 3 === 0 ? 'failure' : 'success');
  const line = progressLine(tally, 61_000, { columns: 80 });
  expect(line).toContain('10000/10000  1m 01s  6666 succeeded  3334 failed');
  expect(line.length).toBeLessThan(80);
});

test('a late vote counts: voting_timeout alone does not end a node', () => {
  const tally = started(1);
  vote(tally, 'a', 'voting_timeout');
  expect(tally.ended).toBe(0);
  vote(tally, 'a', 'success');
  expect(tally.count('ready')).toBe(1);
});

test('a node that has ended keeps its status', () => {
  const tally = started(1);
  end(tally, 'a', 'success');
  end(tally, 'a', 'client_died_while_running');
  end(tally, 'a', 'crashed');
  expect(tally.count('succeeded')).toBe(1);
  expect(tally.ended).toBe(1);
});

test('watching may begin in the middle of a job', () => {
  const tally = new Tally();
  tally.load({
    id: '1',
    command: 'x',
    status: 'running',
    run_timeout: 1,
    created_at: '',
    updated_at: '',
    nodes: { running: ['a'], succeeded: ['b', 'c'] },
  });
  expect([tally.status, tally.total, tally.ended]).toEqual(['running', 3, 2]);
});

test('on a terminal the line is redrawn in place at most ten times a second', () => {
  let now = 0;
  const world = testWorld({ terminal: true, now: () => now });
  const tally = started(10_000);
  const line = new StatusLine(world, tally);
  for (let event = 0; event < 5_000; event++) {
    vote(tally, `node${event}`, 'success');
    now = event / 5;
    line.update();
  }
  line.done();
  const redraws = world.err().split('voting').length - 1;
  expect(redraws).toBe(10);
  expect(world.err()).not.toContain('\n');
});

test('while a question is asked nothing is drawn over it', () => {
  let now = 0;
  const world = testWorld({ terminal: true, now: () => now });
  const line = new StatusLine(world, started(3));
  line.update();
  line.hold();
  const before = world.err();
  now = 60_000;
  line.update();
  line.trouble('the connection is lost');
  expect(world.err()).toBe(before);
  line.release();
  expect(world.err().length).toBeGreaterThan(before.length);
  line.done();
});

test('a line that a node has begun is left alone, and ended before anything else is written', async () => {
  const world = testWorld({ terminal: true, now: () => 0 });
  const line = new StatusLine(world, started(1));
  const pass = (text: string, to: 'stdout' | 'stderr' = 'stdout', apart?: true) =>
    line.pass([{ to, text, ...(apart && { apart }) }], async () => void world[to].write(text));
  await pass('.');
  line.update();
  await pass('.');
  expect([world.out(), world.err()]).toEqual(['..', '']);
  await line.above(() => void world.stderr.write('batch 2 begins\n'));
  expect([world.out(), world.err()]).toEqual(['..\n', 'batch 2 begins\n']);
  await pass('!');
  await pass('oh', 'stderr');
  await pass('told\n', 'stderr', true);
  expect([world.out(), world.err()]).toEqual(['..\n!\n', 'batch 2 begins\noh\ntold\n']);
  line.done();
  expect(world.out()).toBe('..\n!\n');
});

test('without a terminal a line is written only when the job changes its state', () => {
  const world = testWorld();
  const tally = started(2);
  const line = new StatusLine(world, tally);
  line.update();
  vote(tally, 'a', 'success');
  line.update();
  tally.apply({ name: 'quorum_succeeded', id: null, data: {} });
  line.update();
  end(tally, 'a', 'success');
  line.update();
  tally.apply({ name: 'job_complete', id: null, data: { status: 'complete' } });
  line.done();
  expect(world.err()).toBe('voting: 0 of 2 nodes done\nrunning: 0 of 2 nodes done\ncomplete: 1 of 2 nodes done\n');
});
