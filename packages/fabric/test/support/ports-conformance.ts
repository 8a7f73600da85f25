import {
  type Cursor,
  type Cursors,
  EMPTY_BODY,
  type EventLog,
  type LoggedEvent,
  type NewEvent,
  newEvent,
  originOf,
  stamp,
} from '@muster/fabric';
import { describe, expect, test } from 'vitest';

export interface LogUnderTest {
  readonly log: EventLog;
  /** Names of two organizations that exist. */
  readonly org: string;
  readonly otherOrg: string;
  /** Moves the time that events are stamped with. */
  advance(ms: number): void;
  /** In milliseconds since the epoch. */
  now(): number;
  end?(): Promise<void>;
}

const PLENTY = { events: 1000, bytes: 1 << 20 };

/** What the root of the fabric expects of any event log (`EventLog`). */
export function logConformance(name: string, open: () => Promise<LogUnderTest>): void {
  describe(`${name} as an event log`, () => {
    const using = (behaviour: string, run: (given: LogUnderTest) => Promise<void>) =>
      test(behaviour, async () => {
        const given = await open();
        try {
          await run(given);
        } finally {
          await given.end?.();
        }
      });
    const event = (org: string, type: string, body = ''): NewEvent =>
      newEvent(originOf(org, `${org}/alice`, 'user'), [['type', type]], Buffer.from(body));
    const types = (events: readonly LoggedEvent[]) =>
      events.map((each) => /\ntype:(.*)\n/.exec(Buffer.from(stamp(each)).toString())?.[1]);

    using('events get positions that grow, in the order they were given', async ({ log, org }) => {
      const before = log.last();
      const first = await log.append([event(org, 'a'), event(org, 'b')]);
      const second = await log.append([event(org, 'c')]);
      const positions = [...first, ...second].map(({ position }) => position);
      expect(positions).toEqual([...positions].sort((a, b) => a - b));
      expect(new Set(positions).size).toBe(3);
      expect(positions[0]).toBeGreaterThan(before);
      expect(log.last()).toBe(positions.at(-1));
      expect(types([...first, ...second])).toEqual(['a', 'b', 'c']);
    });

    using('the position is the message-id in the tail, and everything else is there', async ({ log, org, now }) => {
      const [stored] = await log.append([event(org, 'temp.high', 'hot')]);
      if (stored === undefined) throw new Error('nothing stored');
      expect(Buffer.from(stamp(stored)).toString()).toBe(
        `destination:/topic/events\nmessage-id:${stored.position}\norg:${org}\nsource:${org}/alice\nsource-kind:user\n` +
          `time:${new Date(now()).toISOString().replaceAll(':', '\\c')}\ntype:temp.high\ncontent-length:3\n\nhot\0`,
      );
      expect(stored.atMs).toBe(now());
    });

    using(
      'listeners are told before the append resolves, in order, also of appends at the same time',
      async (given) => {
        const { log, org, otherOrg } = given;
        const told: number[] = [];
        const stop = log.onStored((events) => told.push(...events.map(({ position }) => position)));
        const appends = Array.from({ length: 20 }, async (_, index) => {
          const stored = await log.append([event(index % 2 === 0 ? org : otherOrg, `t${index}`), event(org, 'more')]);
          for (const { position } of stored) expect(told).toContain(position);
        });
        await Promise.all(appends);
        expect(told).toHaveLength(40);
        expect(told).toEqual([...told].sort((a, b) => a - b));
        expect(log.last()).toBe(told.at(-1));
        stop();
        await log.append([event(org, 'unheard')]);
        expect(told).toHaveLength(40);
      },
    );

    using('events of one source and several kinds are read as what they were', async ({ log, org }) => {
      const kinds = ['user', 'node', 'node', 'service', 'user'] as const;
      const before = log.last();
      await log.append(kinds.map((kind) => newEvent(originOf(org, `${org}/alice`, kind), [['type', 't']], EMPTY_BODY)));
      const { events } = await log.read(before, org, PLENTY);
      expect(events.map(({ event: { origin } }) => origin.kind)).toEqual(kinds);
    });

    using('what is appended as soon as an append is durable is told of after it', async ({ log, org }) => {
      const told: string[] = [];
      const stop = log.onStored((events) => told.push(...types(events).map(String)));
      let next: Promise<unknown> = Promise.resolve();
      const durable = (): void => {
        told.push('durable');
        next = log.append([event(org, 'b')]);
      };
      await log.append([event(org, 'a')], durable);
      await next;
      stop();
      expect(told).toEqual(['durable', 'a', 'b']);
    });

    using(
      'what is durable is not read before it is told of: whoever reads would get it twice',
      async ({ log, org }) => {
        const before = log.last();
        let page: ReturnType<EventLog['read']> | undefined;
        const [stored] = await log.append([event(org, 'a')], () => {
          page = log.read(before, org, PLENTY);
        });
        expect(await page).toMatchObject({ events: [], through: before });
        expect((await log.read(before, org, PLENTY)).through).toBe(stored?.position);
      },
    );

    using('a read gives the events of one organization after a position, oldest first', async (given) => {
      const { log, org, otherOrg } = given;
      const stored = await log.append([event(org, 'a'), event(otherOrg, 'x'), event(org, 'b'), event(org, 'c')]);
      const page = await log.read(stored[0]?.position ?? 0, org, PLENTY);
      expect(types(page.events)).toEqual(['b', 'c']);
      expect(page.events.every(({ event }) => event.origin.org === org)).toBe(true);
      expect(page.events.map(({ position }) => position)).toEqual([stored[2]?.position, stored[3]?.position]);
    });

    using('a read gives back the bytes that were told', async ({ log, org }) => {
      const [stored] = await log.append([event(org, 'a', 'body with \0 and \n')]);
      const page = await log.read((stored?.position ?? 0) - 1, org, PLENTY);
      const bytes = (each: LoggedEvent | undefined) =>
        each === undefined ? null : Buffer.from(stamp(each)).toString('hex');
      expect(bytes(page.events[0])).toBe(bytes(stored));
      expect(page.events[0]?.atMs).toBe(stored?.atMs);
    });

    using('pages that are read on from `through` have every event once, however small they are', async (given) => {
      const { log, org, otherOrg } = given;
      const start = log.last();
      const wanted = Array.from({ length: 25 }, (_, index) => `t${index}`);
      for (const [index, type] of wanted.entries()) {
        await log.append([event(org, type), ...(index % 5 === 0 ? [event(otherOrg, 'x')] : [])]);
      }
      for (const limit of [
        { events: 1, bytes: 1 },
        { events: 3, bytes: 1 << 20 },
        { events: 100, bytes: 500 },
        PLENTY,
      ]) {
        const read: LoggedEvent[] = [];
        let through = start;
        while (through < log.last()) {
          const page = await log.read(through, org, limit);
          expect(page.through).toBeGreaterThan(through);
          read.push(...page.events);
          through = page.through;
        }
        expect(types(read)).toEqual(wanted);
      }
    });

    using('at the end of the log a read is through with everything', async ({ log, org, otherOrg }) => {
      await log.append([event(org, 'a'), event(otherOrg, 'x')]);
      const page = await log.read(log.last(), org, PLENTY);
      expect(page).toMatchObject({ events: [], through: log.last() });
      expect((await log.read(0, org, PLENTY)).through).toBe(log.last());
    });

    using('nothing that was not told is read', async ({ log, org }) => {
      let told = log.last();
      const stop = log.onStored((events) => {
        told = events.at(-1)?.position ?? told;
      });
      const appends = Promise.all(Array.from({ length: 10 }, () => log.append([event(org, 'a')])));
      for (let round = 0; round < 10; round++) {
        const page = await log.read(0, org, PLENTY);
        expect(page.through).toBeLessThanOrEqual(log.last());
        for (const { position } of page.events) expect(position).toBeLessThanOrEqual(told);
      }
      await appends;
      stop();
    });

    using('a time is turned into the position before it', async ({ log, org, advance, now }) => {
      const [first] = await log.append([event(org, 'a')]);
      advance(10_000);
      const between = now();
      advance(10_000);
      const [second] = await log.append([event(org, 'b')]);
      expect(await log.positionBefore(between)).toBe(first?.position);
      expect(await log.positionBefore(now() + 10_000)).toBe(second?.position);
      expect(types((await log.read(await log.positionBefore(between), org, PLENTY)).events)).toEqual(['b']);
    });

    using('a time before everything is the position before the first', async ({ log, org }) => {
      const [first] = await log.append([event(org, 'a')]);
      expect(await log.positionBefore(0)).toBeLessThan(first?.position ?? 0);
    });
  });
}

/** What the root expects of whoever keeps durable subscriptions (`Cursors`). */
export function cursorsConformance(
  name: string,
  open: () => Promise<{
    readonly cursors: Cursors;
    readonly org: string;
    readonly otherOrg: string;
    end?(): Promise<void>;
  }>,
): void {
  describe(`${name} as a keeper of cursors`, () => {
    const using = (behaviour: string, run: (given: Awaited<ReturnType<typeof open>>) => Promise<void>) =>
      test(behaviour, async () => {
        const given = await open();
        try {
          await run(given);
        } finally {
          await given.end?.();
        }
      });
    const cursor = (org: string, of: string, more: Partial<Cursor> = {}): Cursor => ({
      org,
      principal: `${org}/alice`,
      kind: 'user',
      name: of,
      through: 7,
      acknowledged: [9, 12],
      selector: "type = 'a'",
      savedMs: Date.UTC(2026, 10, 20),
      ...more,
    });

    using('what was never saved is not there', async ({ cursors, org }) => {
      expect(await cursors.load(cursor(org, 'a'))).toBeNull();
      expect(await cursors.delete(cursor(org, 'a'))).toBe(false);
      expect(await cursors.list(org)).toEqual([]);
    });

    using('a saved cursor is loaded as it was', async ({ cursors, org }) => {
      await cursors.save([cursor(org, 'a')]);
      expect(await cursors.load(cursor(org, 'a'))).toEqual(cursor(org, 'a'));
    });

    using('a later save overwrites', async ({ cursors, org }) => {
      await cursors.save([cursor(org, 'a')]);
      const later = cursor(org, 'a', { through: 2 ** 40, acknowledged: [], selector: '' });
      await cursors.save([later]);
      expect(await cursors.load(later)).toEqual(later);
      expect(await cursors.list(org)).toEqual([later]);
    });

    using('organization, principal, kind and name tell cursors apart', async ({ cursors, org, otherOrg }) => {
      const all = [
        cursor(org, 'a', { kind: 'node', through: 1 }),
        cursor(org, 'a', { through: 2 }),
        cursor(org, 'b', { through: 3 }),
        cursor(org, 'a', { principal: `${org}/bob`, through: 4 }),
        cursor(otherOrg, 'a', { through: 5 }),
      ];
      await cursors.save(all);
      for (const each of all) expect(await cursors.load(each)).toEqual(each);
      expect((await cursors.list(org)).map(({ through }) => through)).toEqual([1, 2, 3, 4]);
      expect(await cursors.delete(cursor(org, 'a'))).toBe(true);
      expect((await cursors.list(org)).map(({ through }) => through)).toEqual([1, 3, 4]);
      expect((await cursors.list(otherOrg)).map(({ through }) => through)).toEqual([5]);
    });
  });
}
