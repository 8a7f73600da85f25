import { newEvent, originOf } from '@muster/fabric';
import type { CommitReport } from '@muster/store';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { logConformance } from '../../fabric/test/support/ports-conformance.js';
import { StoredLog } from '../src/log/log.js';
import { Recorder } from '../src/log/recorder.js';
import { ORG, OTHER, something, typeOf } from './support/event-log.js';
import { openTestStore, type TestStore } from './support/test-store.js';

/** The log of events as the root of the fabric has it, on a real database. */

interface Opened extends TestStore {
  readonly log: StoredLog;
  readonly recorder: Recorder;
}

async function open(observe?: (report: CommitReport) => void): Promise<Opened> {
  const test = await openTestStore(observe);
  const { store, clock } = test;
  const failed = (error: unknown) => {
    throw error;
  };
  const recorder = new Recorder({ store, clock, maxSize: 4096, failed, organizationName: async () => null });
  await recorder.load();
  const organizationId = async (name: string) => {
    if (unreadable !== null) throw unreadable;
    return [ORG, OTHER].find((org) => org.name === name)?.id;
  };
  const retention = { prunedThrough: 0 };
  return {
    ...test,
    recorder,
    log: new StoredLog({ store, recorder, retention, organizationId, maxSize: 4096 }),
  };
}

logConformance('the stored log', async () => {
  const { log, clock, close } = await open();
  return {
    log,
    org: ORG.name,
    otherOrg: OTHER.name,
    advance: (ms) => clock.advance(ms),
    now: () => clock.now(),
    end: close,
  };
});

let given: Opened;
const reports: CommitReport[] = [];
/** Why organizations cannot be read. */
let unreadable: Error | null = null;
beforeEach(async () => {
  reports.length = 0;
  unreadable = null;
  given = await open((report) => reports.push(report));
});
afterEach(() => given.close());

const event = (type: string, org = ORG.name) =>
  newEvent(originOf(org, `${org}/alice`, 'user'), [['type', type]], Buffer.from(''));
const many = (count: number, type = 't') => Array.from({ length: count }, () => event(type));
const PLENTY = { events: 1000, bytes: 1 << 20 };

describe('reading', () => {
  test('what several changes told in one commit is read in order, whatever its organizations and feeds', async () => {
    const { recorder, log } = given;
    const orgs = [ORG, OTHER];
    const subjects = [null, 'job-a', 'job-b', 'job-c'];
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.array(
            fc.record({ org: fc.constantFrom(...orgs), subject: fc.constantFrom(...subjects), size: fc.nat(300) }),
            { maxLength: 6 },
          ),
          { minLength: 1, maxLength: 12 },
        ),
        fc.integer({ min: 1, max: 2000 }),
        fc.integer({ min: 1, max: 10 }),
        async (changes, bytes, events) => {
          const start = log.last();
          const told: { readonly org: string; readonly type: string }[] = [];
          // Some in one commit, some in the next.
          for (const part of [changes.slice(0, changes.length >> 1), changes.slice(changes.length >> 1)]) {
            await Promise.all(
              part.map((change) => {
                const recorded = change.map(({ org, subject, size }) => {
                  told.push({ org: org.name, type: `t${told.length}` });
                  return something(told.at(-1)?.type ?? '', { org, subject, body: 'x'.repeat(size) });
                });
                return recorder.persist([], recorded);
              }),
            );
          }
          for (const org of orgs) {
            const read: string[] = [];
            for (let through = start; through < log.last(); ) {
              const page = await log.read(through, org.name, { events, bytes });
              expect(page.through).toBeGreaterThan(through);
              read.push(...page.events.map(typeOf));
              ({ through } = page);
            }
            expect(read).toEqual(told.filter((one) => one.org === org.name).map(({ type }) => type));
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a commit with more rows than are looked at together is read in order', async () => {
    const { recorder, log } = given;
    const subjects = Array.from({ length: 600 }, (_, index) => `job-${index}`);
    const round = (type: string) =>
      recorder.persist(
        [],
        subjects.map((subject) => something(type, { subject })),
      );
    await Promise.all([round('a'), round('b')]);
    const types: string[] = [];
    for (let through = 0; through < log.last(); ) {
      const page = await log.read(through, ORG.name, { events: 100, bytes: 1 << 20 });
      types.push(...page.events.map(typeOf));
      ({ through } = page);
    }
    expect(types).toEqual([...subjects.map(() => 'a'), ...subjects.map(() => 'b')]);
  });

  test('times are found also when the clock was set back', async () => {
    const { recorder, log, clock } = given;
    const now = clock.now();
    for (const at of [now, now + 60_000, now + 10_000, now + 20_000]) {
      await recorder.persist([], [something('t')], at);
    }
    expect(await log.positionBefore(now + 15_000)).toBe(1);
    expect(await log.positionBefore(now + 60_001)).toBe(4);
  });

  test('events of an organization that is gone are not read', async () => {
    await given.recorder.persist([], [something('t')]);
    expect(await given.log.read(0, 'gone', PLENTY)).toEqual({ events: [], through: 1, prunedThrough: 0 });
  });
});

describe('appending', () => {
  test('to an organization that is gone is refused, and disturbs nobody', async () => {
    const refused = given.log.append([event('a', 'gone')]);
    const stored = given.log.append([event('b')]);
    await expect(refused).rejects.toMatchObject({ code: 'organization_not_found' });
    expect((await stored).map(typeOf)).toEqual(['b']);
  });

  test('fails when organizations cannot be read, and succeeds when they can', async () => {
    unreadable = new Error('no connection to the database');
    await expect(given.log.append([event('a')])).rejects.toBe(unreadable);
    unreadable = null;
    expect((await given.log.append([event('b')])).map(typeOf)).toEqual(['b']);
  });

  test('what is appended during a commit shares the next one', async () => {
    await Promise.all(Array.from({ length: 50 }, () => given.log.append([event('a')])));
    expect(reports.length).toBeLessThan(5);
    expect((await given.log.read(0, ORG.name, PLENTY)).events).toHaveLength(50);
  });

  test('stopping stores what waits', async () => {
    const { log } = given;
    const appended = [log.append(many(40)), log.append([event('second')])];
    await log.stop();
    expect((await Promise.all(appended)).map((events) => events.length)).toEqual([40, 1]);
    expect(log.last()).toBe(41);
  });

  test('stopping stores what waits, though what came after it was refused', async () => {
    const { log } = given;
    const appended = log.append([event('a')]);
    const refused = log.append([event('b', 'gone')]).catch(({ code }) => code);
    await log.stop();
    expect(log.last()).toBe(1);
    expect([(await appended).length, await refused]).toEqual([1, 'organization_not_found']);
  });
});
