import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair, type KeyPair, leadsTo } from '@muster/signing';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type KeyFiles, keyFilesIn } from '../src/server-key/key-files.js';
import { SERVER_KEY_LIMITS } from '../src/server-key/limits.js';
import { RotatingServerKey } from '../src/server-key/rotating-key.js';
import { ServerKeyRotation } from '../src/server-key/rotation.js';
import { type Directory, openDirectory } from './support/directory.js';

/** The key of the server: made once, replaced with an overlap or at once, and never lost or mixed up by a crash. */

const ALICE = { name: 'alice', kind: 'user' } as const;
const HOUR = 3600;

let dataDir: string;
let files: KeyFiles;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'muster-key-'));
  files = keyFilesIn(dataDir);
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** Made once: it takes long. More than one test comes to use. */
let pairs: readonly KeyPair[];
let drawn = 0;
beforeAll(async () => {
  pairs = await Promise.all(Array.from({ length: 8 }, () => generateKeyPair()));
});

function open(from: KeyFiles = files): Promise<RotatingServerKey> {
  return RotatingServerKey.open(from, async () => {
    const pair = pairs[drawn++ % pairs.length];
    if (pair === undefined) throw new Error('no keys were made');
    return pair;
  });
}

const WEEK = { now: 1_000, takesOverAt: 1_000 + 7 * 86_400_000 };

describe('the key', () => {
  test('is made at the first start, for its owner alone, and found again', async () => {
    const first = await open();
    expect(statSync(join(dataDir, 'server.pem')).mode & 0o777).toBe(0o600);
    expect((await open()).present.fingerprint).toBe(first.present.fingerprint);
  });

  test('is replaced at the announced time, not before, also when the server was away then', async () => {
    const key = await open();
    const { publicKey: old } = key.present;
    const link = await key.announce(ALICE, WEEK);
    expect(key.present.publicKey).toBe(old);
    expect(key.takeOverIfDue(WEEK.takesOverAt - 1)).toBe(false);
    const later = await open();
    expect(later.next).toEqual(link);
    expect(later.takeOverIfDue(WEEK.takesOverAt)).toBe(true);
    expect(later.present.publicKey).toBe(link.key);
    expect(later.next).toBe(null);
    expect(leadsTo(old, later.present.publicKey, later.links)).toBe(true);
    expect(statSync(join(dataDir, 'server.pem')).mode & 0o777).toBe(0o600);
  });

  test('is announced once at a time, and the announcement can be taken back until it takes over', async () => {
    const key = await open();
    const { fingerprint } = key.present;
    expect(() => key.cancel(ALICE)).toThrow('no next key');
    await key.announce(ALICE, WEEK);
    await expect(key.announce(ALICE, WEEK)).rejects.toThrow('announced already');
    key.cancel(ALICE);
    expect(files.read('server-next.pem')).toBe(null);
    expect(key.takeOverIfDue(WEEK.takesOverAt)).toBe(false);
    expect((await open()).present.fingerprint).toBe(fingerprint);
    await key.announce(ALICE, WEEK);
    expect(() => key.takeOverIfDue(WEEK.takesOverAt)).not.toThrow();
    expect(() => key.cancel(ALICE)).toThrow('no next key');
  });

  test('that is no secret any more is replaced at once, and so is the one that was announced', async () => {
    const key = await open();
    const { publicKey: old } = key.present;
    const { key: announced } = await key.announce(ALICE, WEEK);
    await key.revoke(ALICE, 5_000);
    expect([old, announced]).not.toContain(key.present.publicKey);
    expect(key.next).toBe(null);
    expect(key.links).toMatchObject([{ previous: old, key: key.present.publicKey, revoked: true }]);
    expect((await open()).present.publicKey).toBe(key.present.publicKey);
  });

  test('that does not belong to what was written is refused, and the error says what to do', async () => {
    const key = await open();
    await key.revoke(ALICE, 5_000);
    files.write('server.pem', (await generateKeyPair()).privateKey);
    await expect(open()).rejects.toThrow(/server-keys\.json.*one backup/);
    files.write('server-keys.json', '{}');
    await expect(open()).rejects.toThrow('server-keys.json is not what a server wrote');
    files.write('server.pem', 'a key');
    await expect(open()).rejects.toThrow('server.pem is not a private key');
  });
});

class Crash extends Error {}

/** Steps fail from the one of this number on: the machine stops there; with `times`, only so many do: the disk is full for a while. */
function dying(at: number, times = Number.POSITIVE_INFINITY): KeyFiles & { readonly failed: boolean } {
  let steps = 0;
  const step =
    <Args extends readonly unknown[]>(work: (...args: Args) => void) =>
    (...args: Args) => {
      const number = steps++;
      if (number >= at && number < at + times) throw new Crash();
      work(...args);
    };
  return {
    path: files.path,
    read: files.read,
    write: step(files.write),
    rename: step(files.rename),
    remove: step(files.remove),
    settled: files.settled,
    get failed() {
      return steps > at;
    },
  };
}

/** Answers whether it failed. */
async function attempt(deed: () => Promise<unknown> | unknown): Promise<boolean> {
  try {
    await deed();
    return false;
  } catch (error) {
    if (error instanceof Crash) return true;
    throw error;
  }
}

type Deed = (key: RotatingServerKey) => Promise<unknown> | unknown;
const DEEDS: readonly (readonly [string, { readonly before?: Deed; readonly deed: Deed }])[] = [
  ['an announcement', { deed: (key) => key.announce(ALICE, WEEK) }],
  ['its cancellation', { before: (key) => key.announce(ALICE, WEEK), deed: (key) => key.cancel(ALICE) }],
  ['the take-over', { before: (key) => key.announce(ALICE, WEEK), deed: (key) => key.takeOverIfDue(WEEK.takesOverAt) }],
  ['a revocation', { deed: (key) => key.revoke(ALICE, 5_000) }],
  [
    'a revocation amid a rotation',
    { before: (key) => key.announce(ALICE, WEEK), deed: (key) => key.revoke(ALICE, 5_000) },
  ],
];

describe.each(DEEDS)('a crash amid %s', (name, { before, deed }) => {
  test('leaves, at every step, a key to which the one before leads, and a rotation that can go on', async () => {
    let crashes = 0;
    for (let at = 0; ; at++) {
      rmSync(dataDir, { recursive: true });
      dataDir = mkdtempSync(join(tmpdir(), 'muster-key-'));
      files = keyFilesIn(dataDir);
      const first = await open();
      const { publicKey: old } = first.present;
      await before?.(first);
      const disk = dying(at);
      const living = await open(disk);
      await attempt(() => deed(living));
      if (!disk.failed) break;
      crashes += 1;
      const after = await open();
      expect(leadsTo(old, after.present.publicKey, after.links), `crash before step ${at}`).toBe(true);
      // Whatever it was, it can be done now, and what is announced can take over.
      if (after.next === null) await after.announce(ALICE, WEEK);
      after.takeOverIfDue(WEEK.takesOverAt);
      const last = await open();
      expect(last.present.publicKey).not.toBe(old);
      expect(leadsTo(old, last.present.publicKey, last.links), `crash before step ${at}`).toBe(true);
    }
    expect(crashes).toBeGreaterThanOrEqual(2);
  });

  test('a disk that is full for a moment refuses it and leaves all as it was, or it is done; memory is as the files are', async () => {
    let failures = 0;
    for (let at = 0; ; at++) {
      rmSync(dataDir, { recursive: true });
      dataDir = mkdtempSync(join(tmpdir(), 'muster-key-'));
      files = keyFilesIn(dataDir);
      const first = await open();
      await before?.(first);
      const disk = dying(at, 1);
      const living = await open(disk);
      const was = standing(living);
      const refused = await attempt(() => deed(living));
      if (!disk.failed) break;
      failures += 1;
      if (refused && name !== 'the take-over') expect(standing(living), `step ${at}`).toEqual(was);
      // As whoever sees to what is due does.
      const now = name === 'the take-over' ? WEEK.takesOverAt : 5_000;
      living.takeOverIfDue(now);
      const found = await open();
      found.takeOverIfDue(now);
      expect(standing(found), `step ${at}`).toEqual(standing(living));
      if (refused && name !== 'the take-over') await deed(living);
      expect(standing(await open()), `step ${at}`).toEqual(standing(living));
      expect(standing(living)).not.toEqual(was);
    }
    expect(failures).toBeGreaterThanOrEqual(2);
  });
});

const standing = ({ present, next, links }: RotatingServerKey) => ({
  present: present.fingerprint,
  next: next?.key ?? null,
  links: links.length,
});

describe('a rotation', () => {
  let directory: Directory;
  let key: RotatingServerKey;
  let rotation: ServerKeyRotation;
  let revoked: number;
  let failures: unknown[];

  beforeEach(async () => {
    directory = await openDirectory();
    key = await open();
    revoked = 0;
    failures = [];
    const { clock, auth } = directory;
    rotation = new ServerKeyRotation({
      key,
      clock,
      changes: auth.changes,
      overlapLeast: HOUR,
      revoked: () => {
        revoked += 1;
      },
      failed: (error) => failures.push(error),
    });
    await rotation.load();
    rotation.start();
  });
  afterEach(async () => {
    await rotation.stop();
    await directory.close();
  });

  const audited = async (): Promise<unknown[]> => {
    const entries = await directory.store.read
      .selectFrom('audit')
      .select(['action', 'actor', 'org_id'])
      .where('action', 'like', 'server_key.%')
      .orderBy('id')
      .execute();
    return entries.map(({ action }) => action);
  };
  const told = async (): Promise<string[]> => {
    const rows = await directory.store.read.selectFrom('event_log').select('frames').orderBy('first').execute();
    const text = Buffer.concat(rows.map(({ frames }) => Buffer.from(frames))).toString('latin1');
    return [...new Set(text.match(/auth\.server_key\.\w+/g))];
  };

  test('takes over by itself at its time, and the audit and every organization are told of both', async () => {
    const { fingerprint } = key.present;
    await rotation.announce(ALICE, HOUR);
    directory.clock.advance(HOUR * 1000 - 1);
    expect(key.present.fingerprint).toBe(fingerprint);
    directory.clock.advance(1);
    expect(key.present.fingerprint).not.toBe(fingerprint);
    await expect.poll(audited).toEqual(['server_key.announce', 'server_key.take_over']);
    expect(await told()).toEqual(['auth.server_key.announce', 'auth.server_key.take_over']);
    expect(key.untold).toEqual([]);
    expect(failures).toEqual([]);
  });

  test('is not shorter than agents keep their configuration, nor longer than a year', async () => {
    await expect(rotation.announce(ALICE, HOUR - 1)).rejects.toThrow('invalid overlap: expected 1h to 365d: ');
    await expect(rotation.announce(ALICE, SERVER_KEY_LIMITS.overlapMost + 1)).rejects.toThrow('invalid overlap');
    expect(key.next).toBe(null);
  });

  test('that is cancelled takes over never', async () => {
    const { fingerprint } = key.present;
    await rotation.announce(ALICE, HOUR);
    await rotation.cancel(ALICE);
    directory.clock.advance(2 * HOUR * 1000);
    expect(key.present.fingerprint).toBe(fingerprint);
    expect(await audited()).toEqual(['server_key.announce', 'server_key.cancel']);
  });

  test('by revocation reaches the agents at once', async () => {
    await rotation.revoke(ALICE);
    expect(revoked).toBe(1);
    expect(await audited()).toEqual(['server_key.revoke']);
  });

  test('that fell due while the server was away takes over before anything is signed', async () => {
    await rotation.announce(ALICE, HOUR);
    await rotation.stop();
    directory.clock.advance(2 * HOUR * 1000);
    const found = await open();
    const { clock, auth } = directory;
    const again = new ServerKeyRotation({
      ...{ key: found, clock, changes: auth.changes, overlapLeast: HOUR },
      revoked: () => undefined,
      failed: (error) => failures.push(error),
    });
    await again.load();
    expect(found.present.fingerprint).not.toBe(key.present.fingerprint);
    again.start();
    await expect.poll(audited).toContain('server_key.take_over');
    await again.stop();
  });

  test('goes on while the database is away, and is told when it is back', async () => {
    let away = true;
    const changes: Pick<typeof directory.auth.changes, 'apply'> = {
      apply: (...args) =>
        away ? Promise.reject(new Error('the database is away')) : directory.auth.changes.apply(...args),
    };
    await rotation.stop();
    const { clock } = directory;
    const cut = new ServerKeyRotation({
      ...{ key, clock, changes, overlapLeast: HOUR },
      revoked: () => undefined,
      failed: (error) => failures.push(error),
    });
    cut.start();
    const { fingerprint } = key.present;
    await cut.revoke(ALICE);
    expect(key.present.fingerprint).not.toBe(fingerprint);
    expect(failures).toHaveLength(1);
    // Also a server that is started meanwhile knows what is to be told.
    expect((await open()).untold).toMatchObject([{ action: 'server_key.revoke', actor: ALICE }]);
    away = false;
    clock.advance(SERVER_KEY_LIMITS.retryMs);
    await expect.poll(audited).toEqual(['server_key.revoke']);
    await cut.stop();
    expect(JSON.parse(readFileSync(join(dataDir, 'server-keys.json'), 'utf8'))).toMatchObject({ untold: [] });
  });
});
