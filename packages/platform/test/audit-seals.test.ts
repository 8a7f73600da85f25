import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChainReader, type ServerKey, serverKey } from '@muster/signing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type AuditHeads, auditHeadsIn, rememberedHeads } from '../src/auth/audit-heads.js';
import type { Sealed } from '../src/auth/audit-seals.js';
import { AUTH_LIMITS } from '../src/auth/limits.js';
import { readOwnEvent } from '../src/log/own-events.js';
import { type Directory, openDirectory, otherKey } from './support/directory.js';
import { sharedKey } from './support/personas.js';

/** Entries of the audit, sealed in a chain: what the database's owner changes later shows. */

let directory: Directory;
let heads: AuditHeads;
let forged: (readonly number[])[];
let cuts: unknown[];
let keys: { present: ServerKey; readonly next: null; readonly links: readonly [] };

beforeEach(async () => {
  heads = rememberedHeads();
  forged = [];
  cuts = [];
  keys = { present: serverKey(sharedKey().privateKey), next: null, links: [] };
  directory = await openDirectory(undefined, {
    serverKeys: keys,
    auditHeads: { of: (orgId) => heads.of(orgId), made: (seals) => heads.made(seals) },
    forgedFound: (ids) => forged.push(ids),
    auditCut: (cut) => cuts.push(cut),
  });
});
afterEach(() => directory.close());

const entry = (target: string) => ({
  orgId: directory.organization.id,
  actor: { name: 'alice', kind: 'user' as const, address: '192.0.2.7' },
  action: 'push.start',
  target,
  outcome: 'done' as const,
});

async function write(...targets: string[]): Promise<void> {
  await directory.store.commit(targets.map((target) => directory.auth.audit.write(entry(target))));
}

async function chain(): Promise<readonly Sealed[]> {
  const { auditSeals } = directory.auth;
  const all: Sealed[] = [];
  for (;;) {
    const page = await auditSeals.page(directory.organization.id, all.at(-1)?.seal.number ?? 0);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

/** Reads all of it. @throws MusterError `audit_broken` */
async function read(): Promise<ChainReader> {
  const reader = new ChainReader([directory.auth.auditSeals.publicKey], directory.organization.id);
  for (const { seal, entries } of await chain()) reader.take(seal, entries);
  return reader;
}

describe('entries of the audit', () => {
  test('are sealed a second after they were written, each seal upon the one before', async () => {
    const told: unknown[] = [];
    directory.recorder.onStored((events) => {
      for (const { orgId, recorded } of events) {
        const { type, attributes, data } = readOwnEvent(recorded);
        if (type === 'audit.sealed') told.push([orgId, attributes.seal, data]);
      }
    });
    directory.auth.start();
    await write('J1', 'J2');
    directory.clock.advance(AUTH_LIMITS.sealAfterMs);
    await expect.poll(async () => (await chain()).length).toBe(1);
    await write('J3');
    directory.clock.advance(AUTH_LIMITS.sealAfterMs);
    await expect.poll(async () => (await chain()).length).toBe(2);
    await directory.auth.stop();
    const sealed = await chain();
    expect(sealed.map(({ seal }) => seal.number)).toEqual([1, 2]);
    expect(told).toEqual(
      sealed.map(({ seal }) => [directory.organization.id, `${seal.number}`, { entries: seal.entries }]),
    );
    const targets = sealed.map(({ entries }) => entries.map((text) => (JSON.parse(text) as { target: string }).target));
    // The organization and its making are told, too.
    expect(targets).toEqual([expect.arrayContaining(['J1', 'J2']), ['J3']]);
    expect(sealed[1]?.entries[0]).toContain('"address":"192.0.2.7"');
    expect((await read()).head).toEqual({ number: 2, hash: sealed[1]?.seal.hash });
  });

  /** Has sealed what was there, and counts how often it looks from now on. */
  async function looks() {
    directory.auth.start();
    directory.clock.advance(AUTH_LIMITS.sealAfterMs);
    await expect.poll(async () => (await chain()).length).toBe(1);
    const { mock } = vi.spyOn(directory.auth.auditSeals, 'seal');
    return async (so: number) => {
      await expect.poll(() => mock.calls.length).toBe(so);
      await Promise.all(mock.results.map(({ value }) => value));
    };
  }

  test('are sealed, too, when what they stand with takes its time until it is stored', async () => {
    const looked = await looks();
    const late = directory.auth.audit.write(entry('late'));
    directory.clock.advance(AUTH_LIMITS.sealAfterMs);
    await looked(1);
    await directory.store.commit([late]);
    directory.clock.advance(2 * AUTH_LIMITS.sealAfterMs);
    await looked(2);
    expect((await chain()).at(-1)?.entries[0]).toContain('"target":"late"');
    directory.clock.advance(60 * AUTH_LIMITS.sealAfterMs);
    await directory.auth.stop();
    await looked(2);
  });

  test('that are never stored are not looked for without end', async () => {
    const looked = await looks();
    directory.auth.audit.write(entry('never'));
    for (let look = 0; look < AUTH_LIMITS.sealLooks; look += 1) {
      directory.clock.advance(AUTH_LIMITS.sealAfterMs * 2 ** look);
      await looked(look + 1);
    }
    directory.clock.advance(AUTH_LIMITS.sealAfterMs * 2 ** AUTH_LIMITS.sealLooks);
    await directory.auth.stop();
    await looked(AUTH_LIMITS.sealLooks);
  });

  test('wait no longer for one that is not stored', async () => {
    const looked = await looks();
    directory.auth.audit.write(entry('never'));
    directory.clock.advance(AUTH_LIMITS.sealAfterMs);
    await looked(1);
    directory.clock.advance(2 * AUTH_LIMITS.sealAfterMs);
    await looked(2);
    await write('J1');
    directory.clock.advance(AUTH_LIMITS.sealAfterMs);
    await looked(3);
    expect((await chain()).at(-1)?.entries[0]).toContain('"target":"J1"');
    await directory.auth.stop();
  });

  test('that a process left unsealed are sealed at the next start, however many', async () => {
    await write(...Array.from({ length: AUTH_LIMITS.sealedAtOnce + 5 }, (_, n) => `J${n}`));
    directory.auth.start();
    directory.clock.advance(AUTH_LIMITS.sealAfterMs);
    await expect.poll(async () => (await chain()).length).toBe(2);
    await directory.auth.stop();
    expect((await read()).entries).toBeGreaterThanOrEqual(AUTH_LIMITS.sealedAtOnce + 5);
  });

  describe('that wait for their seal', () => {
    const outcomes = async () => {
      const { seal, entries } = (await chain()).at(-1) ?? { seal: null, entries: [] };
      const told = entries.map((text) => JSON.parse(text) as { outcome: string; target: string });
      return { number: seal?.number, of: Object.fromEntries(told.map(({ target, outcome }) => [target, outcome])) };
    };
    const listed = async () =>
      Object.fromEntries(
        (await directory.auth.audit.page({ orgId: directory.organization.id, limit: 10 })).map(
          ({ target, outcome }) => [target, outcome],
        ),
      );
    const row = (target: string, at: number) => ({
      ...{ org_id: directory.organization.id, at, actor: 'dora', actor_kind: 'user' as const, address: null },
      ...{ action: 'push.abort', target, outcome: 'done' as const, detail: '{}', seal: null, mark: null },
    });
    const tamper = (sql: (trx: Parameters<Parameters<Directory['store']['transact']>[0]>[0]) => Promise<unknown>) =>
      directory.store.transact(async (trx) => void (await sql(trx)));

    beforeEach(async () => {
      await directory.auth.auditSeals.seal();
    });

    test('and that no server wrote are sealed as forged, and the owner of the server is told', async () => {
      await write('J1');
      const day = 86_400_000;
      await tamper((trx) =>
        trx
          .insertInto('audit')
          .values(row('J2', directory.clock.now() - day))
          .execute(),
      );
      expect(await listed()).toMatchObject({ J1: 'done', J2: 'forged' });
      await directory.auth.auditSeals.seal();
      expect((await outcomes()).of).toEqual({ J1: 'done', J2: 'forged' });
      expect(await listed()).toMatchObject({ J1: 'done', J2: 'forged' });
      expect(forged).toEqual([[expect.any(Number)]]);
      await read();
    });

    test('are not believed for the time that they bear: what is new is looked at again', async () => {
      directory.auth.start();
      directory.clock.advance(AUTH_LIMITS.sealAfterMs);
      await tamper((trx) => trx.insertInto('audit').values(row('J2', directory.clock.now())).execute());
      await write('J1');
      directory.clock.advance(AUTH_LIMITS.sealAfterMs);
      await expect.poll(async () => (await outcomes()).of).toEqual({ J1: 'done' });
      directory.clock.advance(AUTH_LIMITS.forgedAfterMs);
      await expect.poll(async () => (await outcomes()).of).toEqual({ J2: 'forged' });
      await directory.auth.stop();
    });

    test('and were changed meanwhile are sealed as forged', async () => {
      await write('J1', 'J2');
      await tamper((trx) => trx.updateTable('audit').set({ actor: 'bob' }).where('target', '=', 'J2').execute());
      directory.clock.advance(AUTH_LIMITS.forgedAfterMs);
      await directory.auth.auditSeals.seal();
      expect((await outcomes()).of).toEqual({ J1: 'done', J2: 'forged' });
    });

    test('cannot be there twice', async () => {
      await write('J1');
      const { id: _, ...copy } = await directory.store.read
        .selectFrom('audit')
        .selectAll()
        .where('target', '=', 'J1')
        .executeTakeFirstOrThrow();
      await expect(tamper((trx) => trx.insertInto('audit').values(copy).execute())).rejects.toThrow();
    });

    test('are good, too, when the key of the server has been replaced since', async () => {
      await write('J1');
      keys.present = serverKey(otherKey.privateKey);
      await write('J2');
      directory.clock.advance(AUTH_LIMITS.forgedAfterMs);
      await directory.auth.auditSeals.seal();
      expect((await outcomes()).of).toEqual({ J1: 'done', J2: 'done' });
    });
  });

  describe('that were sealed', () => {
    beforeEach(async () => {
      await write('J1', 'J2');
      await directory.auth.auditSeals.seal();
      await write('J3');
      await directory.auth.auditSeals.seal();
      expect((await read()).head.number).toBe(2);
    });

    const tamper = (sql: (trx: Parameters<Parameters<Directory['store']['transact']>[0]>[0]) => Promise<unknown>) =>
      directory.store.transact(async (trx) => void (await sql(trx)));
    const followed = (seal: number) =>
      tamper((trx) =>
        trx
          .insertInto('audit_trails')
          .values({
            ...{ notification_id: 'n1', org_id: directory.organization.id, seal, attempts: 0, next_attempt: 0 },
            ...{ response_code: 204, detail: '', last_sent: 0 },
          })
          .execute(),
      );
    const cutOff = async (): Promise<void> => {
      await tamper((trx) => trx.deleteFrom('audit_seals').where('number', '=', 2).execute());
      await tamper((trx) => trx.deleteFrom('audit').where('seal', '=', 2).execute());
    };
    const broken = (seal: number) => ({ code: 'audit_broken', details: { seal } });

    test('and changed later: the seal is broken', async () => {
      await tamper((trx) => trx.updateTable('audit').set({ actor: 'bob' }).where('target', '=', 'J2').execute());
      await expect(read()).rejects.toMatchObject(broken(1));
    });

    test('and deleted later: the seal is broken', async () => {
      await tamper((trx) => trx.deleteFrom('audit').where('target', '=', 'J3').execute());
      await expect(read()).rejects.toMatchObject(broken(2));
    });

    test('and brought to somebody cannot be cut off: it is told, no number is given again, and the gap stays', async () => {
      await followed(2);
      await cutOff();
      heads = rememberedHeads();
      // Nobody sees it by the chain alone.
      expect((await read()).head.number).toBe(1);
      await write('J4');
      await directory.auth.auditSeals.seal();
      expect(cuts).toEqual([{ orgId: directory.organization.id, last: 1, known: 2 }]);
      expect((await chain()).map(({ seal }) => seal.number)).toEqual([1, 3]);
      await expect(read()).rejects.toMatchObject(broken(3));
      await write('J5');
      await directory.auth.auditSeals.seal();
      expect(cuts).toHaveLength(1);
    });

    test('and deleted with their seals: the server that made these remembers them, and the gap stays', async () => {
      await write('J4');
      await directory.auth.auditSeals.seal();
      await tamper((trx) => trx.deleteFrom('audit_seals').where('number', '>=', 2).execute());
      await tamper((trx) => trx.updateTable('audit').set({ seal: null }).where('seal', '>=', 2).execute());
      await tamper((trx) => trx.deleteFrom('audit').where('target', '=', 'J3').execute());
      await directory.auth.auditSeals.seal();
      expect(cuts).toEqual([{ orgId: directory.organization.id, last: 1, known: 3 }]);
      expect((await chain()).map(({ seal }) => seal.number)).toEqual([1, 4]);
      await expect(read()).rejects.toMatchObject(broken(4));
    });

    test('and cut off while no server ran: one that has the file of how far it was finds it', async () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'muster-heads-'));
      const failed: unknown[] = [];
      const open = () => auditHeadsIn(dataDir, (error) => failed.push(error));
      open().made(new Map([[directory.organization.id, 2]]));
      await cutOff();
      heads = open();
      expect(await directory.auth.auditSeals.known(directory.organization.id)).toBe(2);
      await write('J4');
      await directory.auth.auditSeals.seal();
      expect(cuts).toEqual([{ orgId: directory.organization.id, last: 1, known: 2 }]);
      expect(open().of(directory.organization.id)).toBe(3);
      expect(failed).toEqual([]);
      writeFileSync(join(dataDir, 'audit-heads.json'), '{"o": "1"}');
      expect(open().of('o')).toBe(0);
      expect(failed).toEqual([expect.objectContaining({ message: expect.stringContaining('o is not a number') })]);
      rmSync(dataDir, { recursive: true });
    });

    test('cannot get others among them', async () => {
      await tamper((trx) =>
        trx
          .insertInto('audit')
          .values({
            org_id: directory.organization.id,
            at: 0,
            actor: 'bob',
            actor_kind: 'user',
            address: null,
            action: 'push.start',
            target: 'J0',
            outcome: 'done',
            detail: '{}',
            seal: 1,
            mark: null,
          })
          .execute(),
      );
      await expect(read()).rejects.toMatchObject(broken(1));
    });

    test('cannot lose a seal, nor have it made anew without the key', async () => {
      await tamper((trx) => trx.deleteFrom('audit_seals').where('number', '=', 1).execute());
      await expect(read()).rejects.toMatchObject(broken(2));
      const [own] = await chain();
      const signature = Buffer.alloc(256).toString('base64');
      const reader = new ChainReader([directory.auth.auditSeals.publicKey], directory.organization.id);
      expect(() => reader.take({ ...(own as Sealed).seal, number: 1, signature }, (own as Sealed).entries)).toThrow(
        'not as it was sealed',
      );
    });
  });
});

test('who looks at the same output again and again is told of once in ten minutes', async () => {
  const { audit } = directory.auth;
  const { outcome: _, ...look } = { ...entry('/jobs/J1/output'), action: 'output.read' };
  const looks = () => audit.page({ orgId: directory.organization.id, limit: 10, action: 'output.read' });
  for (let n = 0; n < 3; n++) audit.looked(look);
  audit.looked({ ...look, actor: { name: 'bob', kind: 'user' } });
  directory.clock.advance(AUTH_LIMITS.lookAgainAuditedMs);
  audit.looked(look);
  await expect.poll(async () => (await looks()).map(({ actor }) => actor.name)).toEqual(['alice', 'bob', 'alice']);
});
