import type { Recorder } from '@muster/platform/log';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FeedEntry, type FeedKind, feedEvent, newestEntry } from '../src/feeds/feed-kind.js';
import { Feeds } from '../src/feeds/feeds.js';
import { FEED_LIMITS } from '../src/feeds/limits.js';
import type { FeedEvent } from '../src/feeds/show.js';
import { formatMicros, Timeline } from '../src/feeds/timeline.js';
import { OwnEvents } from '../src/log/own-events.js';
import { ORG, OTHER } from './support/event-log.js';
import { openRecorder } from './support/recorder.js';
import { openTestStore, type TestStore } from './support/test-store.js';

/** The feeds of a layer's things, and of an organization, on a real event log. */

type Name = 'start' | 'step' | 'end';

const THINGS: FeedKind<Name> = {
  subjects: 'thing/',
  family: new OwnEvents({ prefix: 'thing.', followers: null, schemas: {} }),
  noun: 'thing',
  last: 'end',
  listed: ['start', 'end'],
};

let test: TestStore;
let recorder: Recorder;
let feeds: Feeds<Name>;
let thing: string;
let things = 0;
/** Of the organization `ORG`. */
const standings = new Map<string, 'open' | 'ended'>();

beforeAll(async () => {
  test = await openTestStore();
  recorder = await openRecorder(test.store, test.clock);
});
afterAll(() => test.close());

beforeEach(() => {
  feeds = openFeeds();
  thing = `t${++things}`;
  standings.set(thing, 'open');
});
afterEach(() => feeds.close());

function openFeeds(): Feeds<Name> {
  const { store, clock } = test;
  return new Feeds({
    kind: THINGS,
    standingOf: async (orgId, id) => (orgId === ORG.id ? standings.get(id) : undefined),
    read: store.read,
    recorder,
    clock,
    retentionSeconds: 60,
  });
}

type Told = Pick<FeedEntry<Name>, 'seq' | 'name' | 'data'>;

const told = (seq: number, name: Name, data: Told['data'] = {}): Told => ({ seq, name, data });

const WHOLE: readonly Told[] = [
  told(1, 'start', { what: 'x' }),
  told(2, 'step', { node: 'a', mark: 'colon: \\ and\nline' }),
  told(3, 'step'),
  told(4, 'end', { how: 'well' }),
];

function happen(events: readonly Told[], id = thing, org = ORG, at = test.clock.now()): Promise<void> {
  const recorded = events.map((event) => feedEvent(THINGS, { org, id }, event, { node: event.data.node }));
  return recorder.commit([], recorded, at);
}

function follow(lastEventId?: string): AsyncGenerator<FeedEvent> {
  return feeds.subject.stream(ORG.id, thing, lastEventId, new AbortController().signal);
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

describe('the feed of one thing', () => {
  it('replays what has ended from the start, then ends', async () => {
    await happen(WHOLE);
    const events = await all(follow());
    expect(names(events)).toEqual(['start', 'step', 'step', 'end']);
    expect(ids(events)).toEqual(['thing-1', 'thing-2', 'thing-3', 'thing-4']);
    expect([...new Set(times(events))].sort()).toEqual(times(events));
    expect(events.map(({ data: { timestamp, ...data } }) => data)).toEqual(WHOLE.map(({ data }) => data));
  });

  it('shows what has happened, the rest when it happens, then ends', async () => {
    const stream = follow();
    await happen(WHOLE.slice(0, 2));
    expect(names(await take(stream, 2))).toEqual(['start', 'step']);
    await happen(WHOLE.slice(2));
    expect(names(await all(stream))).toEqual(['step', 'end']);
    expect(feeds.subject.readers).toBe(0);
  });

  it('shows several readers everything', async () => {
    const readers = [follow(), follow()];
    const first = readers.map((stream) => stream.next());
    await happen(WHOLE);
    const [one, two] = await Promise.all(
      readers.map(async (stream, index) => [(await first[index])?.value, ...(await all(stream))]),
    );
    expect(one).toHaveLength(4);
    expect(two).toEqual(one);
  });

  it('goes on after the event that was seen last: nothing is missing, nothing comes twice', async () => {
    await happen(WHOLE);
    const full = await all(follow());
    for (const [index, event] of full.entries()) {
      expect([...full.slice(0, index + 1), ...(await all(follow(event.id)))]).toEqual(full);
    }
  });

  it.each(['thing-0', 'thing-7', 'thing-99999999999999999999', 'job-2', 'org-1', 'x', 'thing-1 '])(
    'takes the unknown Last-Event-ID %j for none',
    async (id) => {
      await happen(WHOLE);
      expect(await all(follow(id))).toHaveLength(4);
    },
  );

  it('loses nothing and repeats nothing when its reader fell behind', async () => {
    const stream = follow();
    await happen(WHOLE.slice(0, 1));
    await take(stream, 1);
    const steps = Array.from({ length: FEED_LIMITS.backlog * 2 + 5 }, (_, index) => told(index + 2, 'step'));
    await happen(steps);
    await happen([told(steps.length + 2, 'end')]);
    const events = await all(stream);
    expect(ids(events)).toEqual(Array.from({ length: steps.length + 1 }, (_, index) => `thing-${index + 2}`));
  });

  it('ends with the thing, also without its last event', async () => {
    const stream = follow();
    await happen(WHOLE.slice(0, 2));
    await take(stream, 2);
    const next = stream.next();
    feeds.ended(thing);
    expect((await next).done).toBe(true);
    standings.set(thing, 'ended');
    expect(names(await all(follow()))).toEqual(['start', 'step']);
  });

  it('forgets a reader that goes away', async () => {
    const gone = new AbortController();
    const stream = feeds.subject.stream(ORG.id, thing, undefined, gone.signal);
    const next = stream.next();
    gone.abort();
    expect((await next).done).toBe(true);
    expect(feeds.subject.readers).toBe(0);
  });

  it('is not there in another organization', async () => {
    await happen(WHOLE);
    expect(await all(feeds.subject.stream(OTHER.id, thing, undefined, new AbortController().signal))).toEqual([]);
  });

  it('is numbered on from its newest event', async () => {
    expect(await newestEntry(test.store.read, THINGS, thing)).toEqual({ seq: 0, at: 0 });
    await happen(WHOLE.slice(0, 3), thing, ORG, 12_345);
    expect(await newestEntry(test.store.read, THINGS, thing)).toMatchObject({ seq: 3, at: 12_345 });
  });
});

describe('organization feed', () => {
  const stream = (id?: string, org = ORG): AsyncGenerator<FeedEvent> =>
    feeds.organization.stream(org.id, id, new AbortController().signal);
  const started = (name: string, org = ORG) => happen([told(1, 'start', { what: 'x' })], name, org);
  const completed = (name: string) => happen([told(9, 'end')], name);
  /** Id of the newest event, or of one that many before it. */
  const newest = (before = 0): string => `org-${recorder.last - before}`;

  it('shows nothing until something happens', async () => {
    await started('a');
    const reader = stream();
    await started('b');
    const [first] = await take(reader, 1);
    expect(first).toMatchObject({ event: 'start', id: newest(), data: { thing: 'b', what: 'x' } });
  });

  it('shows only what is listed, each with the thing it is about', async () => {
    const reader = stream();
    await happen(WHOLE);
    const events = await take(reader, 2);
    expect(events.map(({ event, data }) => [event, data.thing])).toEqual([
      ['start', thing],
      ['end', thing],
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
    expect(names(events)).toEqual(['start_of_history', 'start', 'end']);
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

  it('keeps nothing of an organization in which nothing happens any more', async () => {
    await started('a', OTHER);
    expect(feeds.organization.size).toBe(1);
    test.clock.advance(60_000);
    await started('b');
    expect(feeds.organization.size).toBe(1);
    expect(names(await take(stream('what', OTHER), 1))).toEqual(['start_of_history']);
  });

  it('keeps organizations apart', async () => {
    const reader = stream(undefined, OTHER);
    await started('a');
    await started('b', OTHER);
    expect((await take(reader, 1))[0]).toMatchObject({ id: newest(), data: { thing: 'b' } });
  });

  it('keeps a bounded number of events', async () => {
    await happen(Array.from({ length: FEED_LIMITS.organization + 1 }, () => told(1, 'start')));
    const events = await take(stream('what'), 2);
    expect(events[1]?.id).toBe(newest(FEED_LIMITS.organization - 1));
  });

  it('a reader that fell behind gets what it missed', async () => {
    const reader = stream();
    await started('first');
    await take(reader, 1);
    const many = FEED_LIMITS.backlog + 5;
    await happen(Array.from({ length: many }, () => told(1, 'start')));
    const events = await take(reader, many);
    expect(ids(events)).toEqual(Array.from({ length: many }, (_, index) => newest(many - 1 - index)));
  });

  it('ids count on over a restart, and a reader that reconnects misses nothing', async () => {
    const org = { id: 'e'.repeat(32), name: 'acme' };
    const now = test.clock.now();
    await happen([told(1, 'start'), told(5, 'end')], 'old', org, now - 100_000);
    await happen([told(1, 'start')], 'new', org);
    const seen = newest();
    feeds.close();
    feeds = openFeeds();
    await feeds.load();
    const reader = stream('what', org);
    await happen([told(5, 'end')], 'new', org);
    expect((await take(reader, 3)).map(({ id, data }) => [id, data.thing])).toEqual([
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
