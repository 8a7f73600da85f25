import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { ManualClock } from '@muster/base';
import { fastify } from 'fastify';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Admission, passageOf } from '../src/http/passage.js';
import { type EventStream, EventStreams, type StreamEnd } from '../src/http/sse.js';
import { Metrics } from '../src/metrics/metrics.js';

interface Fixture {
  readonly clock: ManualClock;
  readonly metrics: Metrics;
  readonly streams: EventStreams;
  /** The stream that the next reader gets. */
  readonly stream: Promise<EventStream>;
  readonly port: number;
}

const KEEPALIVE_MS = 15_000;
const started: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of started.splice(0)) await stop();
});

interface Serving {
  readonly bufferBytes?: number;
  /** What the route does before it opens the stream. */
  readonly before?: (response: ServerResponse) => Promise<unknown>;
}

async function serve({ bufferBytes, before }: Serving = {}): Promise<Fixture> {
  const clock = new ManualClock();
  const metrics = new Metrics();
  const streams = new EventStreams({ clock, metrics });
  const app = fastify({ forceCloseConnections: true });
  const admission: Admission = { reader: 'p', watch: () => () => undefined };
  app.addHook('onRequest', async (request) => {
    passageOf(request).admission = admission;
  });
  let opened: (stream: EventStream) => void = () => undefined;
  const stream = new Promise<EventStream>((resolve) => {
    opened = resolve;
  });
  app.get('/feed', async (_request, reply) => {
    await before?.(reply.raw);
    opened(streams.open(reply, { keepaliveMs: KEEPALIVE_MS, ...(bufferBytes && { bufferBytes }) }));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  started.push(() => app.close());
  const address = app.server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  return { clock, metrics, streams, stream, port: address.port };
}

function read({ port }: Fixture): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/feed`);
}

function ended(stream: EventStream): Promise<StreamEnd> {
  return new Promise((resolve) => stream.onClose(resolve));
}

async function closings(metrics: Metrics, cause: StreamEnd): Promise<number> {
  const counted = await metrics.registry.getSingleMetric('muster_event_streams_closed_total')?.get();
  return counted?.values.find(({ labels }) => labels.cause === cause)?.value ?? 0;
}

describe('an event stream', () => {
  it('has the headers of sheet §7.10', async () => {
    const fixture = await serve();
    const response = await read(fixture);
    (await fixture.stream).end();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('transfer-encoding')).toBe('chunked');
  });

  it('writes event, id and data lines, separated by an empty line', async () => {
    const fixture = await serve();
    const response = await read(fixture);
    const stream = await fixture.stream;
    stream.send({ event: 'start', id: 'job-1', data: { command: 'é\n"x"' } });
    stream.send({ event: 'job_complete', id: 'job-2', data: { status: 'complete' } });
    stream.end();
    expect(await response.text()).toBe(
      'event: start\nid: job-1\ndata: {"command":"é\\n\\"x\\""}\n\n' +
        'event: job_complete\nid: job-2\ndata: {"status":"complete"}\n\n',
    );
  });

  it('gets a comment when idle, and only then', async () => {
    const fixture = await serve();
    const response = await read(fixture);
    const stream = await fixture.stream;
    fixture.clock.advance(KEEPALIVE_MS - 1);
    stream.send({ event: 'start', id: 'job-1', data: {} });
    fixture.clock.advance(KEEPALIVE_MS - 1);
    fixture.clock.advance(1);
    stream.end();
    expect(await response.text()).toBe('event: start\nid: job-1\ndata: {}\n\n:keepalive\n\n');
    expect(fixture.clock.pending).toBe(0);
  });

  it('takes nothing more once it ended', async () => {
    const fixture = await serve();
    const response = await read(fixture);
    const stream = await fixture.stream;
    stream.end();
    expect(stream.send({ event: 'late', id: 'job-9', data: {} })).toBe(false);
    expect(stream.closed).toBe(true);
    expect(await response.text()).toBe('');
    expect(await closings(fixture.metrics, 'finished')).toBe(1);
  });

  it('breaks off when what it shows fails: its reader cannot take what came for all there was', async () => {
    const fixture = await serve();
    const response = await read(fixture);
    const stream = await fixture.stream;
    stream.send({ event: 'start', id: 'job-1', data: {} });
    stream.fail();
    await expect(response.text()).rejects.toThrow('terminated');
    expect(stream.closed).toBe(true);
    expect(await closings(fixture.metrics, 'failed')).toBe(1);
  });

  it('notices that its reader left', async () => {
    const fixture = await serve();
    const abort = new AbortController();
    await fetch(`http://127.0.0.1:${fixture.port}/feed`, { signal: abort.signal });
    const stream = await fixture.stream;
    const end = ended(stream);
    abort.abort();
    expect(await end).toBe('reader_left');
  });

  it('is over when its reader has left before it was opened', async () => {
    const abort = new AbortController();
    const before = (response: ServerResponse): Promise<unknown> => {
      abort.abort();
      return once(response, 'close');
    };
    const fixture = await serve({ before });
    await expect(fetch(`http://127.0.0.1:${fixture.port}/feed`, { signal: abort.signal })).rejects.toThrow('aborted');
    expect(await ended(await fixture.stream)).toBe('reader_left');
    expect(fixture.clock.pending).toBe(0);
  });

  it('is cut off, and counted, when its reader does not keep up', async () => {
    const fixture = await serve({ bufferBytes: 64 * 1024 });
    const socket: Socket = createConnection(fixture.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET /feed HTTP/1.1\r\nHost: x\r\n\r\n');
    const stream = await fixture.stream;
    const end = ended(stream);
    const data = 'x'.repeat(16 * 1024);
    while (stream.send({ event: 'output', id: 'job-1', data })) await new Promise(setImmediate);
    expect(await end).toBe('reader_slow');
    expect(await closings(fixture.metrics, 'reader_slow')).toBe(1);
  });

  it('ends cleanly when the server stops', async () => {
    const fixture = await serve();
    const response = await read(fixture);
    const stream = await fixture.stream;
    stream.send({ event: 'start', id: 'job-1', data: {} });
    fixture.streams.shutdown();
    expect(await response.text()).toContain('event: start');
    expect(await closings(fixture.metrics, 'shutdown')).toBe(1);
  });

  it('ends at once when it is opened while the server stops', async () => {
    const fixture = await serve();
    fixture.streams.shutdown();
    expect(await (await read(fixture)).text()).toBe('');
    expect(await closings(fixture.metrics, 'shutdown')).toBe(1);
  });
});
