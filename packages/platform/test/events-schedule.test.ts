import type { ManualClock } from '@muster/base';
import { type LoggedEvent, newEvent, originOf, type PrincipalKind } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemRandom } from '../src/auth/changes.js';
import { EVENT_LIMITS } from '../src/events/limits.js';
import { type EventOwner, EventSchedule } from '../src/events/schedule.js';
import { type Directory, openDirectory } from './support/directory.js';
import { tailOf } from './support/event-log.js';
import { ME } from './support/personas.js';

const MOST = 5;
const SECOND = 1000;

let directory: Directory;
let clock: ManualClock;
let schedule: EventSchedule;
/** What was published, and what Muster told of it. */
let published: string[];
let announced: string[];
let warnings: string[];

function keep(events: readonly LoggedEvent[]): void {
  for (const tail of events.map(tailOf)) (tail.includes('\nsource:muster\n') ? announced : published).push(tail);
}

async function load(most = MOST): Promise<void> {
  const { store, recorder, auth } = directory;
  schedule = new EventSchedule({
    store,
    recorder,
    clock,
    random: systemRandom,
    organization: (name) => auth.repository.organization(name),
    most,
    log: { warn: (_detail, message) => void warnings.push(message) },
  });
  await schedule.load();
}

async function open(most = MOST): Promise<void> {
  await load(most);
  schedule.start();
}

beforeEach(async () => {
  directory = await openDirectory();
  clock = directory.clock;
  published = [];
  announced = [];
  directory.recorder.onStored(keep);
  warnings = [];
  await open();
});
afterEach(async () => {
  await schedule.stop();
  await directory.close();
});

const event = (type: string, source = 'default/alice', body = '', kind: PrincipalKind = 'user') =>
  newEvent(
    originOf(source.split('/')[0] ?? '', source, kind),
    [
      ['type', type],
      ['a:b', 'line\nbreak'],
    ],
    Buffer.from(body),
  );
const put = (type: string, inMs: number, source?: string, kind: PrincipalKind = 'user') =>
  schedule.put(event(type, source, '', kind), clock.now() + inMs);
const types = () => published.map((tail) => /\ntype:(.*)\n/.exec(tail)?.[1]);
const told = (expected: readonly string[]) => expect.poll(types).toEqual(expected);

describe('a future event', () => {
  it('is published when it is due, not before, as any other event at that time', async () => {
    await schedule.put(event('later', 'default/alice', 'body'), clock.now() + 10 * SECOND);
    clock.advance(10 * SECOND - 1);
    await put('marker', 0);
    clock.advance(0);
    await told(['marker']);
    clock.advance(1);
    await told(['marker', 'later']);
    const [, tail = ''] = published;
    expect(tail).toContain(
      `source:default/alice\nsource-kind:user\ntime:${new Date(clock.now()).toISOString().replaceAll(':', '\\c')}\ntype:later\n`,
    );
    expect(tail).toContain('a\\cb:line\\nbreak\ncontent-length:4\n\nbody\0');
  });

  it('of the past is published at once', async () => {
    await put('late', -10 * SECOND);
    clock.advance(0);
    await told(['late']);
  });

  it('comes in the order of the times, and of the same time in the order of acceptance', async () => {
    await put('third', 3 * SECOND);
    await put('first', 1 * SECOND);
    await put('fourth', 3 * SECOND);
    await put('second', 2 * SECOND);
    clock.advance(1 * SECOND);
    await told(['first']);
    clock.advance(2 * SECOND);
    await told(['first', 'second', 'third', 'fourth']);
  });

  it('is published once', async () => {
    await put('once', SECOND);
    clock.advance(SECOND);
    await told(['once']);
    await schedule.stop();
    await open();
    clock.advance(SECOND);
    await put('marker', 0);
    clock.advance(0);
    await told(['once', 'marker']);
  });

  it('is kept over a restart; what fell due meanwhile comes at once, in order', async () => {
    await put('b', 2 * SECOND);
    await put('c', 2 * SECOND);
    await put('a', 1 * SECOND);
    await put('d', 60 * SECOND);
    await schedule.stop();
    clock.advance(10 * SECOND);
    expect(types()).toEqual([]);
    await open();
    clock.advance(0);
    await told(['a', 'b', 'c']);
    clock.advance(50 * SECOND);
    await told(['a', 'b', 'c', 'd']);
  });

  it('keeps the order of acceptance over a restart', async () => {
    const due = clock.now() + SECOND;
    await schedule.put(event('a'), due);
    await schedule.stop();
    await open();
    await schedule.put(event('b'), due);
    clock.advance(SECOND);
    await told(['a', 'b']);
  });

  it('may be accepted before what was stored is published, and comes after it', async () => {
    const due = clock.now() + SECOND;
    await schedule.put(event('a'), due);
    await schedule.stop();
    await load();
    await schedule.put(event('b'), due);
    clock.advance(SECOND);
    expect([types(), schedule.size, clock.pending]).toEqual([[], 2, 0]);
    schedule.start();
    clock.advance(0);
    await told(['a', 'b']);
    expect(schedule.size).toBe(0);
  });

  it('is published by one timer, and by none when there is nothing to wait for', async () => {
    expect(clock.pending).toBe(0);
    await put('a', SECOND);
    await put('b', 2 * SECOND);
    await put('c', SECOND / 2);
    expect(clock.pending).toBe(1);
    clock.advance(2 * SECOND);
    await told(['c', 'a', 'b']);
    await expect.poll(() => clock.pending).toBe(0);
  });

  it('does not come before its time when the clock is set back', async () => {
    let setBack = 0;
    const real = clock.now.bind(clock);
    vi.spyOn(clock, 'now').mockImplementation(() => real() - setBack);
    await put('a', SECOND);
    setBack = 5 * SECOND;
    clock.advance(SECOND);
    expect(clock.pending).toBe(1);
    clock.advance(5 * SECOND);
    await told(['a']);
  });

  it('comes soon when the clock was set forward beyond its time', async () => {
    let setForward = 0;
    const real = clock.now.bind(clock);
    vi.spyOn(clock, 'now').mockImplementation(() => real() + setForward);
    await put('a', 3600 * SECOND);
    setForward = 3600 * SECOND;
    clock.advance(EVENT_LIMITS.timerMs);
    await told(['a']);
  });

  it('is published when the database is back', async () => {
    await put('a', SECOND);
    const transact = vi.spyOn(directory.store, 'transact').mockRejectedValueOnce(new Error('no disk'));
    clock.advance(SECOND);
    await expect.poll(() => warnings).toHaveLength(1);
    expect(types()).toEqual([]);
    transact.mockRestore();
    clock.advance(EVENT_LIMITS.retryMs);
    await told(['a']);
  });

  it('is never published once its organization is gone, nor in the next one of the name', async () => {
    const { organizations } = directory.auth;
    const passing = await organizations.create('passing', ME);
    await put('before', SECOND, 'passing/alice');
    await put('later', 60 * SECOND, 'passing/alice');
    await organizations.remove(passing, ME);
    await organizations.create('passing', ME);
    await put('after', SECOND, 'passing/alice');
    clock.advance(SECOND);
    await told(['after']);
    await schedule.stop();
    await open();
    expect([schedule.size, clock.pending]).toEqual([0, 0]);
  });

  it('may be one of many that are due together', async () => {
    const count = EVENT_LIMITS.dueAtOnce + 1;
    await schedule.stop();
    await open(count);
    const names = Array.from({ length: count }, (_, n) => `n${n}`);
    await Promise.all(names.map((name) => put(name, SECOND)));
    clock.advance(SECOND);
    await expect.poll(() => published.length).toBeGreaterThan(0);
    const due = () => {
      clock.advance(0);
      return types();
    };
    await expect.poll(due).toEqual(names);
  });
});

describe('what Muster tells of future events', () => {
  it('is that one was accepted, and that one was taken back, and by whom', async () => {
    const id = await put('a', SECOND);
    await schedule.cancel(directory.organization, id, { whose: null, by: 'default/admin' });
    const at = new Date(clock.now() + SECOND).toISOString().replaceAll(':', '\\c');
    await expect.poll(() => announced).toHaveLength(2);
    expect(announced[0]).toContain(`\ntype:event.scheduled\nid:${id}\nevent:a\nat:${at}\nby:default/alice\n`);
    expect(announced[1]).toContain(`\ntype:event.cancelled\nid:${id}\nevent:a\nby:default/admin\n`);
  });
});

describe('the list', () => {
  it('has them in the order of their times, with what they are', async () => {
    const second = await put('b', 2 * SECOND);
    const first = await put('a', SECOND);
    expect(await schedule.list(directory.organization.id, null, 10)).toEqual([
      {
        id: first,
        type: 'a',
        source: 'default/alice',
        kind: 'user',
        at: clock.now() + SECOND,
        createdAt: clock.now(),
        attributes: [
          ['type', 'a'],
          ['a:b', 'line\nbreak'],
        ],
        size: 0,
      },
      expect.objectContaining({ id: second, type: 'b' }),
    ]);
  });

  it('may be of one owner, of one organization, and no longer than asked for', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    await put('a', SECOND, 'default/alice');
    await put('b', SECOND, 'default/bob');
    await put('b of a node', SECOND, 'default/bob', 'node');
    await put('c', SECOND, 'other/alice');
    const listed = async (orgId: string, whose: EventOwner | null, limit = 10) =>
      (await schedule.list(orgId, whose, limit)).map(({ type }) => type);
    expect(await listed(directory.organization.id, null)).toEqual(['a', 'b', 'b of a node']);
    expect(await listed(directory.organization.id, { source: 'default/bob', kind: 'user' })).toEqual(['b']);
    expect(await listed(directory.organization.id, { source: 'default/bob', kind: 'node' })).toEqual(['b of a node']);
    expect(await listed(other.id, null)).toEqual(['c']);
    expect(await listed(directory.organization.id, null, 1)).toEqual(['a']);
  });
});

describe('cancelling', () => {
  const cancel = (id: string, whose: EventOwner | null = null) =>
    schedule.cancel(directory.organization, id, { whose, by: 'default/admin' });

  it('keeps it from being published', async () => {
    const id = await put('a', SECOND);
    await put('b', SECOND);
    expect(await cancel(id)).toMatchObject({ id, type: 'a' });
    clock.advance(SECOND);
    await told(['b']);
  });

  it('of one that is somebody else’s, of another organization, or published does nothing', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    const id = await put('a', SECOND);
    const gone = { code: 'not_found' };
    await expect(cancel(id, { source: 'default/bob', kind: 'user' })).rejects.toMatchObject(gone);
    await expect(cancel(id, { source: 'default/alice', kind: 'node' })).rejects.toMatchObject(gone);
    await expect(schedule.cancel(other, id, { whose: null, by: 'other/bob' })).rejects.toMatchObject(gone);
    clock.advance(SECOND);
    await told(['a']);
    await expect(cancel(id)).rejects.toMatchObject(gone);
  });
});

describe('too many future events of one organization', () => {
  it('are refused; another organization’s, and those after some are gone, are taken', async () => {
    await directory.auth.organizations.create('other', ME);
    const ids = await Promise.all(Array.from({ length: MOST }, (_, n) => put(`n${n}`, SECOND)));
    await expect(put('more', SECOND)).rejects.toMatchObject({ code: 'too_busy', details: { limit: MOST } });
    await put('theirs', 2 * SECOND, 'other/bob');
    await schedule.cancel(directory.organization, ids[0] ?? '', { whose: null, by: 'default/admin' });
    await put('again', 2 * SECOND);
    await expect(put('more', SECOND)).rejects.toMatchObject({ code: 'too_busy' });
    clock.advance(SECOND);
    await told(['n1', 'n2', 'n3', 'n4']);
    await put('more', SECOND);
    expect(schedule.size).toBe(3);
  });

  it('count also after a restart', async () => {
    await Promise.all(Array.from({ length: MOST }, (_, n) => put(`n${n}`, SECOND)));
    await schedule.stop();
    await open();
    await expect(put('more', SECOND)).rejects.toMatchObject({ code: 'too_busy' });
  });

  it('do not count what could not be stored', async () => {
    const commit = vi.spyOn(directory.store, 'commit').mockRejectedValue(new Error('no disk'));
    for (let n = 0; n < MOST; n++) await expect(put('lost', SECOND)).rejects.toThrow('no disk');
    commit.mockRestore();
    await put('kept', SECOND);
    expect(schedule.size).toBe(1);
  });
});
