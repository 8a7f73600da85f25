import { ALTERNATE_QUEUE, type Broker, DEAD_QUEUE, namesOf, organizationTopology, siteTopology } from '@muster/broker';
import type { Mail } from '@muster/platform/outbound';
import { Leases } from '@muster/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StrayMessages } from '../../src/readers/stray-messages.js';
import { type StrayKind, StrayReader } from '../../src/readers/stray-reader.js';
import type { MakeBrokers, TestBrokers } from '../support/brokers.js';
import { type JobFixture, ORG, openJobs } from '../support/jobs.js';
import { toldOf } from '../support/told.js';

export function strayReadersSuite(make: MakeBrokers): void {
  let fixture: JobFixture;
  let brokers: TestBrokers;
  let broker: Broker;
  let readers: StrayReader[];
  let mails: Mail[];
  let counted: StrayKind[];
  let logged: { readonly details: Readonly<Record<string, unknown>>; readonly text: string }[];
  let mailFails: boolean;
  let tried: number;

  const { submitExchange, recoveryExchange, recoveryQueue } = namesOf(ORG.name);

  function reader(kind: StrayKind, supportMail?: string): StrayReader {
    const { store, recorder, clock } = fixture;
    const quiet = () => undefined;
    const made = new StrayReader({
      kind,
      store,
      recorder,
      clock,
      broker,
      leases: new Leases({ store, clock, holder: `here-${readers.length}` }),
      log: {
        debug: quiet,
        info: quiet,
        warn: quiet,
        error: (details, text) => void logged.push({ details: details as Readonly<Record<string, unknown>>, text }),
      },
      mailer: {
        async send(mail) {
          tried += 1;
          if (mailFails) throw new Error('no mail server');
          mails.push(mail);
          return true;
        },
        close: quiet,
      },
      ...(supportMail !== undefined && { supportMail }),
      counted: (which) => void counted.push(which),
    });
    readers.push(made);
    return made;
  }

  async function start(made: StrayReader): Promise<void> {
    made.start();
    fixture.clock.advance(0);
    await expect.poll(() => made.holds).toBe(true);
  }

  const kept = () => fixture.store.read.selectFrom('job_stray_messages').selectAll().orderBy('id').execute();
  const left = async (queue: string) => {
    const [depth] = await broker.depths([queue]);
    return (depth?.ready ?? 0) + (depth?.held ?? 0);
  };

  beforeEach(async () => {
    fixture = await openJobs();
    [readers, mails, counted, logged, mailFails, tried] = [[], [], [], [], false, 0];
    const quiet = () => undefined;
    const log = { info: quiet, warn: quiet, error: quiet };
    brokers = await make();
    broker = await brokers.open({ store: fixture.store, clock: fixture.clock, log, holder: 'here', alone: true });
    await broker.declare(siteTopology());
    await broker.declare(organizationTopology(ORG.name));
  });
  afterEach(async () => {
    await Promise.all(readers.map((made) => made.stop()));
    await broker.close();
    await brokers.drop();
    await fixture.close();
  });

  describe('the alternate reader (sheet §5.4)', () => {
    it('keeps, logs, counts, mails and acknowledges what could not be routed', async () => {
      await start(reader('alternate', 'support@example.org'));
      const body = `${'x'.repeat(5000)}end`;
      await broker.publish({ exchange: submitExchange, key: 'aloe.jobq.portals.submit.Gone', body });
      await expect.poll(() => left(ALTERNATE_QUEUE)).toBe(0);
      await expect.poll(() => counted).toEqual(['alternate']);
      const [row] = await kept();
      expect(row).toMatchObject({ kind: 'alternate', org_id: ORG.id, exchange: submitExchange, length: 5003 });
      expect(Buffer.from(row?.body ?? '').toString()).toBe(body);
      const [told] = logged;
      expect(told?.text).toContain('JOBS_QUEUE_UNROUTABLE_MSG');
      expect(told?.details).toMatchObject({ routing: 'aloe.jobq.portals.submit.Gone', length: 5003 });
      expect(String(told?.details.text)).toHaveLength(4096);
      expect(mails).toMatchObject([{ to: 'support@example.org', subject: 'Unroutable message' }]);
      expect(mails[0]?.text).toContain('aloe.jobq.portals.submit.Gone');
    });

    it('makes what it reads where nobody has before', async () => {
      await broker.remove(siteTopology());
      expect(await broker.depths([ALTERNATE_QUEUE, DEAD_QUEUE])).toEqual([null, null]);
      await start(reader('alternate'));
      await broker.publish({ exchange: submitExchange, key: 'nobody', body: 'x' });
      await expect.poll(async () => (await kept()).length).toBe(1);
    });

    it('keeps bytes that are no text as they are', async () => {
      await start(reader('alternate'));
      const body = Buffer.from([0, 255, 1, 128]);
      await broker.publish({ exchange: submitExchange, key: 'nobody', body });
      await expect.poll(async () => (await kept()).length).toBe(1);
      expect(Buffer.from((await kept())[0]?.body ?? []).equals(body)).toBe(true);
      expect(mails).toEqual([]);
    });

    it('acknowledges also when no mail can be sent, and sends no more than twenty in an hour', async () => {
      const made = reader('alternate', 'support@example.org');
      await start(made);
      mailFails = true;
      await broker.publish({ exchange: submitExchange, key: 'nobody', body: '0' });
      await expect.poll(() => left(ALTERNATE_QUEUE)).toBe(0);
      await expect.poll(() => tried).toBe(1);
      mailFails = false;
      for (let n = 1; n <= 30; n++) await broker.publish({ exchange: submitExchange, key: 'nobody', body: String(n) });
      await expect.poll(() => left(ALTERNATE_QUEUE)).toBe(0);
      await expect.poll(async () => (await kept()).length).toBe(31);
      await expect.poll(() => counted.length).toBe(31);
      expect(mails).toHaveLength(19);
    });

    it('acts in one process at a time', async () => {
      await start(reader('alternate'));
      const second = reader('alternate');
      second.start();
      fixture.clock.advance(10_000);
      expect(second.holds).toBe(false);
      await readers[0]?.stop();
      fixture.clock.advance(20_000);
      await expect.poll(() => second.holds).toBe(true);
    });
  });

  describe('the dead-letter reader (sheet §5.4)', () => {
    const reject = async (body: string): Promise<void> => {
      const consumer = broker.consume(recoveryQueue, { slots: 1 }, async (delivery) => void (await delivery.reject()));
      await broker.publish({ exchange: recoveryExchange, key: '', body });
      await expect.poll(async () => (await left(DEAD_QUEUE)) + (await kept()).length).toBeGreaterThan(0);
      await consumer.stop();
    };

    it('keeps what was rejected, and says where', async () => {
      await start(reader('dead-letter', 'support@example.org'));
      await reject('rubbish');
      await expect.poll(() => left(DEAD_QUEUE)).toBe(0);
      await expect.poll(() => mails.map(({ subject }) => subject)).toEqual(['Dead letter']);
      expect(await kept()).toMatchObject([
        { kind: 'dead-letter', exchange: recoveryExchange, reason: `rejected in ${recoveryQueue}`, org_id: ORG.id },
      ]);
      expect(logged[0]?.text).toContain('JOBS_QUEUE_DEAD_LETTER_MSG');
    });

    it('lets it be published again where it was published first', async () => {
      await start(reader('dead-letter'));
      await reject('once more');
      await expect.poll(async () => (await kept()).length).toBe(1);
      const strays = new StrayMessages({ store: fixture.store, recorder: fixture.recorder, broker });
      const [row] = await strays.list(ORG.id, 'dead-letter', { limit: 10, offset: 0 });
      await strays.resubmit(ORG, row?.id ?? '');
      expect(await kept()).toEqual([]);
      expect(await left(recoveryQueue)).toBe(1);
    });

    it('tells of each that is kept, and of each that goes', async () => {
      const told = toldOf(fixture.recorder, 'job_message.', 'kind');
      await start(reader('dead-letter'));
      await reject('once more');
      await expect.poll(() => told).toEqual(['job_message.kept dead-letter']);
      const strays = new StrayMessages({ store: fixture.store, recorder: fixture.recorder, broker });
      const [{ id } = { id: '' }] = await kept();
      await strays.drop(ORG, id);
      await expect.poll(() => told).toEqual(['job_message.kept dead-letter', 'job_message.removed ']);
    });

    it('shows nothing of one organization to another', async () => {
      await start(reader('dead-letter'));
      await reject('mine');
      await expect.poll(async () => (await kept()).length).toBe(1);
      const strays = new StrayMessages({ store: fixture.store, recorder: fixture.recorder, broker });
      const [{ id } = { id: '' }] = await kept();
      expect(await strays.list('o2', null, { limit: 10, offset: 0 })).toEqual([]);
      await expect(strays.find('o2', id)).rejects.toMatchObject({ code: 'not_found' });
      await expect(strays.drop({ id: 'o2', name: 'other' }, id)).rejects.toMatchObject({ code: 'not_found' });
      await expect(strays.resubmit({ id: 'o2', name: 'other' }, id)).rejects.toMatchObject({ code: 'not_found' });
      await strays.drop(ORG, id);
      expect(await kept()).toEqual([]);
    });
  });
}
