import { MusterError } from '@muster/base';
import { type EventLog, type LoggedEvent, type NewEvent, newEvent, originOf, type Schedule } from '@muster/fabric';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LogAppender } from '../../src/root/log-appender.js';
import type { Publication, Publisher } from '../../src/session/broker.js';

/** Whatever the log does, and whenever: every publisher gets one true answer for each event, in order. */

const MIB = 1024 * 1024;
const memory = new ArrayBuffer(9 * MIB);

const publishing = fc.record({
  publisher: fc.nat(3),
  size: fc.constantFrom(10, 10, 10, MIB / 2, 9 * MIB),
  later: fc.constantFrom(false, false, false, true),
  /** The publisher leaves after it. */
  leaves: fc.constantFrom(...Array<boolean>(9).fill(false), true),
  /** Turns of the loop before the next one. */
  pause: fc.constantFrom(0, 0, 1, 3),
  settles: fc.boolean(),
});

/** What becomes of an append, and how many turns it takes to be durable, and from then to be told. */
const fate = fc.record({
  how: fc.constantFrom('stored', 'stored', 'stored', 'stored silently', 'refused', 'stored and refused'),
  storing: fc.nat(3),
  telling: fc.nat(3),
});
type Fate = typeof fate extends fc.Arbitrary<infer T> ? T : never;

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Stores one append after the other, and tells of them in this order. */
class Log implements Pick<EventLog, 'append'> {
  /** Those whose publishers are told so. */
  readonly stored = new Set<NewEvent>();
  readonly order: NewEvent[] = [];
  readonly #fates: Fate[];
  #lane: Promise<unknown> = Promise.resolve();
  #told: Promise<unknown> = Promise.resolve();
  /** Appends that are not durable. */
  underWay = 0;
  most = 0;

  constructor(fates: readonly Fate[]) {
    this.#fates = [...fates];
  }

  async append(events: readonly NewEvent[], stored?: () => void): Promise<readonly LoggedEvent[]> {
    const { how, storing, telling } = this.#fates.shift() ?? { how: 'stored', storing: 0, telling: 0 };
    this.most = Math.max(this.most, ++this.underWay);
    if (events.some(({ origin }) => origin.org === 'gone')) {
      this.underWay--;
      throw new MusterError('organization_not_found', { organization: 'gone' });
    }
    const storedNow = this.#lane.then(async () => {
      await turns(storing);
      this.underWay--;
      if (how === 'refused') throw new MusterError('store_unavailable', { reason: 'full' });
      if (how !== 'stored and refused') for (const event of events) this.stored.add(event);
      this.order.push(...events);
      if (how !== 'stored silently') stored?.();
    });
    this.#lane = storedNow.catch(() => undefined);
    const before = this.#told;
    const told = storedNow.then(async () => {
      await turns(telling);
      await before;
    });
    this.#told = told.catch(() => undefined);
    await told;
    if (how === 'stored and refused') throw new Error('defect');
    return [];
  }
}

class Somebody implements Publisher {
  readonly access: Publisher['access'];
  gone = false;
  holds = 0;
  readonly published: Publication[] = [];
  readonly answers = new Map<Publication, 'settled' | 'failed'>();

  constructor(org: string, relay: boolean) {
    const rights = { granted: [], restricted: [], open: [] };
    this.access = { org, principal: `${org}/p`, kind: 'node', relay, publish: rights, subscribe: rights };
  }
  settled(publication: Publication, scheduled: string | null): void {
    expect(scheduled === null).toBe(publication.due === null);
    this.#answered(publication, 'settled');
  }
  failed(publication: Publication): void {
    this.#answered(publication, 'failed');
  }
  pause(): void {
    expect(++this.holds).toBe(1);
  }
  resume(): void {
    expect(--this.holds).toBe(0);
  }
  #answered(publication: Publication, how: 'settled' | 'failed'): void {
    expect(this.answers.has(publication)).toBe(false);
    if (!this.gone) expect(publication).toBe(this.published[this.answers.size]);
    this.answers.set(publication, how);
  }
}

test('every publisher gets one true answer for each event, in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(publishing, { maxLength: 30 }),
      fc.array(fate, { maxLength: 20 }),
      async (events, fates) => {
        const log = new Log(fates);
        const put: Publication[] = [];
        const schedule: Schedule = {
          async put(event) {
            await turns(1);
            put.push(event as Publication);
            return 's1';
          },
        };
        const append = new LogAppender({
          events: log as unknown as EventLog,
          schedule,
          log: { debug() {}, info() {}, warn() {}, error() {} },
          defer: setImmediate,
        });
        const everybody = [
          new Somebody('acme', false),
          new Somebody('acme', true),
          new Somebody('other', false),
          new Somebody('gone', false),
        ];
        const settling: Promise<void>[] = [];
        for (const { publisher: index, size, later, leaves, pause, settles } of events) {
          const publisher = everybody[index] as Somebody;
          if (!publisher.gone) {
            const event = newEvent(
              originOf(publisher.access.org, publisher.access.principal, publisher.access.kind),
              [['type', 't']],
              new Uint8Array(),
            );
            const bytes = new Uint8Array(memory, 0, size);
            const due = later ? 1 : null;
            const publication: Publication = { ...event, bytes, publisher, due, receipt: null };
            publisher.published.push(publication);
            append.publish(publication);
            publisher.gone = leaves;
          }
          if (settles) {
            const all = everybody.map(({ published }) => published.length);
            settling.push(
              append.settle().then(() => {
                for (const [number, { answers }] of everybody.entries()) {
                  expect(answers.size).toBeGreaterThanOrEqual(all[number] as number);
                }
              }),
            );
          }
          await turns(pause);
        }
        const settled = Promise.all([...settling, append.settle()]).then(() => 'settled');
        expect(await Promise.race([settled, turns(1000)])).toBe('settled');
        expect(append.pending).toBe(0);
        expect(log.most).toBeLessThanOrEqual(1);
        for (const { published, answers, holds } of everybody) {
          expect(holds).toBe(0);
          expect(answers.size).toBe(published.length);
          for (const publication of published) {
            const isStored = publication.due === null ? log.stored.has(publication) : put.includes(publication);
            expect(answers.get(publication)).toBe(isStored ? 'settled' : 'failed');
          }
          const order = log.order.filter((event) => published.includes(event as Publication));
          expect(order).toEqual(published.filter((event) => order.includes(event)));
        }
      },
    ),
    { numRuns: 200 },
  );
});
