import { Leases } from '@muster/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Identity } from '../src/auth/types.js';
import { Followers } from '../src/events/access.js';
import { EVENT_LIMITS } from '../src/events/limits.js';
import { EventWatch } from '../src/events/watch.js';
import { enabledNotifications, NotificationDirectory } from '../src/notifications/directory.js';
import { NOTIFICATION_LIMITS } from '../src/notifications/limits.js';
import { readNew } from '../src/notifications/request.js';
import { DeliveryRetention } from '../src/notifications/retention.js';
import { storeTold } from '../src/notifications/telling.js';
import type { Notification } from '../src/notifications/types.js';
import { type Directory, openDirectory } from './support/directory.js';
import { DECLARED } from './support/layers.js';
import { ME } from './support/personas.js';

let directory: Directory;
let notifications: NotificationDirectory;
let notifier: EventWatch<Notification>;
let anna: Identity;
/** Of what is stored next, so much fails. */
let failures = 0;
const warned: unknown[] = [];

function newNotifier(holder: string): EventWatch<Notification> {
  const { store, clock, recorder, auth } = directory;
  const { read, hints } = store;
  const transact: typeof store.transact = (work) =>
    failures-- > 0 ? Promise.reject(new Error('no database')) : store.transact(work);
  return new EventWatch<Notification>({
    name: 'notifications',
    store,
    choosers: () => enabledNotifications(read),
    act: (chosen, stamp) => storeTold({ store: { hints, transact }, clock }, chosen, stamp),
    clock,
    recorder,
    leases: new Leases({ store, clock, holder }),
    log: { debug: () => undefined, info: () => undefined, warn: (one) => warned.push(one), error: () => undefined },
    repository: auth.repository,
    followers: new Followers(auth.rights, DECLARED.families),
    maxSize: 4096,
  });
}

/** Those who administer the organization, and no others. */
const admins = (...users: string[]) =>
  directory.auth.groups.put(directory.organization, 'admins', { users, clients: [], groups: [] }, ME);

async function member(name: string): Promise<Identity> {
  const [found] = await directory.auth.repository.candidates(directory.organization.id, name);
  if (found === undefined) throw new Error(`${name} was added`);
  return { ...found, publicKey: null };
}

async function start(): Promise<void> {
  notifier.start();
  directory.clock.advance(0);
  await expect.poll(() => notifier.holds).toBe(true);
}

beforeEach(async () => {
  warned.length = 0;
  failures = 0;
  directory = await openDirectory();
  const { auth, store, recorder } = directory;
  await directory.addUser('anna');
  await admins('anna');
  anna = await member('anna');
  notifications = new NotificationDirectory({ store, changes: auth.changes, last: () => recorder.last });
  notifier = newNotifier('one');
});
afterEach(async () => {
  await notifier.stop();
  await directory.close();
  expect(warned).toEqual([]);
});

const tell = (name: string, on: string) =>
  notifications.create(directory.organization, name, readNew({ on, to: 'ops@example.org' }, false), anna, ME);
const happens = (name: string) => directory.addClient('service', name);
const rows = () => directory.store.read.selectFrom('deliveries').selectAll().orderBy('id').execute();
const told = async () =>
  (await rows())
    .sort((a, b) => a.id.slice(32).localeCompare(b.id.slice(32)))
    .map(({ event, body }) => `${event} ${JSON.parse(body).data.attributes.target}`);
const SERVICES = "type = 'auth.service.create'";

describe('a notification', () => {
  it('tells what its selector chooses, and nothing from before it was made', async () => {
    await happens('before');
    await tell('ops', `${SERVICES} AND target LIKE 'w%'`);
    await start();
    for (const name of ['web', 'db', 'worker']) await happens(name);
    await expect.poll(told).toEqual(['auth.service.create web', 'auth.service.create worker']);
    const [first] = await rows();
    expect(first).toMatchObject({
      url: 'ops@example.org',
      outcome: 'waiting',
      title: '[default] ops: auth.service.create',
    });
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      type: 'auth.service.create',
      timestamp: new Date(directory.clock.now()).toISOString(),
      data: { organization: 'default', source: 'muster', source_kind: 'server', attributes: { actor: 'me' } },
    });
  });

  it('tells each event once, also what happened while no process looked, whoever looks next', async () => {
    await tell('ops', SERVICES);
    await happens('a');
    await start();
    await expect.poll(told).toHaveLength(1);
    await notifier.stop();
    await happens('b');
    notifier = newNotifier('two');
    await start();
    await happens('c');
    await expect.poll(told).toEqual(['a', 'b', 'c'].map((name) => `auth.service.create ${name}`));
  });

  it('goes on after an outage of the database, with each event once', async () => {
    await tell('ops', SERVICES);
    await start();
    await happens('a');
    await expect.poll(told).toHaveLength(1);
    failures = 1;
    await happens('b');
    await expect.poll(() => warned).toHaveLength(1);
    await happens('c');
    expect(await told()).toHaveLength(1);
    directory.clock.advance(EVENT_LIMITS.watchAgainMs);
    await expect.poll(told).toEqual(['a', 'b', 'c'].map((name) => `auth.service.create ${name}`));
    warned.length = 0;
  });

  it('that is off tells nothing, and when it is on again nothing of meanwhile', async () => {
    const made = await tell('ops', SERVICES);
    await start();
    // By when it was changed it is told from how it was before.
    directory.clock.advance(1);
    const off = await notifications.change(made, { enabled: false }, anna, ME);
    await happens('meanwhile');
    directory.clock.advance(1);
    await notifications.change(off, { enabled: true }, anna, ME);
    await happens('after');
    await expect.poll(told).toEqual(['auth.service.create after']);
  });

  it('that is deleted tells nothing more, and what waits is not sent', async () => {
    const made = await tell('ops', SERVICES);
    const other = await tell('other', SERVICES);
    await start();
    await happens('a');
    await expect.poll(told).toHaveLength(2);
    await notifications.remove(made, ME);
    await happens('b');
    await expect.poll(told).toHaveLength(2);
    expect(new Set((await rows()).map(({ subscription }) => subscription))).toEqual(new Set([other.id]));
  });

  it('tells what whoever made it may follow when it is looked at', async () => {
    const { auth, organization: org } = directory;
    await directory.addUser('bob');
    await admins('anna', 'bob');
    await tell('annas', SERVICES);
    const asked = readNew({ on: SERVICES, to: 'bob@example.org' }, false);
    await notifications.create(org, 'bobs', asked, await member('bob'), ME);
    await start();
    const names = (...all: string[]) => all.map((name) => `auth.service.create ${name}`);
    await admins('bob');
    await happens('b');
    await expect.poll(told).toEqual(names('b'));
    await admins('anna', 'bob');
    await happens('c');
    await expect.poll(told).toEqual(names('b', 'c', 'c'));
    await auth.organizations.removeMember(org, 'anna', ME);
    await happens('d');
    await expect.poll(told).toEqual(names('b', 'c', 'c', 'd'));
  });

  it('for whom too many wait already is told no more of them, and says how many', async () => {
    const made = await tell('ops', SERVICES);
    await start();
    await happens('first');
    await expect.poll(told).toHaveLength(1);
    const [one] = await rows();
    if (one === undefined) throw new Error('there is one');
    const more = Array.from({ length: NOTIFICATION_LIMITS.waiting - 2 }, (_, at) => ({
      ...one,
      id: `${one.id}-${at}`,
    }));
    await directory.store.transact(async (trx) => {
      for (let at = 0; at < more.length; at += 50) {
        await trx
          .insertInto('deliveries')
          .values(more.slice(at, at + 50))
          .execute();
      }
    });
    for (const name of ['second', 'third', 'fourth']) await happens(name);
    const shown = async () => (await notifications.existing(directory.organization, made.name)).skipped;
    await expect.poll(shown).toBe(2);
    expect(await rows()).toHaveLength(NOTIFICATION_LIMITS.waiting);
  });

  it('has a name of its own, and an organization so many', async () => {
    await tell('ops', SERVICES);
    await expect(tell('ops', SERVICES)).rejects.toMatchObject({ code: 'already_exists' });
    for (let at = 1; at < NOTIFICATION_LIMITS.perOrganization; at++) await tell(`n${at}`, SERVICES);
    await expect(tell('one-more', SERVICES)).rejects.toMatchObject({ code: 'too_busy' });
  });
});

it('what was sent long ago is forgotten, and what waits is not', async () => {
  await tell('ops', SERVICES);
  await start();
  for (const name of ['a', 'b']) await happens(name);
  await expect.poll(told).toHaveLength(2);
  const { store, clock } = directory;
  const [first] = await rows();
  await store.transact((trx) =>
    trx
      .updateTable('deliveries')
      .set({ outcome: 'delivered' })
      .where('id', '=', first?.id ?? '')
      .execute(),
  );
  const retention = new DeliveryRetention({ store, clock, failed: (error) => warned.push(error) });
  clock.advance(NOTIFICATION_LIMITS.keepMs);
  await retention.prune();
  expect(await rows()).toHaveLength(2);
  clock.advance(1);
  await retention.prune();
  expect(await told()).toEqual(['auth.service.create b']);
});
