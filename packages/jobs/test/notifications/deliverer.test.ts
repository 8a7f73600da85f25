import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Deliverer,
  isPublic,
  type Mail,
  mailAddress,
  PrivateAddress,
  postWebhook,
  publicLookup,
  webhookKey,
  webhookSecret,
} from '@muster/platform/outbound';
import { Leases } from '@muster/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deliverySubject, gaveUp } from '../../src/notifications/deliveries.js';
import { type JobFixture, openJobs } from '../support/jobs.js';

const MASTER = Buffer.alloc(32, 7);

interface Got {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A target that answers as it is told. */
class Target {
  readonly got: Got[] = [];
  code = 200;
  /** Called instead of an answer. */
  hold: (() => void) | null = null;
  answer: string | Buffer = 'ok';
  location: string | null = null;
  readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { url: path = '', headers } = request;
        this.got.push({ path, headers, body: Buffer.concat(pieces).toString() });
        if (this.hold !== null) return this.hold();
        response.writeHead(this.code, this.location === null ? {} : { location: this.location });
        response.end(this.answer);
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

let fixture: JobFixture;
let target: Target;
let base: string;
let deliverer: Deliverer;
const mails: Mail[] = [];

beforeEach(async () => {
  fixture = await openJobs();
  target = new Target();
  base = await target.start();
  mails.length = 0;
  deliverer = newDeliverer();
});
afterEach(async () => {
  await deliverer.stop();
  await target.close();
  await fixture.close();
});

function newDeliverer(privateTargets = true, holder = 'here'): Deliverer {
  const quiet = () => undefined;
  const { store, clock } = fixture;
  return new Deliverer({
    store,
    clock,
    leases: new Leases({ store, clock, holder }),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    mailer: {
      async send(mail) {
        if (mail.to.startsWith('logged@')) return false;
        if (mail.to.startsWith('full@')) throw new Error('mailbox full');
        mails.push(mail);
        return true;
      },
      close: quiet,
    },
    masterKey: MASTER,
    baseUrl: () => 'https://muster.example',
    privateTargets,
    gaveUp,
  });
}

async function start(): Promise<void> {
  deliverer.start();
  fixture.clock.advance(0);
  await expect.poll(() => deliverer.holds).toBe(true);
}

const subscribed = (...notifications: object[]) => ({ request: JSON.stringify({ notifications }) });
const rows = () => fixture.store.read.selectFrom('deliveries').selectAll().orderBy('id').execute();
const settled = async (...outcomes: string[]) =>
  expect.poll(async () => (await rows()).map(({ outcome }) => outcome)).toEqual(outcomes);

describe('a webhook', () => {
  it('gets each event of its job, in order, with a signature that its owner can check (Standard Webhooks)', async () => {
    await start();
    await fixture.job('j-007', 'STAGED', subscribed({ event: '*', url: `${base}/hook`, persistent: true }));
    await settled('delivered', 'delivered', 'delivered', 'delivered', 'delivered');
    const statuses = target.got.map(({ body }) => JSON.parse(body).status);
    expect(statuses).toEqual(['ACCEPTED', 'PENDING', 'PROCESSING_INPUTS', 'STAGING_INPUTS', 'STAGED']);
    const [first] = target.got;
    const secret = webhookSecret(webhookKey(MASTER, 'o1'));
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = first?.headers ?? {};
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const expected = createHmac('sha256', key).update(`${id}.${at}.${first?.body}`).digest('base64');
    expect(signature).toBe(`v1,${expected}`);
    expect(Number(at)).toBe(Math.floor(fixture.clock.now() / 1000));
    expect(webhookKey(MASTER, 'o2').equals(key)).toBe(false);
  });

  it('is sent what was stored while nobody sent anything', async () => {
    await fixture.job('j-007', 'ACCEPTED', subscribed({ event: '*', url: `${base}/a?u=\${JOB_URL}` }));
    await start();
    await settled('delivered');
    expect(target.got[0]?.path).toBe('/a?u=https%3A%2F%2Fmuster.example%2Fjobs%2Fv2%2Fj-007');
  });

  it('that does not answer 2xx is tried again as its policy says, with the same id, and then given up', async () => {
    await start();
    target.code = 500;
    const policy = { retryStrategy: 'DELAYED', retryLimit: 2, retryRate: 60, retryDelay: 10 };
    await fixture.job('j-007', 'ACCEPTED', subscribed({ event: '*', url: base, policy }));
    await expect
      .poll(async () => (await rows())[0])
      .toMatchObject({ attempts: 1, response_code: 500, outcome: 'waiting' });
    expect((await rows())[0]?.next_attempt).toBe(fixture.clock.now() + 10_000);
    fixture.clock.advance(10_000);
    await expect.poll(async () => (await rows())[0]?.attempts).toBe(2);
    fixture.clock.advance(59_999);
    expect(target.got).toHaveLength(2);
    fixture.clock.advance(1);
    await settled('given_up');
    expect((await rows())[0]).toMatchObject({ attempts: 3, next_attempt: null, detail: 'ok' });
    expect(new Set(target.got.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const [subscription] = await fixture.store.read.selectFrom('job_notifications').select('status').execute();
    expect(subscription).toEqual({ status: 'FAILED' });
  });

  it.each([true, false])(
    'that is given up is kept in the log or not, as its policy says: %s',
    async (saveOnFailure) => {
      await start();
      target.code = 500;
      const policy = { retryStrategy: 'NONE', saveOnFailure };
      await fixture.job('j-007', 'PENDING', subscribed({ event: '*', url: base, persistent: true, policy }));
      await settled(...(saveOnFailure ? ['given_up', 'given_up'] : []));
      expect(target.got).toHaveLength(2);
      const [subscription] = await fixture.store.read.selectFrom('job_notifications').select('status').execute();
      expect(subscription).toEqual({ status: 'ACTIVE' });
    },
  );

  it('goes on with its retries after a restart, at the time that was stored', async () => {
    await start();
    target.code = 503;
    const policy = { retryStrategy: 'EXPONENTIAL', retryLimit: 5, retryDelay: 30 };
    await fixture.job('j-007', 'ACCEPTED', subscribed({ event: '*', url: base, policy }));
    await expect.poll(async () => (await rows())[0]?.attempts).toBe(1);
    await deliverer.stop();
    target.code = 204;
    deliverer = newDeliverer();
    await start();
    fixture.clock.advance(29_999);
    expect(target.got).toHaveLength(1);
    fixture.clock.advance(1);
    await settled('delivered');
  });

  it('that is slow holds up no other', async () => {
    await start();
    target.hold = () => undefined;
    const slow = await fixture.job('slow-007', 'ACCEPTED', subscribed({ event: '*', url: `${base}/slow` }));
    await expect.poll(() => target.got.length).toBe(1);
    const other = new Target();
    const url = await other.start();
    await fixture.job('fast-007', 'ACCEPTED', subscribed({ event: '*', url }));
    await expect.poll(() => other.got.length).toBe(1);
    expect((await rows()).find(({ subject }) => subject === deliverySubject(slow.uuid))?.outcome).toBe('waiting');
    await other.close();
    target.server.closeAllConnections();
  });

  it('is not followed elsewhere', async () => {
    const other = new Target();
    target.location = await other.start();
    target.code = 302;
    const sent = await postWebhook(base, '{}', {}, { privateTargets: true });
    expect(sent).toMatchObject({ delivered: false, code: 302 });
    expect(other.got).toEqual([]);
    await other.close();
  });

  it('may take only so long, and answer only so much', async () => {
    target.answer = Buffer.alloc(10_000_000, 'x');
    const large = await postWebhook(base, '{}', {}, { privateTargets: true });
    expect(large.detail.length).toBe(512);
    expect(large.delivered).toBe(true);
    target.hold = () => undefined;
    const late = await postWebhook(base, '{}', {}, { privateTargets: true, timeoutMs: 50 });
    expect(late).toEqual({ delivered: false, code: null, detail: 'no answer within 0.05 seconds' });
  });

  it('at a private address is refused at once unless that is allowed', async () => {
    await deliverer.stop();
    deliverer = newDeliverer(false);
    await start();
    await fixture.job('j-007', 'ACCEPTED', subscribed({ event: '*', url: base }));
    await settled('given_up');
    expect((await rows())[0]).toMatchObject({ attempts: 1, response_code: null });
    expect((await rows())[0]?.detail).toContain('outbound.private_targets');
    expect(target.got).toEqual([]);
    const { port } = new URL(base);
    for (const host of ['localhost', '[::1]', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]']) {
      const sent = await postWebhook(`http://${host}:${port}/`, '{}', {}, { privateTargets: false });
      expect(sent, host).toMatchObject({ delivered: false, code: null, final: true });
    }
    expect(target.got).toEqual([]);
  });

  it('of an address that is none is given up at once', async () => {
    await start();
    await fixture.job('j-007', 'ACCEPTED', subscribed({ event: '*', url: 'ftp://x/' }));
    await settled('given_up');
  });
});

describe('mail', () => {
  it('is sent for a subscription that is an address', async () => {
    await start();
    await fixture.job('j-007', 'ACCEPTED', subscribed({ event: '*', url: 'mailto:anna@example.org' }));
    await settled('delivered');
    expect(mails).toMatchObject([{ to: 'anna@example.org', subject: 'Job demo is ACCEPTED' }]);
    expect(mails[0]?.text).toContain('"id": "j-007"');
  });

  it('that is only logged is neither delivered nor given up, and stays whatever is kept of what does not come', async () => {
    await start();
    const policy = { saveOnFailure: false };
    await fixture.job('j-007', 'ACCEPTED', subscribed({ event: '*', url: 'logged@example.org', policy }));
    await settled('logged');
    expect(await rows()).toMatchObject([{ attempts: 1, next_attempt: null }]);
    const [subscription] = await fixture.store.read.selectFrom('job_notifications').select('status').execute();
    expect(subscription).toEqual({ status: 'COMPLETE' });
  });

  it('that is not taken is tried again', async () => {
    await start();
    const policy = { retryStrategy: 'NONE' };
    await fixture.job('j-007', 'ACCEPTED', subscribed({ event: '*', url: 'full@example.org', policy }));
    await settled('given_up');
    expect((await rows())[0]?.detail).toBe('mailbox full');
  });

  it.each(['a@b, c@d', 'a@b\r\nBcc: x@y', '"x"@y', 'a b@c', '@c', 'http://a@b/'])('goes to no %j', (target) => {
    expect(mailAddress(target)).toBeNull();
  });
});

describe('the addresses where users may send us', () => {
  it.each([
    ['8.8.8.8', true],
    ['2606:4700::1111', true],
    ['127.0.0.1', false],
    ['10.1.2.3', false],
    ['172.16.0.1', false],
    ['192.168.1.1', false],
    ['169.254.169.254', false],
    ['100.64.0.1', false],
    ['0.0.0.0', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['::1', false],
    ['::', false],
    ['fe80::1', false],
    ['fc00::1', false],
    ['ff02::1', false],
    ['::ffff:10.0.0.1', false],
    ['64:ff9b::7f00:1', false],
    ['2002:7f00:1::', false],
    ['no', false],
  ])('%s: %s', (address, expected) => {
    expect(isPublic(address)).toBe(expected);
  });

  it('are looked at when a name is resolved, all of them', async () => {
    const answers = (...found: string[]) =>
      new Promise<[Error | null, unknown]>((resolve) => {
        const dns = (
          _: string,
          __: object,
          done: (error: null, found: { address: string; family: number }[]) => void,
        ) =>
          done(
            null,
            found.map((address) => ({ address, family: 4 })),
          );
        publicLookup(dns)('name.example', {}, (error, address) => resolve([error, address]));
      });
    expect(await answers('8.8.8.8')).toEqual([null, '8.8.8.8']);
    expect((await answers('8.8.8.8', '10.0.0.1'))[0]).toBeInstanceOf(PrivateAddress);
    expect((await answers())[0]?.message).toContain('has no address');
  });
});
