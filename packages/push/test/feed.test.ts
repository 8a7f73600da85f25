import type { FeedEvent } from '@muster/platform/feeds';
import type { Recorder } from '@muster/platform/log';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { formatMicros, Timeline } from '../../platform/src/feeds/timeline.js';
import { openRecorder } from '../../platform/test/support/recorder.js';
import { feedEvent } from '../src/events.js';
import { PushFeeds } from '../src/feeds/feed.js';

import { MAX_FEED_BACKLOG, MAX_ORG_EVENTS } from '../src/limits.js';
import type { PushEvent } from '../src/ports.js';
import { savePushJob } from '../src/repository/writes.js';
import { jobId, jobRow, ORG, OTHER_ORG, openTestStore, pushEvent, type TestStore } from './support/push-rows.js';

let test: TestStore;
let recorder: Recorder;
let feeds: PushFeeds;
let job: string;
let jobs = 0;

beforeAll(async () => {
  test = await openTestStore();
  recorder = await openRecorder(test.store, test.clock);
});
afterAll(() => test.close());

beforeEach(async () => {
  feeds = openFeeds();
  job = jobId(++jobs);
  await test.store.commit([savePushJob(jobRow({ id: job }))]);
});

afterEach(() => feeds.close());

function openFeeds(): PushFeeds {
  const { store, clock } = test;
  return new PushFeeds({ read: store.read, recorder, clock, retentionSeconds: 60 });
}

type Told = Pick<PushEvent, 'seq' | 'name' | 'data'>;

const SUCCESS: readonly Told[] = [
  pushEvent(1, 'start', { command: 'x' }),
  pushEvent(2, 'quorum_vote', { node: 'DONKEY', status: 'success' }),
  pushEvent(3, 'quorum_succeeded'),
  pushEvent(4, 'run_start', { node: 'DONKEY' }),
  pushEvent(5, 'run_complete', { node: 'DONKEY', status: 'success' }),
  pushEvent(6, 'job_complete', { status: 'complete' }),
];

function happen(events: readonly Told[], id = job, org = ORG, at = test.clock.now()): Promise<void> {
  const about = { org: { id: org, name: 'acme' }, id };
  const told = events.map(({ seq, name, data }) => feedEvent(about, seq, name, data));
  return recorder.commit([], told, at);
}

function follow(lastEventId?: string): AsyncGenerator<FeedEvent> {
  return feeds.job.stream(ORG, job, lastEventId, new AbortController().signal);
}

async function all(stream: AsyncIterable<FeedEvent>): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function take(stream: AsyncGenerator<FeedEvent>, count: number): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  while (events.length < count) {
    const { value, done } = await stream.next();
    if (done === true) break;
    events.push(value);
  }
  return events;
}

const names = (events: readonly FeedEvent[]): string[] => events.map((event) => event.event);
const ids = (events: readonly FeedEvent[]): string[] => events.map((event) => event.id);
const times = (events: readonly FeedEvent[]): unknown[] => events.map((event) => event.data.timestamp);

describe('sheet §7.10: times in feeds', () => {
  it('have a space, six decimals and a Z', () => {
    expect(formatMicros(Date.UTC(2014, 6, 10, 5, 17, 44, 995) * 1000 + 958)).toBe('2014-07-10 05:17:44.995958Z');
    expect(formatMicros(Date.UTC(2014, 6, 10, 5, 17, 44, 0) * 1000 + 7)).toBe('2014-07-10 05:17:44.000007Z');
  });

  it('are unique and increase although events share a millisecond, or the clock goes back', () => {
    const timeline = new Timeline();
    expect([5, 5, 5, 6, 4, 7].map((at) => timeline.next(at))).toEqual([5000, 5001, 5002, 6000, 6001, 7000]);
  });
});

describe('job feed', () => {
  it('SSE-6: a finished job is replayed from the start, then the stream ends', async () => {
    await happen(SUCCESS);
    const events = await all(follow());
    expect(names(events)).toEqual([
      'start',
      'quorum_vote',
      'quorum_succeeded',
      'run_start',
      'run_complete',
      'job_complete',
    ]);
    expect(ids(events)).toEqual(['job-1', 'job-2', 'job-3', 'job-4', 'job-5', 'job-6']);
    expect([...new Set(times(events))].sort()).toEqual(times(events));
    expect(events[1]?.data).toMatchObject({ node: 'DONKEY', status: 'success' });
  });

  it('SSE-21: the first four events come while it runs, the rest later, then the stream closes', async () => {
    const stream = follow();
    await happen(SUCCESS.slice(0, 4));
    expect(names(await take(stream, 4))).toEqual(['start', 'quorum_vote', 'quorum_succeeded', 'run_start']);
    await happen(SUCCESS.slice(4));
    expect(names(await all(stream))).toEqual(['run_complete', 'job_complete']);
    expect(feeds.job.readers).toBe(0);
  });

  it('SSE-22: several readers get everything', async () => {
    const readers = [follow(), follow()];
    const first = readers.map((stream) => stream.next());
    await happen(SUCCESS);
    const [one, two] = await Promise.all(
      readers.map(async (stream, index) => [(await first[index])?.value, ...(await all(stream))]),
    );
    expect(one).toHaveLength(6);
    expect(two).toEqual(one);
  });

  it('SSE-23: the old events and those after the last seen one are the full stream', async () => {
    await happen(SUCCESS);
    const full = await all(follow());
    for (const [index, event] of full.entries()) {
      expect([...full.slice(0, index + 1), ...(await all(follow(event.id)))]).toEqual(full);
    }
  });

  it.each(['job-0', 'job-7', 'job-99999999999999999999', 'org-1', 'x', 'job-1 '])(
    'SSE-24: the unknown Last-Event-ID %j means from the start',
    async (id) => {
      await happen(SUCCESS);
      expect(await all(follow(id))).toHaveLength(6);
    },
  );

  it('a reader that fell behind loses nothing and repeats nothing', async () => {
    const stream = follow();
    await happen(SUCCESS.slice(0, 1));
    await take(stream, 1);
    const votes = Array.from({ length: MAX_FEED_BACKLOG * 2 + 5 }, (_, index) =>
      pushEvent(index + 2, 'quorum_vote', { node: `n${index}`, status: 'success' }),
    );
    await happen(votes);
    await happen([pushEvent(votes.length + 2, 'job_complete', { status: 'complete' })]);
    const events = await all(stream);
    expect(ids(events)).toEqual(Array.from({ length: votes.length + 1 }, (_, index) => `job-${index + 2}`));
  });

  it('the stream of a job that ends without job_complete closes', async () => {
    const stream = follow();
    await happen(SUCCESS.slice(0, 2));
    await take(stream, 2);
    const next = stream.next();
    feeds.ended(job);
    expect((await next).done).toBe(true);
  });

  it('a reader that goes away is forgotten', async () => {
    const gone = new AbortController();
    const stream = feeds.job.stream(ORG, job, undefined, gone.signal);
    const next = stream.next();
    gone.abort();
    expect((await next).done).toBe(true);
    expect(feeds.job.readers).toBe(0);
  });

  it('a job of another organization has no feed', async () => {
    await happen(SUCCESS);
    expect(await all(feeds.job.stream(OTHER_ORG, job, undefined, new AbortController().signal))).toEqual([]);
  });
});

describe('organization feed', () => {
  const stream = (id?: string, org = ORG): AsyncGenerator<FeedEvent> =>
    feeds.org.stream(org, id, new AbortController().signal);
  const started = (name: string, org = ORG) => happen([pushEvent(1, 'start', { command: 'x' })], name, org);
  const completed = (name: string) => happen([pushEvent(9, 'job_complete', { status: 'complete' })], name);
  /** Id of the newest event, or of one that many before it. */
  const newest = (before = 0): string => `org-${recorder.last - before}`;

  it('shows nothing until something happens', async () => {
    await started('a');
    const reader = stream();
    await started('b');
    const [first] = await take(reader, 1);
    expect(first).toMatchObject({ event: 'start', id: newest(), data: { job: 'b', command: 'x' } });
  });

  it('shows only start and job_complete, each with its job', async () => {
    const reader = stream();
    await happen(SUCCESS);
    const events = await take(reader, 2);
    expect(events.map(({ event, data }) => [event, data.job])).toEqual([
      ['start', job],
      ['job_complete', job],
    ]);
  });

  it('goes on after a known Last-Event-ID', async () => {
    for (const name of ['a', 'b', 'c']) await started(name);
    expect(ids(await take(stream(newest(2)), 2))).toEqual([newest(1), newest()]);
  });

  it('answers an unknown Last-Event-ID with start_of_history and all that is kept', async () => {
    await started('a');
    await completed('a');
    const events = await take(stream('what'), 3);
    expect(names(events)).toEqual(['start_of_history', 'start', 'job_complete']);
    expect(events[0]).toEqual({
      event: 'start_of_history',
      id: 'start_id',
      data: { timestamp: formatMicros((test.clock.now() - 60_000) * 1000) },
    });
  });

  it('forgets events after their retention, and then an old id is unknown', async () => {
    await started('a');
    test.clock.advance(60_000);
    const reader = stream(newest());
    expect(names(await take(reader, 1))).toEqual(['start_of_history']);
    await started('b');
    expect(ids(await take(reader, 1))).toEqual([newest()]);
  });

  it('keeps organizations apart', async () => {
    const reader = stream(undefined, OTHER_ORG);
    await started('a');
    await started('b', OTHER_ORG);
    expect((await take(reader, 1))[0]).toMatchObject({ id: newest(), data: { job: 'b' } });
  });

  it('keeps a bounded number of events', async () => {
    await happen(Array.from({ length: MAX_ORG_EVENTS + 1 }, () => pushEvent(1, 'start')));
    const events = await take(stream('what'), 2);
    expect(events[1]?.id).toBe(newest(MAX_ORG_EVENTS - 1));
  });

  it('a reader that fell behind gets what it missed', async () => {
    const reader = stream();
    await started('first');
    await take(reader, 1);
    const many = MAX_FEED_BACKLOG + 5;
    await happen(Array.from({ length: many }, () => pushEvent(1, 'start')));
    const events = await take(reader, many);
    expect(ids(events)).toEqual(Array.from({ length: many }, (_, index) => newest(many - 1 - index)));
  });

  it('ids count on over a restart, and a reader that reconnects misses nothing', async () => {
    const org = 'e'.repeat(32);
    const now = test.clock.now();
    await happen(
      [pushEvent(1, 'start'), pushEvent(5, 'job_complete', { status: 'complete' })],
      'old',
      org,
      now - 100_000,
    );
    await happen([pushEvent(1, 'start')], 'new', org);
    const seen = newest();
    feeds.close();
    feeds = openFeeds();
    await feeds.load();
    const reader = stream('what', org);
    await happen([pushEvent(5, 'job_complete', { status: 'complete' })], 'new', org);
    expect((await take(reader, 3)).map(({ id, data }) => [id, data.job])).toEqual([
      ['start_id', undefined],
      [seen, 'new'],
      [newest(), 'new'],
    ]);
  });

  it('ends for everybody when the server stops', async () => {
    const next = stream().next();
    feeds.close();
    expect((await next).done).toBe(true);
  });
});
