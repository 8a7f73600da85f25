import type { MusterError } from '@muster/base';
import type { Login, Revoked } from '@muster/fabric';
import { SIGNING_LIMITS, signLogin } from '@muster/signing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EventGrants } from '../src/events/grants.js';
import { EVENT_LIMITS } from '../src/events/limits.js';
import { EventAuthority } from '../src/events/login.js';
import { StoredNonces } from '../src/events/stored-nonces.js';
import { type Directory, openDirectory, otherKey } from './support/directory.js';
import { FOLLOWERS } from './support/layers.js';
import { ME, sharedKey } from './support/personas.js';

let directory: Directory;
let authority: EventAuthority;
let nonces: StoredNonces;
let outcomes: string[];
let revoked: Revoked[];
const failures: unknown[] = [];

beforeEach(async () => {
  directory = await openDirectory();
  outcomes = [];
  revoked = [];
  await start();
});

/** As a server does, also when it is started again. */
async function start(): Promise<void> {
  const { auth, clock, store } = directory;
  nonces = new StoredNonces(store, clock, (error) => failures.push(error));
  await nonces.load();
  authority = new EventAuthority({
    repository: auth.repository,
    audit: auth.audit,
    nonces,
    sessions: auth.sessions,
    followers: FOLLOWERS,
    clock,
    log: { warn: () => undefined },
    observe: (outcome) => outcomes.push(outcome),
  });
  authority.onRevoked((one) => revoked.push(one));
}

afterEach(async () => {
  heard = 0;
  authority.stop();
  await nonces.stop();
  await directory.close();
  expect(failures.splice(0)).toEqual([]);
});

const FROM = { remote: '192.0.2.1:5000' };
const login = (name: string, passcode: string) => authority.login(name, passcode, FROM);
const numbers = (function* () {
  for (let n = 1; ; n++) yield n.toString(16).padStart(32, '0');
})();
const signed = (name: string, key = sharedKey().privateKey, timestampMs = directory.clock.now()) =>
  signLogin({ login: name, timestampMs, nonce: numbers.next().value }, key);

/** A refusal comes when its time has passed. */
async function refusal(attempt: Promise<Login>): Promise<MusterError> {
  const refused = attempt.then(
    () => Promise.reject(new Error('let in')),
    (error: MusterError) => error,
  );
  await expect.poll(() => directory.clock.pending).toBeGreaterThan(0);
  directory.clock.advance(EVENT_LIMITS.refusalMs);
  return refused;
}

/** The newest denial of the audit that was read, which hears of each a little later. */
let heard = 0;

async function reason(attempt: Promise<Login>): Promise<unknown> {
  expect(await refusal(attempt)).toMatchObject({ code: 'login_refused', message: 'login refused' });
  const { store } = directory;
  const kept = async (): Promise<unknown> => {
    const entry = await store.read
      .selectFrom('audit')
      .select(['id', 'detail'])
      .where('action', '=', 'access.denied')
      .where('id', '>', heard)
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow();
    heard = entry.id;
    return JSON.parse(entry.detail).reason;
  };
  return vi.waitFor(kept, { timeout: 60_000 });
}

describe('an access token', () => {
  it('lets its user in until it expires', async () => {
    await directory.addUser('alice');
    const { token } = await directory.token('alice', null, 60);
    expect(await login('default/alice', token)).toMatchObject({
      access: { org: 'default', principal: 'default/alice', relay: false },
      expiresMs: directory.clock.now() + 60_000,
    });
    expect(outcomes).toEqual(['accepted']);
  });

  it('lets its service in', async () => {
    await directory.addClient('service', 'relay');
    const { token } = await directory.token('relay', directory.organization);
    expect((await login('default/relay', token)).access.principal).toBe('default/relay');
  });

  it('that has expired is refused', async () => {
    await directory.addUser('alice');
    const { token } = await directory.token('alice', null, 60);
    directory.clock.advance(60_000);
    expect(await reason(login('default/alice', token))).toBe('token expired');
  });

  it('is refused, too, where the key that signs has expired, and a session ends with the key', async () => {
    const { principals } = directory.auth;
    await directory.addClient('node', 'web1');
    const orgId = directory.organization.id;
    await principals.addKey(orgId, 'node', 'web1', { ...otherKey, keyTtl: 60 }, ME);
    const until = directory.clock.now() + 60_000;
    const given = await login('default/web1', signed('default/web1', otherKey.privateKey));
    expect(given.expiresMs).toBe(until);
    directory.clock.advance(60_000);
    await expect(authority.renew('default/web1', given.grounds)).rejects.toMatchObject({ code: 'login_refused' });
    expect(await reason(login('default/web1', signed('default/web1', otherKey.privateKey)))).toBe('key expired');
  });

  it('of somebody else is refused', async () => {
    await directory.addUser('alice');
    await directory.addUser('bob');
    const { token } = await directory.token('bob');
    expect(await reason(login('default/alice', token))).toBe('token of somebody else');
  });

  it('of a service does not let a user of its name in', async () => {
    await directory.addUser('both');
    await directory.addClient('service', 'both');
    const other = await directory.auth.organizations.create('other', ME);
    await directory.addClient('service', 'both', other);
    const { token } = await directory.token('both', other);
    expect(await reason(login('default/both', token))).toBe('token of somebody else');
  });

  it('goes with the organization of its service, whose rows follow later; the next of the name inherits none', async () => {
    const passing = await directory.auth.organizations.create('passing', ME);
    await directory.addClient('service', 'relay', passing);
    const { token } = await directory.token('relay', passing);
    await login('passing/relay', token);
    await directory.auth.organizations.remove(passing, ME);
    expect(await reason(login('passing/relay', token))).toBe('no such organization');
    const next = await directory.auth.organizations.create('passing', ME);
    expect(await reason(login('passing/relay', token))).toBe('not in the organization');
    await directory.addClient('service', 'relay', next);
    expect(await reason(login('passing/relay', token))).toBe('unknown token');
  });

  it('lets a user into organizations it belongs to, and no other', async () => {
    await directory.addUser('alice');
    await directory.auth.organizations.create('other', ME);
    const { token } = await directory.token('alice');
    expect(await reason(login('other/alice', token))).toBe('not in the organization');
  });
});

describe('a signed login', () => {
  it.each(['node', 'service'] as const)('lets a %s in, without end', async (type) => {
    await directory.addClient(type, 'web1');
    expect(await login('default/web1', signed('default/web1'))).toMatchObject({
      access: { principal: 'default/web1' },
      expiresMs: null,
    });
  });

  it('lets a user in', async () => {
    await directory.addUser('alice');
    expect((await login('default/alice', signed('default/alice'))).access.principal).toBe('default/alice');
  });

  it('is good once', async () => {
    await directory.addClient('node', 'web1');
    const passcode = signed('default/web1');
    await login('default/web1', passcode);
    expect(await reason(login('default/web1', passcode))).toBe('repeated signature');
  });

  it('is good once, though two come at the same time', async () => {
    await directory.addClient('node', 'web1');
    const passcode = signed('default/web1');
    const settled = Promise.allSettled([login('default/web1', passcode), login('default/web1', passcode)]);
    await expect.poll(() => directory.clock.pending).toBeGreaterThan(0);
    directory.clock.advance(EVENT_LIMITS.refusalMs);
    expect((await settled).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it.each([-SIGNING_LIMITS.loginSkewMs + 2000, 0, SIGNING_LIMITS.loginSkewMs - 1])(
    'is good once also over a restart, when it was signed by a clock that is %d ms ahead',
    async (aheadMs) => {
      await directory.addClient('node', 'web1');
      const clock = () => directory.clock.now() + aheadMs;
      const passcode = signed('default/web1', undefined, clock());
      await login('default/web1', passcode);
      authority.stop();
      directory.clock.advance(1000);
      await start();
      expect(await reason(login('default/web1', passcode))).toBe('repeated signature');
      await login('default/web1', signed('default/web1', undefined, clock()));
    },
  );

  it('is not let in before it is stored that it was used', async () => {
    await directory.addClient('node', 'web1');
    const passcode = signed('default/web1');
    const commit = vi.spyOn(directory.store, 'commit').mockRejectedValueOnce(new Error('the disk is full'));
    await expect(login('default/web1', passcode)).rejects.toThrow('the disk is full');
    commit.mockRestore();
    await login('default/web1', signed('default/web1'));
  });

  it('is deleted from the database once it is too old', async () => {
    await directory.addClient('node', 'web1');
    const stored = async () => (await directory.store.read.selectFrom('event_nonces').selectAll().execute()).length;
    for (let n = 0; n < 3; n++) await login('default/web1', signed('default/web1'));
    directory.clock.advance(SIGNING_LIMITS.loginSkewMs - 1);
    await nonces.prune();
    expect(await stored()).toBe(3);
    directory.clock.advance(1);
    await nonces.prune();
    expect(await stored()).toBe(0);
  });

  it('does not wait while old ones are deleted', async () => {
    await directory.addClient('node', 'web1');
    let fail = (_: Error) => {};
    const deleting = vi.spyOn(directory.store, 'transact').mockImplementation(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    nonces.start();
    directory.clock.advance(EVENT_LIMITS.pruneNoncesMs);
    expect(deleting).toHaveBeenCalledTimes(1);
    await login('default/web1', signed('default/web1'));
    fail(new Error('the disk is full'));
    await expect.poll(() => failures.splice(0)).toEqual([new Error('the disk is full')]);
    deleting.mockRestore();
  });

  it('is still good once when it has been forgotten: it is too old by then', async () => {
    await directory.addClient('node', 'web1');
    const passcode = signed('default/web1', undefined, directory.clock.now() + SIGNING_LIMITS.loginSkewMs - 1);
    await login('default/web1', passcode);
    directory.clock.advance(2 * SIGNING_LIMITS.loginSkewMs - 2);
    expect(await reason(login('default/web1', passcode))).toBe('repeated signature');
    directory.clock.advance(1);
    expect(await reason(login('default/web1', passcode))).toBe('untimely signature');
  });

  it('of another key is refused', async () => {
    await directory.addClient('node', 'web1');
    expect(await reason(login('default/web1', signed('default/web1', otherKey.privateKey)))).toBe('invalid signature');
  });

  it('for another name is refused', async () => {
    await directory.addClient('node', 'web1');
    await directory.addClient('node', 'web2');
    expect(await reason(login('default/web2', signed('default/web1')))).toBe('invalid signature');
  });
});

describe('a login that was granted', () => {
  const renew = (name: string, { grounds }: Login) => authority.renew(name, grounds);

  it.each(['token', 'key'] as const)('by a %s is judged again without it, also by the next server', async (kind) => {
    await directory.addUser('alice');
    const { token } = await directory.token('alice');
    const before = await login('default/alice', kind === 'token' ? token : signed('default/alice'));
    authority.stop();
    await start();
    const { stamp: _, ...same } = before;
    expect(await renew('default/alice', before)).toMatchObject(same);
    expect(before.grounds).not.toContain(token);
    // From now on it is told when it holds no longer.
    await directory.auth.principals.removeUser('alice', ME);
    await expect.poll(() => revoked).toMatchObject([{ principal: 'default/alice' }]);
    await expect(renew('default/alice', before)).rejects.toMatchObject({ code: 'login_refused' });
  });

  it('is refused when its token is deleted or has expired, or its key is removed', async () => {
    await directory.addUser('alice');
    await directory.addClient('node', 'web1');
    const { id, token } = await directory.token('alice');
    const { token: short } = await directory.token('alice', null, 60);
    const deleted = await login('default/alice', token);
    const expired = await login('default/alice', short);
    const web1 = await login('default/web1', signed('default/web1'));
    const { principals, tokens } = directory.auth;
    const orgId = directory.organization.id;
    await tokens.removeUserToken(null, id, ME);
    directory.clock.advance(60_000);
    const added = await principals.addKey(orgId, 'node', 'web1', otherKey, ME);
    for (const { fingerprint } of (await principals.get(orgId, 'node', 'web1')).keys) {
      if (fingerprint !== added.fingerprint) await principals.removeKey(orgId, 'node', 'web1', fingerprint, ME);
    }
    for (const [name, before] of [
      ['default/alice', deleted],
      ['default/alice', expired],
      ['default/web1', web1],
      ['default/alice', web1],
      ['default/alice', { ...web1, grounds: 'anything' }],
    ] as const) {
      await expect(renew(name, before)).rejects.toMatchObject({ code: 'login_refused' });
    }
  });

  it('is told what it may do now', async () => {
    await directory.addUser('alice');
    const before = await login('default/alice', signed('default/alice'));
    const members = { users: ['somebody'], clients: [], groups: [] };
    await directory.auth.groups.put(directory.organization, 'event_writers', members, ME);
    expect((await renew('default/alice', before)).access.publish).not.toEqual(before.access.publish);
  });

  it('cannot be had with what it stands on', async () => {
    await directory.addUser('alice');
    const { grounds } = await login('default/alice', signed('default/alice'));
    expect(await reason(login('default/alice', grounds))).toBe('unknown token');
  });
});

describe('a refusal', () => {
  it.each([
    ['', 'not ORG/NAME'],
    ['default', 'not ORG/NAME'],
    ['default/', 'not ORG/NAME'],
    ['/alice', 'not ORG/NAME'],
    ['DEFAULT/alice', 'not ORG/NAME'],
    ['default/al ice', 'not ORG/NAME'],
    ['default/alice\n', 'not ORG/NAME'],
    ['nowhere/alice', 'no such organization'],
    ['default/nobody', 'not in the organization'],
    ['default/outside', 'not in the organization'],
    ['default/alice', 'unknown token'],
  ])('of %j is for the audit alone: %s', async (name, why) => {
    await directory.addUser('alice');
    await directory.addUser('outside', null);
    expect(await reason(login(name, 'access_guess'))).toBe(why);
    expect(outcomes).toEqual(['refused']);
  });

  it('comes after the same time, whatever is wrong', async () => {
    let refused = false;
    const attempt = login('nowhere/alice', 'access_guess').catch(() => {
      refused = true;
    });
    await expect.poll(() => directory.clock.pending).toBe(1);
    directory.clock.advance(EVENT_LIMITS.refusalMs - 1);
    await new Promise(setImmediate);
    expect(refused).toBe(false);
    directory.clock.advance(1);
    await attempt;
    expect(refused).toBe(true);
  });

  it('says in the audit who tried, and from where', async () => {
    await reason(login('default/nobody', 'access_guess'));
    const [entry] = await directory.auth.audit.page({ orgId: directory.organization.id, limit: 1 });
    expect(entry).toMatchObject({
      actor: { name: 'nobody', kind: 'claimed' },
      action: 'access.denied',
      target: 'stomp',
      outcome: 'denied',
      detail: { code: 'login_refused', address: '192.0.2.1:5000' },
    });
  });
});

describe('what was granted is taken back', () => {
  const { publicKey, privateKey } = otherKey;
  const alice = { org: 'default', principal: 'default/alice' };
  const web1 = { org: 'default', principal: 'default/web1' };
  const NOBODY = { users: [], clients: [], groups: [] };
  const told = (expected: readonly Revoked[]) =>
    expect.poll(() => revoked.map(({ org, principal }) => ({ org, principal }))).toEqual(expected);

  beforeEach(async () => {
    await directory.addUser('alice');
    await directory.addClient('node', 'web1');
  });

  it('when the token is deleted', async () => {
    const { id, token } = await directory.token('alice');
    await login('default/alice', token);
    await directory.auth.tokens.removeUserToken(null, id, ME);
    await told([alice]);
    expect(await reason(login('default/alice', token))).toBe('unknown token');
  });

  it('when the key is deleted, but not when another of its keys is', async () => {
    const { principals } = directory.auth;
    const orgId = directory.organization.id;
    const added = await principals.addKey(orgId, 'node', 'web1', { publicKey }, ME);
    const [first] = (await principals.get(orgId, 'node', 'web1')).keys.filter(
      (key) => key.fingerprint !== added.fingerprint,
    );
    await login('default/web1', signed('default/web1', privateKey));
    await principals.removeKey(orgId, 'node', 'web1', first?.fingerprint ?? '', ME);
    await principals.addKey(orgId, 'node', 'web1', { publicKey: first?.publicKey ?? '' }, ME);
    expect(revoked).toEqual([]);
    await principals.removeKey(orgId, 'node', 'web1', added.fingerprint, ME);
    await told([web1]);
  });

  it('when the node is deleted', async () => {
    await login('default/web1', signed('default/web1'));
    await directory.auth.principals.removeClient(directory.organization.id, 'node', 'web1', ME);
    await told([web1]);
  });

  it('when the user leaves the organization', async () => {
    await login('default/alice', signed('default/alice'));
    await directory.auth.organizations.removeMember(directory.organization, 'alice', ME);
    await told([alice]);
  });

  it('when the organization is deleted', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    await directory.auth.organizations.addMember(other, 'alice', ME);
    await login('other/alice', signed('other/alice'));
    await login('default/alice', signed('default/alice'));
    await directory.auth.organizations.remove(other, ME);
    await told([{ org: 'other', principal: 'other/alice' }]);
  });

  it('when a group takes away what it may do', async () => {
    await login('default/alice', signed('default/alice'));
    await login('default/web1', signed('default/web1'));
    const members = { ...NOBODY, users: ['alice'] };
    await directory.auth.groups.put(directory.organization, 'event_writers', members, ME);
    await told([web1]);
  });

  it('when a grant to somebody else does', async () => {
    await login('default/alice', signed('default/alice'));
    const grants = new EventGrants(directory.auth.changes, directory.auth.repository);
    const target = { action: 'publish', pattern: 'temp.*' } as const;
    await grants.put(directory.organization, target, { ...NOBODY, clients: ['web1'] }, ME);
    await told([alice]);
  });

  it('from the logins before the change, not from those after it', async () => {
    const { token } = await directory.token('alice');
    const { id, token: other } = await directory.token('alice');
    const before = [await login('default/alice', token), await login('default/alice', other)];
    await directory.auth.tokens.removeUserToken(null, id, ME);
    const after = await login('default/alice', token);
    await told([alice]);
    const isMeant = ({ stamp }: Login) => (stamp ?? 0) < (revoked[0]?.before ?? 0);
    expect([...before, after].map(isMeant)).toEqual([true, true, false]);
  });

  it('also when the same credential was used again before anybody looked', async () => {
    const { token } = await directory.token('alice');
    const first = await login('default/alice', token);
    const members = { ...NOBODY, users: ['somebody'] };
    await directory.auth.groups.put(directory.organization, 'event_writers', members, ME);
    const second = await login('default/alice', token);
    await told([alice]);
    const isMeant = ({ stamp }: Login) => (stamp ?? 0) < (revoked[0]?.before ?? 0);
    expect([first, second].map(isMeant)).toEqual([true, false]);
  });

  it('but not by changes that do not concern it', async () => {
    await login('default/alice', signed('default/alice'));
    await directory.addUser('bob');
    await directory.token('bob');
    await directory.auth.groups.put(directory.organization, 'oncall', NOBODY, ME);
    await directory.auth.principals.removeUser('bob', ME);
    await login('default/web1', signed('default/web1'));
    await directory.auth.principals.removeClient(directory.organization.id, 'node', 'web1', ME);
    await told([web1]);
  });
});
