import { createServer, type Server, type Socket } from 'node:net';
import { Leases } from '@muster/store';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { DirectorySync } from '../src/auth/issuers/ldap/sync.js';
import { LDAP_LIMITS, type LdapSettings } from '../src/auth/issuers/ldap/types.js';
import { SignInRefused } from '../src/auth/issuers/sign-in-refused.js';
import { type AskedIssuer, ISSUER_LIMITS } from '../src/auth/issuers/types.js';
import { MusterError } from '../src/errors.js';
import { SealingKey } from '../src/secrets/sealing-key.js';
import type { LayerLog } from '../src/upkeep/logging.js';
import { type Directory, openDirectory } from './support/directory.js';
import { ME } from './support/personas.js';
import { GROUPS, PEOPLE, passwordOf, type Slapd, startSlapd } from './support/slapd.js';
import { OTHER_AUTHORITY } from './support/tls.js';

/** People sign in at a real OpenLDAP. */

let slapd: Slapd;
let directory: Directory;
let failures: string[];

beforeAll(async () => {
  slapd = await startSlapd({ jdoe: ['ops', 'staff'], mary: ['staff'], max: [], keeper: ['ops', 'staff'] });
});
afterAll(async () => slapd.remove());
beforeEach(async () => {
  failures = [];
  warnings.length = 0;
  directory = await openDirectory(undefined, {
    privateDirectories: true,
    directoryFailed: (_, error) => failures.push(String(error)),
  });
  await directory.addUser('jdoe');
  await directory.addUser('mary');
});
afterEach(async () => directory.close());

const OPS = `cn=ops,${GROUPS}`;
const STAFF = `CN=Staff, OU=Groups, DC=example, DC=org`;
const settings = (more: Partial<LdapSettings> = {}): LdapSettings => ({
  ...{ bindDn: slapd.bindDn, ca: slapd.ca, userBase: PEOPLE, userFilter: '(|(uid={user})(mail={user}))' },
  ...{ groupBase: GROUPS, groupFilter: '(|(member={dn})(memberUid={user}))' },
  ...{ groups: { [OPS]: 'operators', [STAFF]: 'pushy_job_writers' }, createUsers: false, ttlSeconds: 3600, ...more },
});
const asked = (ldap: Partial<LdapSettings> = {}, more: Partial<AskedIssuer> = {}): AskedIssuer => ({
  ...{ name: 'staff', kind: 'ldap', source: slapd.url, issuer: null, audience: null, userClaim: null, tenant: null },
  ...{ signIn: null, ldap: settings(ldap), secret: slapd.bindPassword, ...more },
});
const create = (ldap: Partial<LdapSettings> = {}, more: Partial<AskedIssuer> = {}) =>
  directory.auth.issuers.create(directory.organization, asked(ldap, more), ME);
const signIn = (user = 'jdoe', password = passwordOf(user), address = '192.0.2.1') =>
  directory.auth.signIns.byPassword(directory.organization, 'staff', { user, password }, address);
const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: unknown) => {
      if (error instanceof SignInRefused) return `${error.status} ${error.message} | ${error.claimed}: ${error.reason}`;
      return error instanceof MusterError ? `${error.status} ${error.message}` : Promise.reject(error);
    },
  );
const members = async (group: string) =>
  (await directory.auth.groups.list(directory.organization.id)).find(({ name }) => name === group)?.users ?? null;
const realm = () => ({ organization: directory.organization, administration: true });
const bearing = (token: string) =>
  directory.auth.authentication.byToken(token, realm(), directory.clock.now()).then(({ identity }) => identity.name);
const audit = (action: string) => directory.auth.audit.page({ orgId: directory.organization.id, limit: 10, action });
const rows = (table: 'issuers' | 'directory_users') => directory.store.read.selectFrom(table).selectAll().execute();

const logging = (warn: (text: string, about: object) => number): LayerLog => ({
  debug: () => undefined,
  info: () => undefined,
  warn: (about, text) => void warn(text, about),
  error: () => undefined,
});
const NOBODY = { users: [], clients: [], groups: [] };
/** What the sync has logged. */
const warnings: string[] = [];
/** Time passes as long as this goes on. */
const hurried = async <Result>(work: Promise<Result>): Promise<Result> => {
  let over = false;
  void work.finally(() => {
    over = true;
  });
  const passing = () => {
    directory.clock.advance(500);
    return over;
  };
  await vi.waitUntil(passing, { timeout: 60_000, interval: 20 });
  return work;
};
const sync = (signal?: AbortSignal) => {
  const { store, clock, auth } = directory;
  const log = logging((text, about) => warnings.push(`${text} ${'err' in about ? String(about.err) : ''}`));
  return new DirectorySync({
    ...{ store, clock, log, leases: new Leases({ store, clock, holder: 'this' }) },
    ...{ changes: auth.changes, repository: auth.repository, directories: auth.directories },
  }).round(signal);
};

const WRONG = '401 the name or the password is wrong';

describe('who signs in with name and password', () => {
  test('gets a short-lived token, and the groups that the directory gives', async () => {
    await create();
    const { token, user, groups, expiresAt } = await signIn();
    expect([user, groups]).toEqual(['jdoe', ['operators', 'push_job_writers']]);
    expect(expiresAt).toBe(directory.clock.now() + 3_600_000);
    expect([await members('operators'), await members('push_job_writers')]).toEqual([['jdoe'], ['jdoe']]);
    expect(await bearing(token)).toBe('jdoe');
    const [entry] = await audit('login.begin');
    expect(entry).toMatchObject({
      actor: { name: 'jdoe', kind: 'user', address: '192.0.2.1' },
      detail: { issuer: 'staff', joined: 'operators push_job_writers', left: '' },
    });
    expect(JSON.stringify(entry)).not.toContain(passwordOf('jdoe'));
    directory.clock.advance(3_600_000);
    expect(await refusal(bearing(token))).toContain('401');
  });

  test('over StartTLS, too', async () => {
    await create({}, { source: slapd.plainUrl });
    expect((await signIn()).user).toBe('jdoe');
  });

  test('by another attribute than the name is still who they are, whatever its case', async () => {
    await create();
    expect((await signIn('jdoe@EXAMPLE.org', passwordOf('jdoe'))).user).toBe('jdoe');
    expect((await signIn('JDoe', passwordOf('jdoe'))).user).toBe('jdoe');
  });

  test('whose name here does not find them again is refused: they would be taken for gone', async () => {
    await create({ userFilter: '(mail={user})' });
    expect(await refusal(signIn('jdoe@example.org', passwordOf('jdoe')))).toContain(
      `${WRONG} | jdoe@example.org: its name here is jdoe, by which the user filter does not find it`,
    );
  });

  test('has the groups that the own entry says, where groups are not looked for', async () => {
    await slapd.join('ops', 'max');
    try {
      await directory.addUser('max');
      await create({ groupBase: null });
      expect((await signIn('max')).groups).toEqual(['operators']);
    } finally {
      await slapd.leave('ops', 'max');
    }
  });

  test('is nobody new, unless the issuer makes users', async () => {
    await create();
    expect(await refusal(signIn('max'))).toContain("403 'max' cannot sign in to organization 'default'");
    const [issuer] = await directory.auth.issuers.list(directory.organization);
    if (issuer === undefined) throw new Error('there is one');
    await directory.auth.issuers.change(directory.organization, issuer, asked({ createUsers: true }), ME);
    expect((await signIn('max')).user).toBe('max');
  });

  test.each([
    ['a wrong password', 'jdoe', 'wrong', 'the directory says no'],
    ['somebody else’s password', 'jdoe', passwordOf('mary'), 'the directory says no'],
    ['no password, which a directory takes for no question at all', 'jdoe', '', 'there is no password'],
    ['a name that it does not know', 'nobody', 'wrong', 'there is no such user'],
    ['a filter for a name', '*)(uid=*', passwordOf('jdoe'), 'there is no such user'],
    ['a pattern for a name', 'jd*', passwordOf('jdoe'), 'there is no such user'],
    ['a name with what ends texts', 'jdoe\0', passwordOf('jdoe'), 'there is no such user'],
  ])('is refused in the same words with %s', async (_, user, password, reason) => {
    await create();
    const told = await refusal(signIn(user, password));
    expect(told.split(' | ')[0]).toBe(WRONG);
    expect(told).toContain(reason);
    expect(await members('operators')).toBe(null);
  });

  test('is refused while too often wrong, by name and by address, and let in again later', async () => {
    await create();
    const { name, address } = ISSUER_LIMITS.attempts;
    for (let i = 0; i < name.burst; i++)
      expect(await refusal(signIn('jdoe', 'wrong', `192.0.2.${i}`))).toContain(WRONG);
    const throttled = await signIn('JDOE', passwordOf('jdoe'), '192.0.2.9').catch((error: unknown) => error);
    expect(throttled).toMatchObject({ status: 429, details: { seconds: 60, who: "as 'JDOE'" } });
    expect((await signIn('mary')).user).toBe('mary');
    directory.clock.advance(60_000);
    expect((await signIn()).user).toBe('jdoe');
    // Who is right pays nothing.
    for (let i = 0; i < name.burst + 1; i++) expect((await signIn('mary')).user).toBe('mary');
    for (let i = 0; i < address.burst; i++) await refusal(signIn(`u${i}`, '', '192.0.2.50'));
    expect((await signIn('mary', undefined, '192.0.2.50')).user).toBe('mary');
    for (let i = 0; i < address.burst; i++) await refusal(signIn(`u${i}`, 'x', '192.0.2.50'));
    expect(await refusal(signIn('mary', undefined, '192.0.2.50'))).toContain('429');
  });

  test('has a token that ends when the issuer is removed, or asks another directory', async () => {
    const issuer = await create();
    const { token } = await signIn();
    const changed = asked({ userBase: GROUPS });
    await directory.auth.issuers.change(directory.organization, issuer, changed, ME);
    expect(await refusal(bearing(token))).toContain('401');
    expect(await rows('directory_users')).toEqual([]);
    await directory.auth.issuers.remove(directory.organization, 'staff', ME);
    expect(await refusal(signIn())).toContain("404 nobody signs in to organization 'default' at 'staff'");
  });

  test('is offered without a word of where the directory is, and bears no token of an issuer', async () => {
    await create();
    const offered = await directory.auth.signIns.offered(directory.organization.id);
    expect(offered.map(({ name }) => name)).toEqual(['staff']);
    const given = { token: `${btoa('{"alg":"RS256"}')}.${btoa('{"iss":"x"}')}.x`, tenant: null };
    const proving = directory.auth.authentication.byJwt(given, directory.organization);
    expect(await refusal(proving)).toContain('nobody here takes tokens of its issuer');
    expect(await refusal(directory.auth.signIns.begin(directory.organization, 'staff', given.token, ''))).toContain(
      '404',
    );
  });
});

describe('the password with which a directory is asked', () => {
  test('stands sealed in the database, in no answer, no audit and no event', async () => {
    await create();
    const seen = JSON.stringify([
      await directory.auth.issuers.list(directory.organization),
      await directory.auth.audit.page({ orgId: directory.organization.id, limit: 100 }),
      await rows('issuers'),
    ]);
    expect(seen).not.toContain(slapd.bindPassword);
    const [row] = await rows('issuers');
    expect(Buffer.from(row?.sealed ?? []).includes(slapd.bindPassword)).toBe(false);
    expect(row?.sealed).not.toBe(null);
  });

  test('is told no other directory, authority or account than it was given for', async () => {
    await create();
    const { secret: _, ...kept } = asked();
    const { bindPassword: secret } = slapd;
    const change = async (ldap: Partial<LdapSettings>, more: Partial<AskedIssuer> = {}) => {
      const [present] = await directory.auth.issuers.list(directory.organization);
      if (present === undefined) throw new Error('there is one');
      const wanted = { ...kept, ldap: settings(ldap), ...more };
      return refusal(directory.auth.issuers.change(directory.organization, present, wanted, ME));
    };
    expect(await change({}, { source: slapd.plainUrl })).toContain('directory.bind_password');
    expect(await change({ ca: null })).toContain('directory.bind_password');
    expect(await change({ bindDn: `uid=jdoe,${PEOPLE}` })).toContain('directory.bind_password');
    expect(await change({}, { source: slapd.plainUrl, secret })).toBe('accepted');
    expect(await change({ ttlSeconds: 60 }, { source: slapd.plainUrl })).toBe('accepted');
    expect((await signIn()).expiresAt).toBe(directory.clock.now() + 60_000);
  });

  test('is sent nowhere else by whoever can write to the database', async () => {
    const { id } = await create();
    await directory.store.transact((trx) =>
      trx.updateTable('issuers').set({ source: slapd.plainUrl }).where('id', '=', id).execute(),
    );
    directory.auth.repository.changed();
    expect(await refusal(signIn())).toContain('503');
    expect(failures.join()).toContain('it was changed, or belongs to something else');
  });

  test('is named as people know it where another key has sealed it', async () => {
    await create();
    const sealed = SealingKey.of(new Uint8Array(32).fill(1)).seal('anything', slapd.bindPassword);
    await directory.store.transact((trx) => trx.updateTable('issuers').set({ sealed }).execute());
    const said = await refusal(directory.auth.issuers.test(directory.organization, 'staff', null));
    expect(said).toBe("503 what is sealed for issuer 'staff' cannot be opened: it was sealed with another key");
  });

  test('is sealed anew with another key of the server', async () => {
    await create();
    const [former, present] = [new Uint8Array(32), new Uint8Array(32).fill(1)].map((key) => SealingKey.of(key));
    if (former === undefined || present === undefined) throw new Error('there are two');
    const [before] = await rows('issuers');
    const again = await openAgain(present);
    expect(await again.issuerSecrets.rekey(former)).toBe(1);
    expect(await again.issuerSecrets.rekey(former)).toBe(0);
    const [after] = await rows('issuers');
    expect(present.sealed(after?.sealed ?? new Uint8Array())).toBe(true);
    expect(after?.sealed).not.toEqual(before?.sealed);
  });
});

const openAgain = async (sealing: SealingKey) => {
  const { IssuerSecrets } = await import('../src/auth/issuers/secrets.js');
  return { issuerSecrets: new IssuerSecrets(directory.store, sealing) };
};

describe('whoever configures a directory is told what is wrong', () => {
  test.each<[string, () => Partial<AskedIssuer>, string]>([
    ['a wrong password', () => ({ secret: 'wrong' }), 'it does not take the password of cn=muster'],
    ['no password', () => ({ secret: '' }), 'without a name and a password'],
    ['another authority', () => ({ ldap: settings({ ca: OTHER_AUTHORITY }) }), 'has not signed its certificate; name'],
    ['the authorities of the system', () => ({ ldap: settings({ ca: null }) }), '--ldap-ca FILE'],
    [
      'a host that the certificate is not for',
      () => ({ source: slapd.url.replace('localhost', '127.0.0.1') }),
      'does not match',
    ],
    ['the same over StartTLS', () => ({ source: slapd.plainUrl.replace('localhost', '127.0.0.1') }), 'does not match'],
    ['no TLS where it is expected', () => ({ source: slapd.plainUrl.replace('ldap:', 'ldaps:') }), 'invalid ldap'],
    ['nobody there', () => ({ source: 'ldaps://localhost:1' }), 'ECONNREFUSED'],
    [
      'another base',
      () => ({ ldap: settings({ userBase: 'ou=nowhere,dc=example,dc=org' }) }),
      'it does not show ou=nowhere',
    ],
    [
      'another base of groups',
      () => ({ ldap: settings({ groupBase: 'ou=nowhere,dc=example,dc=org' }) }),
      'does not show',
    ],
    ['a base that is no name', () => ({ ldap: settings({ userBase: 'people' }) }), 'directory.user_base'],
    ['a group that is no name', () => ({ ldap: settings({ groups: { ops: 'operators' } }) }), 'directory.groups'],
    ['a filter that names nobody', () => ({ ldap: settings({ userFilter: '(uid=*)' }) }), 'directory.user_filter'],
    [
      'a filter with something else',
      () => ({ ldap: settings({ groupFilter: '(a={name})' }) }),
      'directory.group_filter',
    ],
    ['certificates that are none', () => ({ ldap: settings({ ca: 'PEM' }) }), 'directory.ca'],
    ['an https URL', () => ({ source: 'https://localhost' }), 'ldaps://HOST'],
    ['a URL with more in it', () => ({ source: `${slapd.url}/dc=example` }), 'nothing but a host and a port'],
    ['an audience', () => ({ audience: 'muster' }), 'a directory issues no tokens'],
    ['an OpenID provider', () => ({ kind: 'oidc' }), 'invalid directory'],
  ])('%s', async (_, more, told) => {
    const said = await refusal(create({}, more()));
    expect(said).toContain('400 invalid');
    expect(said).toContain(told);
    expect(await directory.auth.issuers.list(directory.organization)).toEqual([]);
  });

  test('also that it is at a private address, which the owner of the server must allow', async () => {
    const strict = await openDirectory();
    try {
      const made = strict.auth.issuers.create(strict.organization, asked(), ME);
      expect(await refusal(made)).toContain('outbound.private_targets');
    } finally {
      await strict.close();
    }
  });

  test('two organizations may have the same', async () => {
    await create();
    const other = await directory.auth.organizations.create('other', ME);
    await directory.auth.issuers.create(other, asked(), ME);
    expect(await directory.auth.issuers.list(other)).toHaveLength(1);
  });

  test('and can look how somebody is found', async () => {
    await create();
    const look = (user: string | null) => directory.auth.issuers.test(directory.organization, 'staff', user);
    expect(await look(null)).toEqual({ kind: 'ldap', keys: null, person: null, unknown: null });
    expect(await look('jdoe')).toMatchObject({
      person: {
        name: 'jdoe',
        dn: `uid=jdoe,${PEOPLE}`,
        found: [OPS, `cn=staff,${GROUPS}`],
        groups: ['operators', 'pushy_job_writers'],
      },
    });
    expect(await look('nobody')).toMatchObject({ person: null, unknown: 'there is no such user' });
    await slapd.stop();
    try {
      expect(await refusal(look('jdoe'))).toContain("503 the directory of issuer 'staff' cannot be asked: ");
      await expect(look('jdoe')).rejects.toMatchObject({ fix: expect.not.stringContaining('issuer test') });
    } finally {
      await slapd.start();
    }
  });
});

describe('a directory that fails', () => {
  let server: Server | undefined;
  const sockets = new Set<Socket>();
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => (server === undefined ? resolve(null) : server.close(resolve)));
    server = undefined;
  });
  /** Takes connections, and does with them what is said. */
  const pretend = async (behaviour: (socket: Socket) => void): Promise<number> => {
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      behaviour(socket);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server?.once('listening', resolve));
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  };

  test('is told to who signs in without the reason, which is told to the owner; tokens go on', async () => {
    await create();
    const { token } = await signIn();
    await slapd.stop();
    try {
      expect(await refusal(signIn())).toBe("503 the directory of issuer 'staff' cannot be asked");
      expect(failures.join()).toContain('ECONNREFUSED');
      expect(await bearing(token)).toBe('jdoe');
      for (let i = 0; i < 10; i++) expect(await refusal(signIn())).toContain('503');
    } finally {
      await slapd.start();
    }
    expect((await signIn()).user).toBe('jdoe');
  });

  test.each([
    ['ldaps', 'never answers', () => undefined],
    ['ldap', 'never answers', () => undefined],
    ['ldap', 'answers StartTLS by halves', (socket: Socket) => socket.once('data', () => socket.write('30', 'hex'))],
  ] as const)('(%s) that takes the connection and %s is waited for only so long', async (scheme, _, behaviour) => {
    const port = await pretend(behaviour);
    const told = await hurried(refusal(create({}, { source: `${scheme}://localhost:${port}` })));
    expect(told).toMatch(/it does not answer within \d+ s/);
  });

  test.each<[string, Buffer]>([
    ['says more than its answer to StartTLS', Buffer.from('300c02010178070a010004000400' + '00', 'hex')],
    ['does not go on over TLS', Buffer.from('300c02010178070a013504000400', 'hex')],
    ['speaks something else', Buffer.from('HTTP/1.1 400 Bad Request\r\n')],
  ])('that %s is not listened to', async (_, answer) => {
    const port = await pretend((socket) => socket.once('data', () => socket.write(answer)));
    expect(await refusal(create({}, { source: `ldap://localhost:${port}` }))).toContain('StartTLS');
  });

  test('that hangs is waited for by so many at once, and by nobody for ever; who is signed in stays so', async () => {
    await create();
    const { token } = await signIn();
    slapd.freeze();
    try {
      const before = directory.clock.pending;
      const waiting = Array.from({ length: LDAP_LIMITS.atOnce }, (_, i) =>
        refusal(signIn(`u${i}`, 'x', `192.0.2.${i}`)),
      );
      // Each waits for an answer, and for all of them together.
      await expect.poll(() => directory.clock.pending).toBe(before + 2 * LDAP_LIMITS.atOnce);
      expect(await refusal(signIn('mary'))).toContain('503 too many people who sign in at once');
      const told = await hurried(Promise.all(waiting));
      expect(new Set(told)).toEqual(new Set(["503 the directory of issuer 'staff' cannot be asked"]));
      expect(failures.join()).toMatch(/it does not answer within \d+ s/);
      await hurried(sync());
      expect(warnings.join()).toContain('they keep what they have');
      expect(await bearing(token)).toBe('jdoe');
      expect(await members('operators')).toEqual(['jdoe']);
    } finally {
      slapd.thaw();
    }
    expect((await signIn('mary')).user).toBe('mary');
  });

  test('that hangs holds nobody up who stops', async () => {
    await create();
    await signIn();
    const stopping = new AbortController();
    slapd.freeze();
    try {
      const round = sync(stopping.signal);
      await expect.poll(() => directory.clock.pending).toBeGreaterThan(0);
      stopping.abort();
      await round;
      expect(warnings).toEqual([]);
    } finally {
      slapd.thaw();
    }
  });

  test('that hangs up is not waited for', async () => {
    const port = await pretend((socket) => socket.once('data', () => socket.destroy()));
    expect(await refusal(create({}, { source: `ldap://localhost:${port}` }))).toContain('closes the connection');
    const made = refusal(create({}, { source: `ldaps://localhost:${port}` }));
    expect(await made).toContain('400 invalid ldap');
  });
});

describe('those who have signed in', () => {
  const session = async (token: string) => {
    const { session: begun } = await directory.auth.sessions.byToken(token, undefined, '');
    return begun;
  };
  test('have the groups that the directory gives now, and others are left alone', async () => {
    await create();
    await signIn();
    await directory.auth.groups.put(directory.organization, 'handmade', { ...NOBODY, users: ['jdoe'] }, ME);
    await slapd.leave('ops', 'jdoe');
    try {
      await sync();
      expect([await members('operators'), await members('push_job_writers')]).toEqual([[], ['jdoe']]);
      expect(await members('handmade')).toEqual(['jdoe']);
      expect(await audit('login.sync')).toMatchObject([
        { target: 'jdoe', actor: { kind: 'server' }, detail: { issuer: 'staff', left: 'operators', joined: '' } },
      ]);
      await sync();
      expect(await audit('login.sync')).toHaveLength(1);
    } finally {
      await slapd.join('ops', 'jdoe');
    }
    await sync();
    expect(await members('operators')).toEqual(['jdoe']);
    expect(warnings).toEqual([]);
  });

  test('are signed out everywhere in the organization when the directory knows them no more', async () => {
    await slapd.addUser('leaver', 'password of leaver');
    await slapd.join('ops', 'leaver');
    await create({ createUsers: true });
    const { token } = await signIn('leaver');
    const { token: stays } = await signIn('mary');
    const { id } = await session(token);
    const about = { bearer: { organization: null, name: 'leaver' }, ttlSeconds: 60 };
    const made = await directory.auth.tokens.createAccessToken({ ...about, organization: directory.organization }, ME);
    await slapd.removeUser('leaver');
    await sync();
    expect(await refusal(bearing(token))).toContain('401');
    expect(await refusal(bearing(made.token))).toContain('401');
    expect((await directory.auth.sessions.list(directory.organization, null)).map((one) => one.id)).not.toContain(id);
    expect(await members('operators')).toEqual([]);
    expect(await bearing(stays)).toBe('mary');
    expect(await audit('login.revoke')).toMatchObject([
      { target: 'leaver', detail: { issuer: 'staff', left: 'operators', tokens: 2 } },
    ]);
    expect(await rows('directory_users')).toHaveLength(1);
  });

  test('keep all that they have while the directory is down, shows nothing, or is another one', async () => {
    const issuer = await create();
    const { token } = await signIn();
    await slapd.stop();
    try {
      await sync();
    } finally {
      await slapd.start();
    }
    expect(warnings.join()).toContain('they keep what they have Error: connect ECONNREFUSED');
    const row = JSON.stringify(settings({ userBase: 'ou=nowhere,dc=example,dc=org' }));
    await directory.store.transact((trx) =>
      trx.updateTable('issuers').set({ ldap: row }).where('id', '=', issuer.id).execute(),
    );
    await sync();
    expect(warnings.join()).toContain('it does not show ou=nowhere');
    expect(await bearing(token)).toBe('jdoe');
    expect(await members('operators')).toEqual(['jdoe']);
    expect(await audit('login.revoke')).toEqual([]);
  });

  test('keep what they have while it is not sure whom the directory means', async () => {
    await create({ userFilter: '(|(uid={user})(cn={user}))' });
    const { token } = await signIn();
    await slapd.addUser('double', 'x', 'jdoe');
    try {
      await sync();
      expect(warnings.join()).toContain('whom a directory means is not sure');
      expect(await refusal(signIn())).toContain('there are several such users');
      expect(await bearing(token)).toBe('jdoe');
    } finally {
      await slapd.removeUser('double');
    }
  });

  test('are looked for by one process, again and again', async () => {
    await create();
    await signIn();
    const { store, clock, auth } = directory;
    const both = ['one', 'other'].map((holder) => {
      const leases = new Leases({ store, clock, holder });
      const { changes, repository, directories } = auth;
      return new DirectorySync({ store, clock, leases, log: logging(() => 0), changes, repository, directories });
    });
    for (const one of both) one.start();
    await slapd.leave('ops', 'jdoe');
    try {
      await vi.waitUntil(
        async () => {
          clock.advance(4000);
          return (await members('operators'))?.length === 0;
        },
        { timeout: 60_000, interval: 20 },
      );
      expect(await audit('login.sync')).toHaveLength(1);
    } finally {
      await Promise.all(both.map((one) => one.stop()));
      await slapd.join('ops', 'jdoe');
    }
  });

  test('are looked for as soon as a server has started, however often it is started again', async () => {
    await create();
    await signIn();
    const { store, clock, auth } = directory;
    const { changes, repository, directories } = auth;
    const leases = new Leases({ store, clock, holder: 'one' });
    const one = new DirectorySync({ store, clock, leases, log: logging(() => 0), changes, repository, directories });
    await slapd.leave('ops', 'jdoe');
    try {
      one.start();
      clock.advance(1);
      await vi.waitUntil(async () => (await members('operators'))?.length === 0, { timeout: 60_000, interval: 20 });
    } finally {
      await one.stop();
      await slapd.join('ops', 'jdoe');
    }
  });

  test('who are removed here are looked for no more', async () => {
    await create();
    await signIn();
    await signIn('mary');
    await directory.auth.organizations.removeMember(directory.organization, 'jdoe', ME);
    await directory.auth.principals.removeUser('mary', ME);
    expect(await rows('directory_users')).toEqual([]);
  });
});

describe('a large directory', () => {
  const groups = Array.from({ length: 1200 }, (_, index) => `g${index}`);
  const crowd = Array.from({ length: 3000 }, (_, index) => `u${index}`);
  let large: Slapd;
  beforeAll(async () => {
    const people = Object.fromEntries(crowd.map((user) => [user, ['crowd']]));
    large = await startSlapd({ ...people, jdoe: [...groups, 'crowd'] });
  }, 120_000);
  afterAll(async () => large.remove());
  const last = `cn=g1199,${GROUPS}`;
  const place = () => ({ source: large.url });

  test('tells somebody’s groups in pages, and that they are in one with thousands', async () => {
    await create({ groups: { [last]: 'operators', [`cn=crowd,${GROUPS}`]: 'crowd' } }, place());
    expect((await signIn()).groups).toEqual(['crowd', 'operators']);
  });

  test('that loses most of its people at once loses nobody theirs here', async () => {
    await create({ createUsers: true, groups: { [`cn=crowd,${GROUPS}`]: 'crowd' } }, place());
    const few = crowd.slice(0, LDAP_LIMITS.goneAtOnce + 2);
    for (const user of few) await signIn(user, undefined, user);
    await large.removeEverybody();
    const told: string[] = [];
    const { store, clock, auth } = directory;
    const log = logging((text) => told.push(text));
    const { changes, repository, directories } = auth;
    const leases = new Leases({ store, clock, holder: 'this' });
    await new DirectorySync({ store, clock, log, leases, changes, repository, directories }).round();
    expect(told).toEqual([expect.stringContaining('nobody is signed out')]);
    expect(await members('crowd')).toHaveLength(few.length);
  });
});
