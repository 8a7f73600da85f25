import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appendChunk, clearOutput, extentOf, extentsOf, positionOf } from '../src/output/chunks.js';
import { OutputFollowers } from '../src/output/followers.js';
import { OUTPUT_LIMITS } from '../src/output/limits.js';
import { LiveReaders, liveOutput } from '../src/output/live.js';
import { followedOutput, storedOutput, summarizeOutput } from '../src/output/reading.js';
import type { SourceStanding, SourceStream } from '../src/output/types.js';
import { openTestStore, type TestStore } from './support/test-store.js';

/** Captured output of any layer: how it is read, followed and deleted. */

let test: TestStore;
beforeAll(async () => {
  test = await openTestStore();
});
afterAll(() => test.close());

const SUBJECT = 'task/1';
const of = (part: string, subject = SUBJECT): SourceStream => ({ subject, part, stream: 'stdout' });
const chunk = (part: string, position: number, text: string, subject = SUBJECT) =>
  appendChunk({ ...of(part, subject), position, data: Buffer.from(text) });
const stored = (part: string, from = 0) => text(storedOutput(test.store.read, of(part), from));

async function text(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const data of chunks) all.push(data);
  return Buffer.concat(all).toString();
}

const NOTHING: SourceStanding = {
  ended: false,
  captured: true,
  running: false,
  written: { stdout: null, stderr: null },
  missing: null,
};

describe('what is stored', () => {
  it('comes in order, from any byte on', async () => {
    await test.store.commit(Array.from({ length: 40 }, (_, index) => chunk('many', index * 3, `${100 + index}`)));
    const whole = Array.from({ length: 40 }, (_, index) => `${100 + index}`).join('');
    expect(await stored('many')).toBe(whole);
    expect(await stored('many', 100)).toBe(whole.slice(100));
    expect(await stored('many', 1000)).toBe('');
  });

  it('is stored once although it is sent again', async () => {
    await test.store.commit([chunk('twice', 0, 'abc')]);
    await test.store.commit([chunk('twice', 0, 'abc')]);
    expect(await stored('twice')).toBe('abc');
  });

  it('tells how much is missing in a hole', async () => {
    await test.store.commit([chunk('hole', 0, 'abc'), chunk('hole', 10, 'xyz')]);
    expect(await stored('hole')).toBe('abcxyz');
    expect(await stored('hole', 2)).toBe('cxyz');
    expect(await stored('hole', 5)).toBe('xyz');
    expect(await extentOf(test.store.read, of('hole'))).toEqual({ chunks: 2, bytes: 6, end: 13 });
    const ended = { ...NOTHING, ended: true, written: { stdout: 15, stderr: 0 } };
    expect(await summarizeOutput(test.store.read, of('hole'), ended)).toEqual({ size: 6, dropped: 9, present: true });
  });

  it('is counted without its holes, and a part of it ends where it is asked to', async () => {
    await test.store.commit([chunk('part', 0, 'abc'), chunk('part', 10, 'xyz'), chunk('part', 13, '!')]);
    const position = (number: number) => positionOf(test.store.read, of('part'), number);
    const positions = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(position));
    expect(positions).toEqual([0, 1, 2, 10, 11, 12, 13, undefined]);
    const part = (from: number, most: number) => text(storedOutput(test.store.read, of('part'), from, most));
    expect([await part(1, 3), await part(0, 3), await part(11, 100)]).toEqual(['bcx', 'abc', 'yz!']);
  });

  it.each([
    ['that was told to be empty', { ended: true, written: { stdout: 0, stderr: 0 } }, true],
    ['of which nothing is known', { ended: true }, false],
    ['that is missing for a reason', { ended: true, missing: 'the agent crashed' }, true],
    ['of what runs', { running: true }, true],
    ['of what runs and is not captured', { running: true, captured: false }, false],
    ['of what has not begun', {}, false],
  ])('output %s: shown %o -> %s', async (_what, standing, present) => {
    const summary = await summarizeOutput(test.store.read, of('nothing'), { ...NOTHING, ...standing });
    expect(summary).toEqual({ size: 0, dropped: 0, present });
  });

  it('is deleted with its subject in steps, and that of others stays', async () => {
    const many = OUTPUT_LIMITS.chunksCleared;
    await test.store.commit([
      ...Array.from({ length: many }, (_, position) => chunk('a', position, 'x', 'task/9')),
      chunk('b', 0, 'x', 'task/9'),
      chunk('a', 0, 'x', 'task/90'),
    ]);
    const step = () => test.store.transact((trx) => clearOutput(trx, 'task/9'));
    expect(await step()).toBe(false);
    expect(await extentsOf(test.store.read, 'task/9')).toEqual([{ part: 'b', stream: 'stdout', bytes: 1, end: 1 }]);
    expect(await step()).toBe(true);
    expect(await extentsOf(test.store.read, 'task/9')).toEqual([]);
    expect(await extentsOf(test.store.read, 'task/90')).toHaveLength(1);
  });
});

describe('a follower', () => {
  const followers = new OutputFollowers();
  const standings = new Map<string, Pick<SourceStanding, 'ended'>>();
  const follow = (part: string, signal = new AbortController().signal) =>
    followedOutput(
      { read: test.store.read, followers, standingOf: async () => standings.get(part) },
      of(part),
      0,
      signal,
    );

  it('gets what is stored, then what comes, until the source has ended', async () => {
    standings.set('live', { ended: false });
    await test.store.commit([chunk('live', 0, 'one ')]);
    const stream = follow('live');
    const next = async (): Promise<string> => Buffer.from((await stream.next()).value ?? []).toString();
    expect(await next()).toBe('one ');
    const second = next();
    followers.tell(of('another'));
    await test.store.commit([chunk('live', 4, 'two ')]);
    followers.tell(of('live'));
    expect(await second).toBe('two ');
    const rest = text(stream);
    await test.store.commit([chunk('live', 8, 'three')]);
    standings.set('live', { ended: true });
    followers.tell(of('live'));
    expect(await rest).toBe('three');
    expect(followers.size).toBe(0);
  });

  it('is let go when the source is gone', async () => {
    expect(await text(follow('never'))).toBe('');
  });

  it('is forgotten when it leaves; another of the same source stays', async () => {
    standings.set('left', { ended: false });
    const [one, two] = [new AbortController(), new AbortController()];
    const ends = [text(follow('left', one.signal)), text(follow('left', two.signal))];
    one.abort();
    expect(await ends[0]).toBe('');
    expect(followers.size).toBe(1);
    two.abort();
    expect(await ends[1]).toBe('');
    expect(followers.size).toBe(0);
  });
});

describe('what all of a subject write', () => {
  it('is read from the store in as many turns as it takes: nobody else waits for many streams', async () => {
    const parts = Array.from({ length: 50 }, (_, number) => `node${number + 10}`);
    await test.store.commit(
      parts.flatMap((part) => [chunk(part, 0, part, 'task/many'), chunk(part, 6, '!', 'task/many')]),
    );
    let turns = 0;
    const share = { used: true, free: async () => void turns++ };
    const source = {
      read: test.store.read,
      readers: new LiveReaders(),
      hasEnded: async () => true,
      endedParts: async () => [],
      share,
    };
    const shown: string[] = [];
    for await (const piece of liveOutput(source, 'task/many', new AbortController().signal)) {
      if ('ended' in piece) throw new Error('nothing has ended');
      shown.push(`${piece.part} ${piece.offset} ${Buffer.from(piece.data).toString()}`);
    }
    expect(shown).toEqual(parts.flatMap((part) => [`${part} 0 ${part}`, `${part} 6 !`]));
    // Each of them is found, and then read.
    expect(turns).toBe(2 * parts.length);
  });
});
