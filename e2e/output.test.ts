import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { until } from './support/until.js';

/** Captured output of real commands, streamed while they run. */
const LIMIT = 65_536;

let cluster: Cluster;
let held: HeldCommand;

beforeAll(async () => {
  cluster = await Cluster.start({ flags: ['--push-output-limit', String(LIMIT)] });
  held = new HeldCommand(cluster.dir, 'held');
  await cluster.startAgents({
    a: {
      grace: 1,
      commands: {
        numbers: { shell: `seq 1 2000; ${held.shell}; seq 2001 4000` },
        much: { shell: 'seq 1 200000' },
        both: { shell: 'for n in $(seq 1 300); do echo out $n; echo err $n >&2; done' },
      },
    },
  });
});
beforeEach(() => held.reset());
afterAll(() => cluster.stop());

async function output(id: string, stream = 'stdout') {
  const reply = await cluster.api.get(`pushy/jobs/${id}/output/a/${stream}`, { accept: 'application/octet-stream' });
  return { text: reply.text, dropped: reply.headers['x-muster-dropped-bytes'] };
}

const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, n) => `${from + n}\n`).join('');

test('what a command has written can be read while it runs', async () => {
  const id = await cluster.startJob({ command: 'numbers', nodes: ['a'], capture_output: true });
  await until('the first half', async () => (await output(id)).text === numbers(1, 2000));
  held.release();
  await cluster.jobIs(id, 'complete');
  expect((await output(id)).text).toBe(numbers(1, 4000));
});

describe('a server killed with -9 in the middle', () => {
  test('loses nothing that the command wrote before, meanwhile and after', async () => {
    const id = await cluster.startJob({ command: 'numbers', nodes: ['a'], capture_output: true });
    await until('the command to run', () => held.runs.length === 1);
    await cluster.killServer('SIGKILL');
    held.release();
    await cluster.restartServer();
    expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ succeeded: ['a'] });
    expect((await output(id)).text).toBe(numbers(1, 4000));
  });
});

test('of more than the limit the beginning and the end are kept, and the reader is told what is missing', async () => {
  const id = await cluster.startJob({ command: 'much', nodes: ['a'], capture_output: true });
  await cluster.jobIs(id, 'complete');
  const { text, dropped } = await output(id);
  const whole = numbers(1, 200_000);
  expect(text.length).toBeLessThanOrEqual(LIMIT);
  expect(text.length).toBeGreaterThan(LIMIT / 2);
  expect(whole.startsWith(text.slice(0, LIMIT / 4))).toBe(true);
  expect(whole.endsWith(text.slice(-LIMIT / 4))).toBe(true);
  expect(Number(dropped)).toBe(whole.length - text.length);
});

test('both streams are kept apart and in order', async () => {
  const id = await cluster.startJob({ command: 'both', nodes: ['a'], capture_output: true });
  await cluster.jobIs(id, 'complete');
  const lines = (word: string) => Array.from({ length: 300 }, (_, n) => `${word} ${n + 1}\n`).join('');
  expect((await output(id, 'stdout')).text).toBe(lines('out'));
  expect((await output(id, 'stderr')).text).toBe(lines('err'));
});

test('an aborted command’s output until then is kept', async () => {
  const id = await cluster.startJob({ command: 'numbers', nodes: ['a'], capture_output: true });
  await until('the first half', async () => (await output(id)).text === numbers(1, 2000));
  await cluster.api.put(`pushy/jobs/${id}/abort`);
  await cluster.jobIs(id, 'aborted');
  expect((await output(id)).text).toBe(numbers(1, 2000));
});
