import { type EventEmitter, once } from 'node:events';
import { ManualClock } from '@muster/base';
import { fastify } from 'fastify';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { passageOf } from '../src/http/passage.js';
import { EventStreams } from '../src/http/sse.js';
import { Metrics } from '../src/metrics/metrics.js';
import { answerOutput } from '../src/output/answer.js';
import { OutputFollowers } from '../src/output/followers.js';
import type { SourceStanding } from '../src/output/types.js';
import { openTestStore, type TestStore } from './support/test-store.js';

/** Who follows the output of a command that writes nothing is let go nevertheless. */

let test: TestStore;
beforeAll(async () => {
  test = await openTestStore();
});
afterAll(() => test.close());

const RUNNING: SourceStanding = {
  ended: false,
  captured: true,
  running: true,
  written: { stdout: null, stderr: null },
  missing: null,
};

async function serve(stopping: AbortSignal, meanwhile: (response: EventEmitter) => Promise<unknown>) {
  const streams = new EventStreams({ clock: new ManualClock(), metrics: new Metrics() });
  const followers = new OutputFollowers();
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const app = fastify({ forceCloseConnections: true });
  app.addHook('onRequest', async (request) => {
    passageOf(request).admission = { reader: 'p', watch: () => leave };
  });
  app.get('/output', async (request, reply) => {
    const of = { subject: 'task/1', part: 'web1', stream: 'stdout' } as const;
    let asked = 0;
    await answerOutput(
      reply,
      { read: test.store.read, followers, streams, logger: request.log, stopping },
      of,
      { follow: 'true' },
      async () => {
        if (asked++ === 0) await meanwhile(reply.raw);
        return RUNNING;
      },
    );
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return { url: `${url}/output`, followers, left };
}

it('a follower that left before the first byte holds no place', async () => {
  const reader = new AbortController();
  const { url, followers, left } = await serve(new AbortController().signal, (response) => {
    reader.abort();
    return once(response, 'close');
  });
  await expect(fetch(url, { signal: reader.signal })).rejects.toThrow('aborted');
  await left;
  expect(followers.size).toBe(0);
});

it('a follower that comes while the server stops is let go at once', async () => {
  const stopping = new AbortController();
  const { url, followers, left } = await serve(stopping.signal, async () => stopping.abort());
  expect(await (await fetch(url)).text()).toBe('');
  await left;
  expect(followers.size).toBe(0);
});
