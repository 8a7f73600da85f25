import { ChainReader, type Seal } from '@muster/signing';
import { Leases } from '@muster/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Identity } from '../src/auth/types.js';
import { NotificationDirectory } from '../src/notifications/directory.js';
import { NOTIFICATION_LIMITS } from '../src/notifications/limits.js';
import { readFields, readNew } from '../src/notifications/request.js';
import { settledTrail, trailsOf } from '../src/notifications/trail.js';
import { AuditTrails } from '../src/notifications/trails.js';
import type { Notification } from '../src/notifications/types.js';
import { OUTBOUND_ROWS } from '../src/outbound/rows.js';
import type { Sent } from '../src/outbound/webhook.js';
import { type Directory, openDirectory } from './support/directory.js';
import { ME } from './support/personas.js';

/** The audit, brought to somebody outside. */

let directory: Directory;
let notifications: NotificationDirectory;
let trails: AuditTrails;
let anna: Identity;
/** What the receiver does with the next; it takes all others. */
let answers: (Sent | Promise<Sent>)[] = [];
const got: { readonly address: string; readonly id: string; readonly body: string }[] = [];
const warned: unknown[] = [];

const DOWN: Sent = { delivered: false, code: 503, detail: 'down' };
const UP: Sent = { delivered: true, code: 204, detail: '' };

function newTrails(holder: string): AuditTrails {
  const { store, clock, auth } = directory;
  return new AuditTrails({
    store,
    clock,
    auth,
    leases: new Leases({ store, clock, holder }),
    log: { debug: () => undefined, info: () => undefined, warn: (one) => warned.push(one), error: () => undefined },
    masterKey: new Uint8Array(32),
    privateTargets: false,
    async post(address, body, headers) {
      got.push({ address, id: headers['webhook-id'] ?? '', body });
      return answers.shift() ?? UP;
    },
  });
}

const admins = (...users: string[]) =>
  directory.auth.groups.put(directory.organization, 'admins', { users, clients: [], groups: [] }, ME);

beforeEach(async () => {
  warned.length = 0;
  got.length = 0;
  answers = [];
  directory = await openDirectory();
  const { auth, store, recorder, organization } = directory;
  await directory.addUser('anna');
  await admins('anna');
  const [found] = await auth.repository.candidates(organization.id, 'anna');
  if (found === undefined) throw new Error('anna was added');
  anna = { ...found, publicKey: null };
  notifications = new NotificationDirectory({ store, changes: auth.changes, last: () => recorder.last });
  trails = newTrails('one');
});
afterEach(async () => {
  await trails.stop();
  await directory.close();
  expect(warned).toEqual([]);
});

async function start(): Promise<void> {
  trails.start();
  directory.clock.advance(0);
  await expect.poll(() => trails.holds).toBe(true);
}

const SIEM = 'https://siem.example.org/muster';
const follow = (more: object = {}) =>
  notifications.create(
    directory.organization,
    'siem',
    readNew({ follows: 'audit', to: SIEM, ...more }, false),
    anna,
    ME,
  );
const change = async (fields: object) => {
  const before = await notifications.existing(directory.organization, 'siem');
  directory.clock.advance(1);
  return notifications.change(before, readFields(fields, 'audit', false), anna, ME);
};
const state = async (one: Notification) => (await trailsOf(directory.store.read, [one])).get(one.id);

/** Somebody does something, and it is sealed. */
async function happens(...targets: string[]): Promise<void> {
  const { auth, store, organization } = directory;
  const entry = (target: string) =>
    auth.audit.write({ orgId: organization.id, actor: ME, action: 'push.start', target, outcome: 'done' });
  await store.commit(targets.map(entry));
  await auth.auditSeals.seal();
}

interface Told {
  readonly organization_id: string;
  readonly public_key: string;
  readonly seal: Seal;
  readonly entries: readonly { readonly target: string; readonly action: string }[];
}
const read = (body: string): Told => JSON.parse(body).data;
const jobs = (bodies: readonly { readonly body: string }[] = got) =>
  bodies
    .flatMap(({ body }) => read(body).entries)
    .filter(({ action }) => action === 'push.start')
    .map(({ target }) => target);

/** Of what arrived, each once: how many entries the chain has that they make. @throws MusterError `audit_broken` */
function verified(): { readonly seals: number; readonly entries: number } {
  const { publicKey } = directory.auth.auditSeals;
  const reader = new ChainReader([publicKey], directory.organization.id);
  for (const [id, body] of new Map(got.map(({ id, body }) => [id, body]))) {
    const { seal, entries, public_key: key } = read(body);
    expect(id.endsWith(`.audit-${String(seal.number).padStart(16, '0')}`)).toBe(true);
    expect(key).toBe(publicKey);
    reader.take(
      seal,
      entries.map((entry) => JSON.stringify(entry)),
    );
  }
  return { seals: reader.head.number, entries: reader.entries };
}

async function written(): Promise<number> {
  const { id } = directory.organization;
  const rows = directory.store.read.selectFrom('audit').select('id').where('org_id', '=', id);
  return (await rows.execute()).length;
}

describe('who follows the audit', () => {
  it('gets all of it from its beginning, each seal once and in order, as it was sealed', async () => {
    await happens('before');
    const made = await follow();
    await start();
    await happens('a', 'b');
    await happens('c');
    await expect.poll(() => jobs()).toEqual(['before', 'a', 'b', 'c']);
    await expect.poll(() => state(made)).toMatchObject({ seal: 3, sealed: 3, attempts: 0, response_code: 204 });
    expect(verified()).toEqual({ seals: 3, entries: await written() });
    expect(got.map(({ address }) => address)).toEqual([SIEM, SIEM, SIEM]);
    expect(JSON.parse(got[0]?.body ?? '')).toMatchObject({ type: 'muster.audit', data: { organization: 'default' } });
  });

  it('gets after an outage what happened meanwhile, nothing before what did not arrive', async () => {
    const made = await follow();
    answers = [DOWN, DOWN];
    await happens('a');
    await start();
    await expect.poll(() => state(made)).toMatchObject({ attempts: 1, response_code: 503, detail: 'down' });
    expect(warned.splice(0)).toMatchObject([{ notification: 'siem', code: 503 }]);
    for (const job of ['b', 'c', 'd']) await happens(job);
    directory.clock.advance(5000);
    // Whoever began to wait only now is due at once.
    const soon = () => {
      directory.clock.advance(0);
      return state(made);
    };
    await expect.poll(soon).toMatchObject({ attempts: 2 });
    directory.clock.advance(9999);
    expect(new Set(got.map(({ id }) => id)).size).toBe(1);
    directory.clock.advance(1);
    await expect.poll(soon).toMatchObject({ seal: 4, attempts: 0 });
    expect(jobs(got.slice(2))).toEqual(['a', 'b', 'c', 'd']);
    expect(verified().seals).toBe(4);
  });

  it('gets again, with the same id, what had arrived when the server was killed, and then the rest', async () => {
    const made = await follow();
    await start();
    let arrived: (sent: Sent) => void = () => undefined;
    answers = [
      new Promise<Sent>((resolve) => {
        arrived = resolve;
      }),
    ];
    await happens('a');
    await expect.poll(() => got).toHaveLength(1);
    const killed = trails.stop();
    arrived(UP);
    await killed;
    expect(await state(made)).toMatchObject({ seal: 0 });
    await happens('b');
    trails = newTrails('two');
    await start();
    await expect.poll(() => state(made)).toMatchObject({ seal: 2 });
    expect(jobs()).toEqual(['a', 'a', 'b']);
    expect(got[1]?.id).toBe(got[0]?.id);
    expect(verified().seals).toBe(2);
  });

  it('gets nothing while its owner may not read the audit, and then what was missing', async () => {
    const made = await follow();
    await start();
    await happens('a');
    await expect.poll(() => state(made)).toMatchObject({ seal: 1 });
    await admins();
    await happens('b');
    await expect
      .poll(() => state(made))
      .toMatchObject({ attempts: 1, detail: expect.stringContaining('anna may not') });
    expect(warned.splice(0)).toHaveLength(1);
    await directory.auth.organizations.removeMember(directory.organization, 'anna', ME);
    directory.clock.advance(5000);
    // Whoever began to wait only now is due at once.
    const soon = () => {
      directory.clock.advance(0);
      return state(made);
    };
    await expect.poll(soon).toMatchObject({ attempts: 2 });
    expect(jobs()).toEqual(['a']);
    const { auth, organization } = directory;
    await auth.organizations.addMember(organization, 'anna', ME);
    await admins('anna');
    directory.clock.advance(10_000);
    await expect.poll(() => jobs()).toEqual(['a', 'b']);
    expect(verified().seals).toBe(2);
  });

  it('that is off gets nothing, and all of it when it is on again', async () => {
    const made = await follow();
    await start();
    await happens('a');
    await expect.poll(() => state(made)).toMatchObject({ seal: 1 });
    await change({ enabled: false });
    await happens('b');
    await change({ enabled: true });
    await happens('c');
    await expect.poll(() => jobs()).toEqual(['a', 'b', 'c']);
    expect(verified().seals).toBe(3);
  });

  it('begins after a seal that it names, and goes back to one when it is told to', async () => {
    await happens('a');
    await happens('b');
    const made = await follow({ after_seal: 1 });
    await start();
    await expect.poll(() => state(made)).toMatchObject({ seal: 2 });
    expect(jobs()).toEqual(['b']);
    got.length = 0;
    await change({ after_seal: 0 });
    await expect.poll(() => jobs()).toEqual(['a', 'b']);
  });

  it('begins after no seal that is not there', async () => {
    await happens('a');
    await expect(follow({ after_seal: 2 })).rejects.toMatchObject({ code: 'invalid_field' });
    await follow({ after_seal: 1 });
    await expect(change({ after_seal: 9 })).rejects.toMatchObject({ details: { field: 'after_seal' } });
  });

  it('gets what happens after the end was deleted that it has, with numbers that it does not know', async () => {
    const made = await follow();
    await start();
    for (const job of ['a', 'b', 'c']) await happens(job);
    await expect.poll(() => state(made)).toMatchObject({ seal: 3 });
    await directory.store.transact(async (trx) => {
      await trx.deleteFrom('audit').where('seal', '>', 1).execute();
      await trx.deleteFrom('audit_seals').where('number', '>', 1).execute();
    });
    expect(await state(made)).toMatchObject({ seal: 3, sealed: 1 });
    await happens('d');
    await expect.poll(() => jobs()).toEqual(['a', 'b', 'c', 'd']);
    await expect.poll(() => state(made)).toMatchObject({ seal: 4, sealed: 4 });
    expect(new Set(got.map(({ id }) => id)).size).toBe(4);
    expect(verified).toThrow('its entries are not those that were sealed');
  });

  it('is tried again at once when it is changed, and what was under way goes to the new target too', async () => {
    const made = await follow();
    await start();
    let arrived: (sent: Sent) => void = () => undefined;
    answers = [
      new Promise<Sent>((resolve) => {
        arrived = resolve;
      }),
    ];
    await happens('a');
    await expect.poll(() => got).toHaveLength(1);
    const changed = await change({ to: 'https://new.example.org/' });
    arrived(UP);
    await expect.poll(() => state(made)).toMatchObject({ seal: 1 });
    expect(got.map(({ address }) => address)).toEqual([SIEM, changed.target]);
    expect(jobs()).toEqual(['a', 'a']);
  });

  it('that is deleted gets nothing more, and leaves nothing', async () => {
    const made = await follow();
    await start();
    await notifications.remove(made, ME);
    await happens('a');
    await notifications.create(
      directory.organization,
      'other',
      readNew({ follows: 'audit', to: SIEM }, false),
      anna,
      ME,
    );
    await expect.poll(() => jobs()).toEqual(['a']);
    expect(await state(made)).toBeUndefined();
    expect(got[0]?.id).not.toContain(made.id);
  });

  it('goes with its organization, and so does how far it came', async () => {
    await follow();
    const { store, organization } = directory;
    expect(await store.transact((trx) => OUTBOUND_ROWS.clear(trx, organization.id, 100))).toBe(true);
    expect(await store.read.selectFrom('audit_trails').selectAll().execute()).toEqual([]);
  });
});

describe('pauses between attempts', () => {
  it('double from five seconds to ten minutes, and never end', () => {
    let trail = { seal: 7, attempts: 0 };
    const pauses: number[] = [];
    for (let at = 0; at < 10; at++) {
      const settled = settledTrail(trail, 8, DOWN, 0, 0);
      pauses.push(settled.next_attempt / 1000);
      trail = settled;
    }
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
    expect(settledTrail({ seal: 7, attempts: 1_000_000 }, 8, DOWN, 0, 0)).toMatchObject({
      seal: 7,
      next_attempt: NOTIFICATION_LIMITS.trailPauseMs,
    });
    expect(settledTrail({ seal: 7, attempts: 9 }, 8, UP, 0, 0)).toMatchObject({ seal: 8, attempts: 0 });
  });
});
