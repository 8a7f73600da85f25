import type { Recorder } from '@muster/platform/log';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { FEED_LIMITS } from '../src/feeds/limits.js';
import { LogFeed, positionOf } from '../src/feeds/log-feed.js';
import type { FeedContent } from '../src/log/log-reads.js';
import { OwnEvents, readOwnEvent } from '../src/log/own-events.js';
import { ORG } from './support/event-log.js';
import { openRecorder } from './support/recorder.js';
import { openTestStore, type TestStore } from './support/test-store.js';

/** Feeds by positions of the log, on a real one. */

const FAMILY = new OwnEvents({ prefix: 'thing.', followers: null, schemas: {} });

let test: TestStore;
let recorder: Recorder;

beforeAll(async () => {
  test = await openTestStore();
  recorder = await openRecorder(test.store, test.clock);
});
afterAll(() => test.close());

function openFeed(): LogFeed {
  const feed = new LogFeed({ read: test.store.read, recorder });
  onTestFinished(() => feed.close());
  return feed;
}

async function happen(subject: string, ...names: string[]): Promise<readonly number[]> {
  const stored = await recorder.append(
    names.map((name) => FAMILY.record('thing.step' as never, ORG, { name }, {}, subject)),
  );
  return stored.map(({ position }) => position);
}

const nameOf = (content: FeedContent): string => readOwnEvent(content.event).attributes.name ?? '';

async function take(feed: AsyncGenerator<FeedContent>, count: number): Promise<string[]> {
  const names: string[] = [];
  while (names.length < count) {
    const { value, done } = await feed.next();
    if (done === true) break;
    names.push(nameOf(value));
  }
  return names;
}

const never = (): AbortSignal => new AbortController().signal;

it('a reader without a position gets what happens from now on, of its subject', async () => {
  await happen('q/1', 'before');
  const feed = openFeed().stream('q/1', undefined, never());
  await happen('q/2', 'another');
  await happen('q/1', 'one', 'two');
  expect(await take(feed, 2)).toEqual(['one', 'two']);
});

it('a reader goes on after the position that it saw last, without a gap or a repetition', async () => {
  const [first = 0] = await happen('q/3', 'one', 'two');
  const feed = openFeed().stream('q/3', first, never());
  await happen('q/3', 'three');
  expect(await take(feed, 2)).toEqual(['two', 'three']);
});

it('a reader that falls behind reads from the log what it missed', async () => {
  const feed = openFeed().stream('q/4', undefined, never());
  await happen('q/4', 'first');
  expect(await take(feed, 1)).toEqual(['first']);
  const names = Array.from({ length: FEED_LIMITS.backlog + 10 }, (_, index) => `n${index}`);
  for (let from = 0; from < names.length; from += 100) await happen('q/4', ...names.slice(from, from + 100));
  expect(await take(feed, names.length)).toEqual(names);
});

it('a stream ends when its reader leaves, and when the feed is closed', async () => {
  const open = openFeed();
  const left = new AbortController();
  const first = open.stream('q/5', undefined, left.signal);
  const second = open.stream('q/5', undefined, never());
  left.abort();
  expect(await take(first, 1)).toEqual([]);
  open.close();
  expect(await take(second, 1)).toEqual([]);
  expect(open.readers).toBe(0);
});

it('a position is digits, and nothing else', () => {
  expect(['12', '', 'job-1', '-3', '1e3', undefined].map(positionOf)).toEqual([
    12,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
