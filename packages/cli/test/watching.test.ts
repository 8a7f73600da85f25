import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type Answer, type ApiServer, apiServer, json, type Received } from './support/api-server.js';
import { type TestWorld, testWorld } from './support/world.js';

const JOB = '/organizations/o/pushy/jobs/J';
const FEED = '/organizations/o/pushy/job_status_feed/J';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let server: ApiServer | undefined;
afterEach(() => server?.close());

/** A job whose feed and end a test writes itself. */
class ScriptedJob {
  status = 'running';
  nodes: Record<string, string[]> = { running: ['a', 'b'] };
  aborted = 0;
  /** Where its output is read; absent: it has none. */
  output: ServerResponse | undefined;
  captured = false;
  /** Names of nodes that it waits for; absent: it waits for none. */
  busy: string[] | undefined;
  readonly readers: { readonly request: Received; readonly response: ServerResponse }[] = [];
  #waiting: (() => void)[] = [];

  get routes(): Readonly<Record<string, Answer>> {
    const about: Answer = (request, response) =>
      json({
        ...{ id: 'J', command: 'x', status: this.status, run_timeout: 1, nodes: this.nodes },
        capture_output: this.captured,
        ...(this.busy !== undefined && { when_busy: 'wait' }),
      })(request, response);
    return {
      [`GET ${JOB}`]: about,
      [`GET ${JOB}/output`]: (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        this.output = response;
        this.#wake();
      },
      [`GET ${JOB}/why`]: (request, response) =>
        json({
          why: [],
          nodes: [
            { node_name: 'r', status: 'ready', waits_for: 'quorum', reason: 'is ready', job_id: null, since: null },
            ...(this.busy ?? []).map((node_name) => ({
              ...{ node_name, status: 'new', waits_for: 'node', reason: 'is busy', job_id: 'K', since: null },
            })),
          ],
        })(request, response),
      [`PUT ${JOB}/abort`]: (request, response) => {
        this.aborted++;
        about(request, response);
        this.#wake();
      },
      [`GET ${JOB}/nodes`]: (request, response) =>
        json(
          Object.entries(this.nodes).flatMap(([status, names]) =>
            names.map((node_name) => ({
              node_name,
              status,
              reason: null,
              exit_code: null,
              signal: null,
              updated_at: '',
            })),
          ),
        )(request, response),
      [`GET ${FEED}`]: (request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        this.readers.push({ request, response });
        this.#wake();
      },
    };
  }

  /** Resolves when `ready` holds; looked at after every request that changes something. */
  async when(ready: () => boolean): Promise<void> {
    while (!ready()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  send(reader: number, id: number, name: string, data: object): void {
    const text = `event: ${name}\nid: job-${id}\ndata: ${JSON.stringify(data)}\n\n`;
    this.readers[reader]?.response.write(text);
  }

  end(status: string, nodes: Record<string, string[]>): void {
    this.status = status;
    this.nodes = nodes;
  }
}

async function watching(
  job: ScriptedJob,
  options: { readonly terminal?: boolean; readonly argv?: readonly string[]; readonly now?: () => number } = {},
): Promise<{ readonly world: TestWorld; readonly exit: Promise<number> }> {
  server = await apiServer(job.routes);
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({
    env,
    terminal: options.terminal === true,
    ...(options.now !== undefined && { now: options.now }),
  });
  const exit = run(options.argv ?? ['push', 'watch', 'J'], world);
  await job.when(() => job.readers.length === 1);
  return { world, exit };
}

test('watching ends with the job; the exit code is its success', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job);
  job.end('complete', { succeeded: ['a', 'b'] });
  job.send(0, 7, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
  expect(world.out()).toBe('Job J complete\n2 nodes completed successfully\n');
});

test('a node that failed is shown, and the exit code is 1', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job);
  job.end('complete', { succeeded: ['a'], failed: ['b'] });
  job.send(0, 7, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(1);
  expect(world.out()).toContain('1 node completed with errors\n1 node completed successfully\n');
  expect(world.out()).toMatch(/^b +failed/m);
});

test('a broken stream is opened again after the last event, and no event is told twice', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job, { argv: ['push', 'watch', 'J', '--json'] });
  job.send(0, 1, 'run_start', { node: 'a' });
  job.send(0, 2, 'run_start', { node: 'b' });
  job.readers[0]?.response.end();
  await job.when(() => job.readers.length === 2);
  expect(job.readers[1]?.request.headers['last-event-id']).toBe('job-2');
  job.end('complete', { succeeded: ['a', 'b'] });
  job.send(1, 3, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
  const lines = world
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string });
  expect(lines.map(({ id }) => id)).toEqual(['job-1', 'job-2', 'job-3']);
});

test('a stream that ended before the job is read on, also when the job has ended meanwhile', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job, { argv: ['push', 'watch', 'J', '--json'] });
  job.send(0, 1, 'run_start', { node: 'a' });
  job.end('complete', { succeeded: ['a', 'b'] });
  job.readers[0]?.response.end();
  await job.when(() => job.readers.length === 2);
  expect(job.readers[1]?.request.headers['last-event-id']).toBe('job-1');
  job.send(1, 2, 'run_complete', { node: 'a', status: 'success' });
  job.send(1, 3, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
  const ids = [...world.out().matchAll(/"id":"(job-\d+)"/g)].map(([, id]) => id);
  expect(ids).toEqual(['job-1', 'job-2', 'job-3']);
});

test('what the feed repeats of the past does not turn the status back', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job);
  job.send(0, 1, 'start', { node_count: 2 });
  job.send(0, 2, 'quorum_vote', { node: 'a', status: 'success' });
  job.send(0, 3, 'quorum_succeeded', {});
  job.end('complete', { succeeded: ['a', 'b'] });
  job.send(0, 4, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
  expect(world.err()).toBe('running: 0 of 2 nodes done\ncomplete: 2 of 2 nodes done\n');
});

test('the last line counts nodes that were never started, though no event tells of them', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job);
  job.end('quorum_failed', { was_ready: ['a'], nacked: ['b'] });
  job.send(0, 1, 'job_complete', { status: 'quorum_failed' });
  expect(await exit).toBe(1);
  const counted = 'running: 0 of 2 nodes done\nquorum_failed: nothing ran\n';
  expect(world.err()).toBe(`${counted}--quorum 1, or --available, needs fewer\n`);
});

test('sheet §7.10: a job that crashed ends without an event, and watching ends too', async () => {
  const job = new ScriptedJob();
  const { exit } = await watching(job);
  job.end('crashed', { crashed: ['a', 'b'] });
  job.readers[0]?.response.end();
  // It is read once more, and tells nothing.
  await job.when(() => job.readers.length === 2);
  job.readers[1]?.response.end();
  expect(await exit).toBe(1);
});

test.each([
  ['below the status on a terminal', true, '\n\u001b[2Kwaits for 2 busy nodes: muster push why J\r\u001b[1A'],
  ['once elsewhere', false, 'waits for 2 busy nodes: muster push why J\n'],
])('how many busy nodes are waited for is told: %s', async (_, terminal, told) => {
  const job = new ScriptedJob();
  job.status = 'voting';
  job.nodes = { new: ['a', 'b'], ready: ['r'] };
  job.busy = ['a', 'b'];
  let time = 0;
  const { world, exit } = await watching(job, { terminal, now: () => (time += 1000) });
  while (!world.err().includes('busy')) await sleep(20);
  expect(world.err()).toContain(told);
  job.end('complete', { succeeded: ['a', 'b', 'r'] });
  job.send(0, 7, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
});

test('Ctrl-C at a terminal asks; yes aborts, and watching goes on to the end', async () => {
  const job = new ScriptedJob();
  let time = 0;
  // Each look at the clock is a second later, so that the status is drawn each time.
  const { world, exit } = await watching(job, { terminal: true, now: () => (time += 1000) });
  world.signal('SIGINT');
  expect(world.err()).toContain('Abort job J?');
  world.type('y\n');
  await job.when(() => job.aborted === 1);
  while (!world.err().includes('aborting')) await nextTurn();
  job.end('aborted', { aborted: ['a', 'b'] });
  job.send(0, 7, 'job_complete', { status: 'aborted' });
  expect(await exit).toBe(1);
  // In a line of its own, not behind the status.
  expect(world.err()).toContain('\u001b[Jaborting\n');
});

test.each([
  ['who said yes', ['push', 'watch', 'J']],
  ['push abort --wait', ['push', 'abort', 'J', '--wait']],
])('a job that is being aborted is not asked about: %s', async (_, argv) => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job, { terminal: true, argv });
  if (argv.includes('watch')) {
    world.signal('SIGINT');
    world.type('y\n');
    while (!world.err().includes('aborting')) await nextTurn();
  }
  const before = world.err();
  world.signal('SIGINT');
  expect(await exit).toBe(130);
  expect(world.err().slice(before.length)).not.toContain('Abort');
  expect(world.err()).toContain('The job is being aborted. Watch: muster push watch J\n');
});

test('Ctrl-C at a terminal asks; no changes nothing', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job, { terminal: true });
  world.signal('SIGINT');
  world.type('n\n');
  job.end('complete', { succeeded: ['a', 'b'] });
  job.send(0, 7, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
  expect(job.aborted).toBe(0);
});

/** A terminal on which a question stands, while a node writes and a batch begins. */
async function asked() {
  const job = new ScriptedJob();
  job.captured = true;
  const { world, exit } = await watching(job, { terminal: true });
  await job.when(() => job.output !== undefined);
  world.signal('SIGINT');
  const write = (name: string, offset: number, text: string) =>
    job.output?.write(
      `event: ${name}\nid: x-${offset}\ndata: ${JSON.stringify({ node: 'a', stream: 'stdout', offset, text })}\n\n`,
    );
  write('output', 0, 'scrolls away\n');
  job.send(0, 1, 'batch', { batch: 2, status: 'begun' });
  await sleep(200);
  expect([world.out(), world.err().split('[y/N] ').at(-1)]).toEqual(['', '']);
  return { job, world, exit, write };
}

test.each([
  ['below the line of its batch', ['batch', 'run_start']],
  ['though the job tells nothing, after a moment', []],
] as const)('what a node writes is shown %s', async (_, names) => {
  const job = new ScriptedJob();
  job.captured = true;
  const { world, exit } = await watching(job, { terminal: false });
  await job.when(() => job.output !== undefined);
  const written = { node: 'a', stream: 'stdout', offset: 0, text: 'hello\n' };
  job.output?.write(`event: output\nid: x-1\ndata: ${JSON.stringify(written)}\n\n`);
  await sleep(100);
  expect(world.out()).toBe('');
  if (names.length > 0) {
    job.send(0, 1, 'batch', { batch: 1, status: 'begun' });
    job.send(0, 2, 'run_start', { node: 'a' });
  }
  await expect.poll(() => world.out(), { timeout: 3000 }).toBe('a: hello\n');
  job.output?.end('event: output_complete\nid: x-2\ndata: {}\n\n');
  job.end('complete', { succeeded: ['a', 'b'] });
  job.send(0, 7, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
});

test('nothing scrolls the question away: what is written meanwhile comes when it is answered', async () => {
  const { job, world, exit, write } = await asked();
  world.type('n\n');
  while (!world.out().includes('a:')) await nextTurn();
  expect(world.out()).toMatch(/scrolls away\n$/);
  write('output_complete', 13, '');
  job.end('complete', { succeeded: ['a', 'b'] });
  job.send(0, 7, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
});

test('with the job the question ends, and what was written meanwhile is shown', async () => {
  const { job, world, exit, write } = await asked();
  write('output_complete', 13, '');
  job.end('complete', { succeeded: ['a', 'b'] });
  job.send(0, 7, 'job_complete', { status: 'complete' });
  expect(await exit).toBe(0);
  expect(world.out()).toContain('scrolls away\n');
  expect(world.err()).toContain('batch 2 begins\n');
});

test('who leaves at the question is shown nothing more', async () => {
  const { world, exit } = await asked();
  world.signal('SIGINT');
  expect(await exit).toBe(130);
  expect([world.out(), world.err().includes('batch 2')]).toEqual(['', false]);
});

test('a second Ctrl-C leaves the job running and says how to go on', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job, { terminal: true });
  world.signal('SIGINT');
  world.signal('SIGINT');
  expect(await exit).toBe(130);
  expect(job.aborted).toBe(0);
  expect(world.err()).toContain('muster push watch J');
  expect(world.err()).toContain('muster push abort J');
});

test('without a terminal Ctrl-C asks nothing and leaves the job running', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job);
  world.signal('SIGTERM');
  expect(await exit).toBe(143);
  expect(world.err()).not.toContain('Abort job');
  expect(job.aborted).toBe(0);
});

test('leaving needs nothing of the feed, also after a garbage collection', async () => {
  const job = new ScriptedJob();
  const { world, exit } = await watching(job, { argv: ['push', 'watch', 'J', '--json'] });
  job.send(0, 1, 'run_start', { node: 'a' });
  while (!world.out().includes('job-1')) await nextTurn();
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await nextTurn();
  }
  world.signal('SIGINT');
  expect(await exit).toBe(130);
});

test('a feed that is refused is an error, not a reason to try for ever', async () => {
  server = await apiServer({ [`GET ${JOB}`]: json({ id: 'J', status: 'running', nodes: {} }) });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'watch', 'J'], world)).toBe(4);
});
