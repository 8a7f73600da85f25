import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUTH_LIMITS } from '../src/auth/limits.js';
import { type Directory, openDirectory } from './support/directory.js';

/** Sessions of the console, without a server around them. */

let directory: Directory;

beforeEach(async () => {
  directory = await openDirectory();
  await directory.addUser('alice');
});
afterEach(() => directory.close());

const FROM = '192.0.2.1';

async function begin() {
  const { token } = await directory.token('alice', null, 86_400);
  return directory.auth.sessions.byToken(token, 'default', FROM);
}

const rows = () => directory.store.read.selectFrom('browser_sessions').selectAll().execute();

it('the database has hashes of links, sessions and tickets alone', async () => {
  const { sessions, repository } = directory.auth;
  const [alice] = await repository.candidates(directory.organization.id, 'alice');
  if (alice === undefined) throw new Error('nobody');
  const { principalId, type, name } = alice;
  const identity = { principalId, type, name, serverAdmin: false, publicKey: null };
  const { token } = await directory.token('alice');
  const { session, secret } = await sessions.byToken(token, 'default', FROM);
  const proof = { kind: 'key', fingerprint: 'x' } as const;
  const link = await sessions.links.create(directory.organization, identity, proof);
  const { ticket } = await sessions.ticket(session);
  const { read } = directory.store;
  const stored = JSON.stringify([
    await rows(),
    await read.selectFrom('sign_in_links').selectAll().execute(),
    await read.selectFrom('session_tickets').selectAll().execute(),
    await read.selectFrom('audit').selectAll().execute(),
  ]);
  for (const [kind, text] of Object.entries({ session: secret, link: link.secret, ticket, access: token })) {
    expect(text).toMatch(new RegExp(`^${kind}_`));
    expect(stored).not.toContain(text);
    expect(stored).not.toContain(text.slice(text.indexOf('_') + 1));
  }
});

describe('signs of life', () => {
  it('are kept until the next round, which stores them', async () => {
    const { session } = await begin();
    const { live } = directory.auth.sessions;
    const before = (await rows())[0]?.last_seen;
    directory.clock.advance(10_000);
    live.saw(session);
    expect((await rows())[0]?.last_seen).toBe(before);
    await live.tidy();
    expect((await rows())[0]?.last_seen).toBe(directory.clock.now());
  });

  it('are bounded', async () => {
    const { live } = directory.auth.sessions;
    for (let n = 0; n < AUTH_LIMITS.sessionsSeen; n++) live.saw({ id: `s${n}` });
    const { session } = await begin();
    directory.clock.advance(1000);
    live.saw(session);
    expect(live.lastSeen(session)).toBe(session.lastSeen);
    live.saw({ id: 's0' });
    expect(live.lastSeen({ id: 's0', lastSeen: 0 })).toBe(directory.clock.now());
  });

  it('of a session that ended meanwhile change nothing', async () => {
    const { session, secret } = await begin();
    const { sessions } = directory.auth;
    sessions.live.saw(session);
    await sessions.end(session, { name: 'alice', kind: 'user' });
    await sessions.live.tidy();
    expect([await rows(), secret === '']).toEqual([[], false]);
  });
});

describe('what has ended', () => {
  it('is deleted by the next round, and those that stand on it are told', async () => {
    await begin();
    let told = 0;
    directory.auth.repository.onChanged(() => {
      told++;
    });
    const { live } = directory.auth.sessions;
    await live.tidy();
    expect([(await rows()).length, told]).toEqual([1, 0]);
    directory.clock.advance(AUTH_LIMITS.sessionIdleMs);
    await live.tidy();
    expect([(await rows()).length, told]).toEqual([0, 1]);
  });

  it('goes with its organization', async () => {
    await begin();
    await directory.auth.organizations.remove(directory.organization, { name: 'admin', kind: 'user' });
    await directory.auth.remnants.clear();
    expect(await rows()).toEqual([]);
  });
});

it('ends twelve hours after it began, however it is used', async () => {
  const { session } = await begin();
  const { live } = directory.auth.sessions;
  const { clock } = directory;
  for (const ends = clock.now() + AUTH_LIMITS.sessionMs; clock.now() < ends; clock.advance(20 * 60_000)) {
    expect(await live.find(session.hash)).not.toBeNull();
    live.saw(session);
  }
  expect(await live.find(session.hash)).toBeNull();
});

it('has a limit in number', async () => {
  const { token } = await directory.token('alice');
  const another = () => directory.auth.sessions.byToken(token, 'default', FROM);
  for (let n = 0; n < AUTH_LIMITS.sessionsPerPrincipal; n++) await another();
  await expect(another()).rejects.toMatchObject({ code: 'too_busy' });
});
