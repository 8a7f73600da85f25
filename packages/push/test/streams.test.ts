import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appendChunk } from '../../platform/src/output/chunks.js';
import { LiveReaders } from '../../platform/src/output/live.js';
import { outputOf } from '../src/output.js';
import { savePushJob, savePushJobNode } from '../src/repository/writes.js';
import { jobNodeRow, jobRow, jobId as numbered } from './support/push-rows.js';
import { finished, type PushServer, parseEvents, type ReadEvent, startPushServer } from './support/push-server.js';

/** Event feeds over HTTP: the cases of sheet §9.7 that need no real agent; and output (sheet §7.8). */

let server: PushServer;

beforeAll(async () => {
  server = await startPushServer();
  const enter = (name: string, part: Parameters<typeof server.nodes.enter>[2]) =>
    server.nodes.enter(server.org.id, name, part);
  enter('DONKEY', 'succeed');
  enter('FIONA', 'succeed');
  enter('BAD', 'fail');
  enter('NO', 'refuse');
  enter('MUTE', 'silent');
  enter('RUN', 'run');
  enter('DOWN', 'down');
});
afterAll(() => server.close());

const JOB = { command: 'sleep 2', run_timeout: 4 };

const brief = (events: readonly ReadEvent[]): string[] =>
  events.map(({ event, data }) => {
    const about = [data.node, data.status].filter((part) => typeof part === 'string');
    return about.length === 0 ? event : `${event}(${about.join(' ')})`;
  });

async function run(body: object): Promise<string[]> {
  return brief(await server.events(await server.start({ ...JOB, ...body })));
}

/** Reads a live stream piece by piece. */
class Reader {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = '';

  constructor(response: Response) {
    if (response.body === null) throw new Error('no body');
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Everything read once `enough` says so, or the stream has ended. */
  async until(enough: (text: string) => boolean): Promise<string> {
    while (!enough(this.#text)) {
      const { value, done } = await this.#reader.read();
      if (done) break;
      this.#text += value;
    }
    return this.#text;
  }

  async events(count: number): Promise<ReadEvent[]> {
    const text = await this.until((all) => parseEvents(all.slice(0, all.lastIndexOf('\n\n') + 2)).length >= count);
    return parseEvents(text.slice(0, text.lastIndexOf('\n\n') + 2));
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }
}

describe('SSE: the feed of a job', () => {
  it('SSE-1: an unknown job is 404', async () => {
    expect((await server.send({ path: `job_status_feed/${numbered(77)}` })).status).toBe(404);
  });

  it('SSE-2: POST is 405', async () => {
    const id = await server.start({ ...JOB, nodes: ['DOWN'] });
    expect((await server.send({ method: 'POST', path: `job_status_feed/${id}`, body: {} })).status).toBe(405);
    expect((await server.send({ method: 'POST', path: 'job_status_feed', body: {} })).status).toBe(405);
  });

  it('SSE-3: an invalid user is 401', async () => {
    const id = await server.start({ ...JOB, nodes: ['DOWN'] });
    expect((await server.send({ path: `job_status_feed/${id}`, as: 'invalid user' })).status).toBe(401);
  });

  it('SSE-4: a node that is not connected', async () => {
    expect(await run({ nodes: ['DOWN'] })).toEqual([
      'start',
      'quorum_vote(DOWN down)',
      'rehab(DOWN)',
      'job_complete(quorum_failed)',
    ]);
  });

  it('SSE-5: an Accept for JSON is 406', async () => {
    const id = await server.start({ ...JOB, nodes: ['DOWN'] });
    const headers = { accept: 'application/json' };
    expect((await server.send({ path: `job_status_feed/${id}`, headers })).status).toBe(406);
    expect((await server.send({ path: 'job_status_feed', headers })).status).toBe(406);
  });

  it('the answer is an unbuffered event stream', async () => {
    const id = await server.start({ ...JOB, nodes: ['DOWN'] });
    const response = await server.send({ path: `job_status_feed/${id}`, headers: { accept: 'text/event-stream' } });
    expect([response.status, response.headers.get('content-type'), response.headers.get('x-accel-buffering')]).toEqual([
      200,
      'text/event-stream',
      'no',
    ]);
    await response.text();
  });

  it.each([
    ['SSE-6', 'DONKEY', 'success'],
    ['SSE-7', 'BAD', 'failure'],
  ])('%s: one node', async (_id, node, status) => {
    expect(await run({ nodes: [node] })).toEqual([
      'start',
      `quorum_vote(${node} success)`,
      'quorum_succeeded',
      `run_start(${node})`,
      `run_complete(${node} ${status})`,
      'job_complete(complete)',
    ]);
  });

  it('SSE-8: a command that the node refuses', async () => {
    expect(await run({ nodes: ['NO'] })).toEqual(['start', 'quorum_vote(NO failure)', 'job_complete(quorum_failed)']);
  });

  it('SSE-9: a node that never answers', async () => {
    const id = await server.start({ ...JOB, nodes: ['MUTE'] });
    const events = server.events(id);
    server.clock.advance(60_000);
    expect(brief(await events).filter((event) => !event.startsWith('rehab'))).toEqual([
      'start',
      'quorum_vote(MUTE voting_timeout)',
      'job_complete(quorum_failed)',
    ]);
  });

  it('SSE-17: two nodes, one refuses, quorum 1', async () => {
    const events = await run({ nodes: ['NO', 'FIONA'], quorum: 1 });
    expect(events.slice(1, 3).sort()).toEqual(['quorum_vote(FIONA success)', 'quorum_vote(NO failure)']);
    expect([events[0], ...events.slice(3)]).toEqual([
      'start',
      'quorum_succeeded',
      'run_start(FIONA)',
      'run_complete(FIONA success)',
      'job_complete(complete)',
    ]);
  });

  it('SSE-19: after the linger there is one summary', async () => {
    const id = await server.start({ ...JOB, nodes: ['DONKEY'] });
    const replayed = await server.events(id);
    expect(await server.events(id)).toEqual(replayed);
    server.clock.advance(6000);
    const [summary, ...rest] = await server.events(id, { 'last-event-id': 'job-2' });
    expect(rest).toEqual([]);
    expect(summary).toMatchObject({
      event: 'summary',
      id: 'job-1',
      data: { id, command: 'sleep 2', status: 'complete', run_timeout: 4, nodes: { succeeded: ['DONKEY'] } },
    });
    expect(summary?.data.nodes).not.toHaveProperty('failed');
    expect(summary?.data.timestamp).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('SSE-20: a command with a letter that is not ASCII', async () => {
    const id = await server.start({ ...JOB, command: 'écho', nodes: ['DONKEY'] });
    expect((await server.events(id))[0]?.data).toMatchObject({
      command: 'écho',
      run_timeout: 4,
      quorum: 1,
      node_count: 1,
      user: 'admin',
      capture: false,
    });
  });

  it('SSE-21, 25: a live stream shows what has happened, keeps alive, shows the rest, and closes', async () => {
    const id = await server.start({ ...JOB, run_timeout: 60, nodes: ['RUN'] });
    const reader = new Reader(await server.send({ path: `job_status_feed/${id}` }));
    expect(brief(await reader.events(4))).toEqual([
      'start',
      'quorum_vote(RUN success)',
      'quorum_succeeded',
      'run_start(RUN)',
    ]);
    server.clock.advance(15_000);
    await reader.until((text) => text.includes(':keepalive\n'));
    server.nodes.play('RUN', finished(id, 'succeeded'));
    const events = parseEvents(await reader.until(() => false));
    expect(brief(events).slice(4)).toEqual(['run_complete(RUN success)', 'job_complete(complete)']);
    expect(new Set(events.map((event) => event.id)).size).toBe(6);
    const times = events.map((event) => String(event.data.timestamp));
    expect([...new Set(times)].sort()).toEqual(times);
  });

  it('SSE-23: a reader that reconnects goes on after the last event', async () => {
    const id = await server.start({ ...JOB, nodes: ['DONKEY'] });
    const full = await server.events(id);
    expect(await server.events(id, { 'last-event-id': 'job-4' })).toEqual(full.slice(4));
  });

  it('breaks off when the log cannot be read, and says nothing of an end', async () => {
    const id = await server.start({ ...JOB, nodes: ['DONKEY'] });
    await server.events(id);
    await server.test.store.transact(async (trx) => {
      const [first] = await trx
        .selectFrom('event_log')
        .select('first')
        .where('subject', '=', `push/${id}`)
        .orderBy('first')
        .execute();
      if (first === undefined) throw new Error('the job has no events');
      await trx
        .updateTable('event_log')
        .set({ frames: Buffer.of(0) })
        .where('first', '=', first.first)
        .execute();
    });
    const response = await server.send({ path: `job_status_feed/${id}` });
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('SSE-26: options are shown at the start, the file never', async () => {
    const options = { dir: '/tmp', env: { A: '1' }, file: 'raw:x' };
    const id = await server.start({ ...JOB, nodes: ['DOWN'], user: 'bob', ...options });
    const data = (await server.events(id))[0]?.data;
    expect(data).toMatchObject({ job_user: 'bob', dir: '/tmp', env: { A: '1' }, file_specified: true, user: 'admin' });
    expect(data).not.toHaveProperty('file');
  });
});

describe('the feed of an organization', () => {
  it('shows starts and ends of all jobs as they happen, and is resumed', async () => {
    const reader = new Reader(await server.send({ path: 'job_status_feed' }));
    const first = await server.start({ ...JOB, nodes: ['DONKEY'] });
    await server.events(first);
    const second = await server.start({ ...JOB, nodes: ['DOWN'] });
    const events = await reader.events(4);
    expect(events.map(({ event, data }) => [event, data.job, data.status])).toEqual([
      ['start', first, undefined],
      ['job_complete', first, 'complete'],
      ['start', second, undefined],
      ['job_complete', second, 'quorum_failed'],
    ]);
    await reader.leave();
    const headers = { 'last-event-id': events[1]?.id ?? '' };
    const resumed = new Reader(await server.send({ path: 'job_status_feed', headers }));
    expect(await resumed.events(2)).toEqual(events.slice(2));
    await resumed.leave();
  });
});

describe('sheet §7.8: output', () => {
  const chunk = (jobId: string, node: string, position: number, data: Uint8Array | string) =>
    appendChunk({ ...outputOf(jobId, node), stream: 'stdout', position, data: Buffer.from(data) });
  const get = (id: string, node: string, stream = 'stdout', query = '') =>
    server.send({ path: `jobs/${id}/output/${encodeURIComponent(node)}/${stream}${query}` });

  const stored = async (number: number, node: object, ...chunks: [number, Uint8Array | string][]): Promise<string> => {
    const id = numbered(number);
    await server.test.store.commit([
      savePushJob(jobRow({ id, org_id: server.org.id, status: 'complete', phase: 'finished' }, { capture: true })),
      savePushJobNode(jobNodeRow({ job_id: id, node: 'N', status: 'succeeded', ...node })),
      ...chunks.map(([position, data]) => chunk(id, 'N', position, data)),
    ]);
    return id;
  };

  it('is the bytes the node wrote, whatever they are', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const id = await stored(0xa1, { stdout_bytes: 256, stderr_bytes: 0 }, [0, bytes]);
    const response = await get(id, 'N');
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('x-muster-complete')).toBe('true');
    expect(response.headers.get('x-muster-dropped-bytes')).toBe('0');
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    expect(await (await get(id, 'N', 'stdout', '?from=254')).arrayBuffer()).toHaveProperty('byteLength', 2);
    const empty = await get(id, 'N', 'stderr');
    expect([empty.status, await empty.text()]).toEqual([200, '']);
  });

  it('is given in parts, whatever was dropped from its middle', async () => {
    const id = await stored(0xa6, { stdout_bytes: 1000 }, [0, 'head'], [996, 'tail']);
    const part = async (range: string, query = '', more: Record<string, string> = {}) => {
      const path = `jobs/${id}/output/N/stdout${query}`;
      const response = await server.send({ path, headers: { range, ...more } });
      return [response.status, response.headers.get('content-range'), await response.text()];
    };
    expect(await part('bytes=2-5')).toEqual([206, 'bytes 2-5/8', 'adta']);
    expect(await part('bytes=6-')).toEqual([206, 'bytes 6-7/8', 'il']);
    expect(await part('bytes=-1')).toEqual([206, 'bytes 7-7/8', 'l']);
    expect(await part('bytes=0-1,3-4')).toEqual([200, null, 'headtail']);
    expect(await part('bytes=0-1', '', { 'if-range': '"tag"' })).toEqual([200, null, 'headtail']);
    expect(await part('bytes=0-1', '?from=3')).toEqual([200, null, 'dtail']);
    const [status, total, body] = await part('bytes=8-');
    expect([status, total, JSON.parse(String(body))]).toEqual([
      416,
      'bytes */8',
      { error: 'no byte of it is in the range bytes=8-: it has 8' },
    ]);
  });

  it('over the limit says how many bytes were dropped', async () => {
    const id = await stored(0xa2, { stdout_bytes: 1000 }, [0, 'head'], [996, 'tail']);
    const response = await get(id, 'N');
    expect(response.headers.get('x-muster-dropped-bytes')).toBe('992');
    expect(response.headers.get('x-muster-dropped-at')).toBe('4');
    expect(await response.text()).toBe('headtail');
  });

  it('that did not reach the server is not complete, and says why', async () => {
    const id = await stored(0xa5, { status: 'crashed', stdout_bytes: 4, output_missing: 'agent “a” crashed' }, [
      0,
      'head',
    ]);
    const response = await get(id, 'N');
    expect(response.headers.get('x-muster-complete')).toBe('false');
    expect(response.headers.get('x-muster-missing')).toBe('agent ?a? crashed');
    expect(response.headers.get('x-muster-dropped-bytes')).toBe('0');
    expect(await response.text()).toBe('head');
  });

  it('is 404 for an unknown job, an unknown node, a stream that does not exist, and when nothing is stored', async () => {
    const id = await stored(0xa3, {});
    const statuses = [
      await get(numbered(77), 'N'),
      await get(id, 'X'),
      await get(id, 'N', 'stdlog'),
      await get(id, 'N'),
    ].map((response) => response.status);
    expect(statuses).toEqual([404, 404, 404, 404]);
  });

  it('needs an Accept that allows it', async () => {
    const id = await stored(0xa4, { stdout_bytes: 0 });
    const path = `jobs/${id}/output/N/stdout`;
    expect((await server.send({ path, headers: { accept: 'application/json' } })).status).toBe(406);
  });

  it('is readable while the command runs, and followed to its end', async () => {
    const id = await server.start({ ...JOB, run_timeout: 60, capture_output: true, nodes: ['RUN'] });
    await new Reader(await server.send({ path: `job_status_feed/${id}` })).events(4);
    const follower = new Reader(await get(id, 'RUN', 'stdout', '?follow=true'));
    const output = (offset: number, text: string) =>
      server.nodes.play('RUN', { type: 'output', jobId: id, stream: 'stdout', offset, data: Buffer.from(text) });
    output(0, 'one\n');
    expect(await follower.until((text) => text.length >= 4)).toBe('one\n');
    const running = await get(id, 'RUN');
    expect([running.headers.get('x-muster-complete'), await running.text()]).toEqual(['false', 'one\n']);
    const soFar = await server.send({ path: `jobs/${id}/output/RUN/stdout`, headers: { range: 'bytes=1-' } });
    expect([soFar.status, soFar.headers.get('content-range'), await soFar.text()]).toEqual([
      206,
      'bytes 1-3/*',
      'ne\n',
    ]);
    output(4, 'two\n');
    server.nodes.play('RUN', finished(id, 'succeeded', { stdout: 8, stderr: 0 }));
    expect(await follower.until(() => false)).toBe('one\ntwo\n');
    await server.events(id);
    const complete = await get(id, 'RUN');
    expect([complete.headers.get('x-muster-complete'), await complete.text()]).toEqual(['true', 'one\ntwo\n']);
    expect((await get(id, 'RUN', 'stderr')).status).toBe(200);
  });
});

describe('what all nodes write, in one stream', () => {
  const output = (id: string, node: string, stream: 'stdout' | 'stderr', offset: number, text: string | Uint8Array) =>
    server.nodes.play(node, { type: 'output', jobId: id, stream, offset, data: Buffer.from(text) });
  const shown = (events: readonly ReadEvent[]) =>
    events.map(({ event, data }) => [event, data.node, data.stream, data.offset, data.text ?? data.base64]);
  const whole = async (id: string) => parseEvents(await (await server.send({ path: `jobs/${id}/output` })).text());

  it('is what is stored, then what comes, to the end of the job', async () => {
    server.nodes.enter(server.org.id, 'RUN2', 'run');
    const id = await server.start({ ...JOB, run_timeout: 60, capture_output: true, nodes: ['RUN', 'RUN2'] });
    await new Reader(await server.send({ path: `job_status_feed/${id}` })).events(6);
    output(id, 'RUN', 'stdout', 0, 'one\n');
    const reader = new Reader(await server.send({ path: `jobs/${id}/output` }));
    await reader.events(1);
    output(id, 'RUN2', 'stderr', 0, new Uint8Array([0xff]));
    output(id, 'RUN', 'stdout', 0, 'one\n');
    // The middle of too much is dropped by the agent.
    output(id, 'RUN', 'stdout', 10, 'two\n');
    server.nodes.play('RUN', finished(id, 'succeeded', { stdout: 14, stderr: 0 }));
    await reader.events(4);
    server.nodes.play('RUN2', { type: 'error', jobId: id, reason: 'cannot go on' });
    expect(shown(parseEvents(await reader.until(() => false)))).toEqual([
      ['output', 'RUN', 'stdout', 0, 'one\n'],
      ['output', 'RUN2', 'stderr', 0, '/w=='],
      ['output', 'RUN', 'stdout', 10, 'two\n'],
      ['output_end', 'RUN', undefined, undefined, undefined],
      ['output_end', 'RUN2', undefined, undefined, undefined],
      ['output_missing', 'RUN2', undefined, undefined, undefined],
      ['output_complete', undefined, undefined, undefined, undefined],
    ]);
    expect(shown(await whole(id)).sort()).toHaveLength(7);
  });

  it('is only for who may read the output of the job', async () => {
    const id = await server.start({ ...JOB, nodes: ['DOWN'] });
    expect((await server.send({ path: `jobs/${id}/output`, as: 'outside user' })).status).toBe(403);
    expect((await server.send({ path: `jobs/${numbered(78)}/output` })).status).toBe(404);
  });

  it('waits for a slow reader in the store, not in memory', async () => {
    const readers = new LiveReaders();
    const reader = readers.open('push/1');
    const piece = { subject: 'push/1', part: 'web1', stream: 'stdout', data: Buffer.alloc(65_536) } as const;
    for (let n = 0; n < 100; n++) readers.push({ ...piece, offset: n * 65_536 });
    const { pieces, behind } = reader.take();
    expect(pieces.length).toBeLessThan(65);
    expect([...behind].map(({ part, stream }) => [part, stream])).toEqual([['web1', 'stdout']]);
    readers.close('push/1', reader);
    expect(readers.size).toBe(0);
  });
});

describe('a server that stops', () => {
  it('ends every stream', async () => {
    const own = await startPushServer();
    own.nodes.enter(own.org.id, 'RUN', 'run');
    const id = await own.start({ ...JOB, capture_output: true, nodes: ['RUN'] });
    const feed = new Reader(await own.send({ path: `job_status_feed/${id}` }));
    await feed.events(4);
    const readers = [
      feed,
      new Reader(await own.send({ path: 'job_status_feed' })),
      new Reader(await own.send({ path: `jobs/${id}/output/RUN/stdout?follow=true` })),
      new Reader(await own.send({ path: `jobs/${id}/output` })),
    ];
    const ends = readers.map((reader) => reader.until(() => false));
    await own.close();
    expect(await Promise.all(ends)).toHaveLength(4);
  });
});

describe('feeds and followed outputs together', () => {
  it('are bounded for each principal: one more is 503, until one ends', async () => {
    const own = await startPushServer({}, { all: 10, perReader: 2 });
    try {
      own.nodes.enter(own.org.id, 'RUN', 'run');
      const id = await own.start({ ...JOB, run_timeout: 60, capture_output: true, nodes: ['RUN'] });
      const feed = new Reader(await own.send({ path: `job_status_feed/${id}` }));
      await feed.events(4);
      const follow = { path: `jobs/${id}/output/RUN/stdout?follow=true` };
      const follower = new Reader(await own.send(follow));
      for (const path of [follow.path, 'job_status_feed', `job_status_feed/${id}`]) {
        const refused = await own.send({ path });
        expect([refused.status, refused.headers.get('x-muster-error')]).toEqual([503, 'too_busy']);
      }
      expect((await own.send({ path: `jobs/${id}/output/RUN/stdout` })).status).toBe(200);
      own.nodes.play('RUN', finished(id, 'succeeded', { stdout: 0, stderr: 0 }));
      await follower.until(() => false);
      await feed.until(() => false);
      await expect.poll(async () => (await own.send({ path: `job_status_feed/${id}` })).status).toBe(200);
    } finally {
      await own.close();
    }
  });
});
