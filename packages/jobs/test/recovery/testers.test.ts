import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CONDITIONS } from '../../src/recovery/conditions/index.js';
import { ALL } from '../../src/recovery/machine.js';
import { ask, TESTERS } from '../../src/recovery/testers/index.js';
import type { ActiveStatus } from '../../src/status.js';
import type { TroubleKind } from '../../src/systems/types.js';
import { type JobFixture, ORG, openJobs } from '../support/jobs.js';
import { PlayedSystems } from '../support/recovery.js';

let fixture: JobFixture;
let systems: PlayedSystems;
beforeEach(async () => {
  fixture = await openJobs();
  systems = new PlayedSystems();
});
afterEach(() => fixture.close());

const test = (type: string, parameters: Readonly<Record<string, string>>, privateTargets = true) =>
  ask(type, { orgId: ORG.id, parameters }, { read: fixture.store.read, systems, clock: fixture.clock, privateTargets });

async function system(name: string, enabled: boolean, definition: object = {}): Promise<void> {
  const row = {
    org_id: ORG.id,
    name,
    type: 'ssh',
    is_default: 0,
    owner: 'anna',
    secret: null,
    created: 1,
    last_updated: 1,
  };
  await fixture.store.transact((trx) =>
    trx
      .insertInto('job_systems')
      .values({ id: name, uuid: name, enabled: Number(enabled), definition: JSON.stringify(definition), ...row })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet({ enabled: Number(enabled), definition: JSON.stringify(definition) }),
      )
      .execute(),
  );
}

describe('testers (sheet §7.6)', () => {
  it('are there for every condition', () => {
    for (const [condition, { tester }] of Object.entries(CONDITIONS)) {
      expect(TESTERS.has(tester), condition).toBe(true);
    }
  });

  it('of which nobody knows say that there is no hope', async () => {
    expect(await test('RAIN', {})).toMatchObject({ kind: 'hopeless' });
  });

  it('of a system: clear when it is enabled, hopeless when it is gone', async () => {
    const type = 'DEFAULT_SYSTEM_AVAILABLE_TESTER';
    expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'hopeless' });
    await system('hpc1', false);
    expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'blocked' });
    await system('hpc1', true);
    expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'clear', most: ALL });
  });

  it('of an app: clear when it is enabled, hopeless when it is gone', async () => {
    const type = 'DEFAULT_APPLICATION_TESTER';
    expect(await test(type, { appId: 'wc-1.0' })).toMatchObject({ kind: 'hopeless' });
    const set = (enabled: number) =>
      fixture.store.transact((trx) => trx.updateTable('job_apps').set({ enabled }).execute());
    await fixture.store.transact((trx) =>
      trx
        .insertInto('job_apps')
        .values({
          uuid: 'a',
          org_id: ORG.id,
          app_id: 'wc-1.0',
          enabled: 0,
          is_public: 0,
          owner: 'anna',
          definition: '{}',
          created: 1,
          last_updated: 1,
        })
        .execute(),
    );
    expect(await test(type, { appId: 'wc-1.0' })).toMatchObject({ kind: 'blocked' });
    await set(1);
    expect(await test(type, { appId: 'wc-1.0' })).toMatchObject({ kind: 'clear' });
  });

  describe('of quotas', () => {
    const type = 'DEFAULT_QUOTA_TESTER';
    const run = async (uuid: string, status: ActiveStatus, owner = 'jdoe', remoteQueue: string | null = null) =>
      fixture.job(uuid, status, { owner, remoteQueue });

    it('let as many go on as there is room for, PENDING ones counted', async () => {
      await system('hpc1', true, { maxJobs: 3 });
      await run('a-007', 'RUNNING');
      await run('b-007', 'PENDING');
      expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'clear', most: 1 });
      await run('c-007', 'PENDING');
      expect(await test(type, { systemId: 'hpc1' })).toMatchObject({
        kind: 'blocked',
        says: '0 more jobs may run on hpc1',
      });
    });

    it('go by the limits as they are now', async () => {
      await system('hpc1', true, { maxJobs: 1 });
      await run('a-007', 'RUNNING');
      expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'blocked' });
      await system('hpc1', true, { maxJobs: 5 });
      expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'clear', most: 4 });
      await system('hpc1', true, { maxJobs: 0 });
      expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'clear', most: ALL });
    });

    it('look at a user, a queue, and a user in a queue', async () => {
      const queues = [{ name: 'normal', maxJobs: 4, maxUserJobs: 2 }];
      await system('hpc1', true, { maxJobsPerUser: 3, queues });
      await run('a-007', 'RUNNING', 'jdoe', 'normal');
      await run('b-007', 'QUEUED', 'jdoe', 'long');
      await run('c-007', 'ARCHIVING', 'anna', 'normal');
      const left = async (parameters: object) => await test(type, { systemId: 'hpc1', ...parameters });
      expect(await left({ owner: 'jdoe' })).toMatchObject({ most: 1 });
      expect(await left({ owner: 'bob' })).toMatchObject({ most: 3 });
      expect(await left({ queue: 'normal' })).toMatchObject({ most: 2 });
      expect(await left({ owner: 'jdoe', queue: 'normal' })).toMatchObject({ most: 1 });
    });

    it('count neither those that have ended, nor BLOCKED, PAUSED or ACCEPTED ones', async () => {
      await system('hpc1', true, { maxJobs: 1 });
      await fixture.job('a-007', 'ACCEPTED');
      for (const to of ['BLOCKED', 'PAUSED', 'STOPPED'] as const) {
        await fixture.jobs.change(await run(`${to}-007`, 'RUNNING'), { to });
      }
      expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'clear', most: 1 });
    });
  });

  const CONNECTED = ['DEFAULT_CONNECTION_TESTER', 'DEFAULT_CONNECTION_TIMEOUT_TESTER'];
  const LOGGED_IN = [...TESTERS.keys()].filter((type) =>
    /AUTHENTICATION|HOST_KEY|TRANSMISSION|SCHEDULER|REMOTE_END/.test(type),
  );
  const KINDS: readonly TroubleKind[] = [
    'SYSTEM_NOT_AVAILABLE',
    'CONNECTION_FAILURE',
    'CONNECTION_TIMEOUT',
    'AUTHENTICATION_FAILED',
    'HOST_KEY_CHANGED',
  ];

  it.each([...CONNECTED, ...LOGGED_IN])('%s: clear when the system answers, hopeless when it is gone', async (type) => {
    expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'clear', most: ALL });
    systems.trouble.set('hpc1', 'gone');
    expect(await test(type, { systemId: 'hpc1' })).toMatchObject({ kind: 'hopeless' });
  });

  it.each(CONNECTED)('%s: whether there is a connection, not what is said over it', async (type) => {
    const said: string[] = [];
    for (const kind of KINDS) {
      systems.trouble.set('hpc1', kind);
      said.push((await test(type, { systemId: 'hpc1' })).kind);
    }
    expect(said).toEqual(['blocked', 'blocked', 'blocked', 'clear', 'clear']);
  });

  it.each(LOGGED_IN)('%s: only when it can be used', async (type) => {
    for (const kind of KINDS) {
      systems.trouble.set('hpc1', kind);
      expect(await test(type, { systemId: 'hpc1' }), kind).toEqual({ kind: 'blocked', says: `hpc1: ${kind}` });
    }
  });

  it('of a disk: clear when a mebibyte fits, also where no job has worked yet, and nothing is left of it', async () => {
    systems.full = true;
    const full = await test('DEFAULT_DISK_TESTER', { systemId: 'hpc1' });
    expect(full).toEqual({ kind: 'blocked', says: 'hpc1: no space left' });
    systems.full = false;
    systems.written.length = 0;
    expect(await test('DEFAULT_DISK_TESTER', { systemId: 'hpc1' })).toMatchObject({ kind: 'clear' });
    expect(systems.written).toEqual(['/scratch/jobs/.muster-probe', '-/scratch/jobs/.muster-probe']);
  });

  it('of a server: clear when it answers, whatever it answers', async () => {
    const type = 'DEFAULT_SERVICE_CONNECTION_TESTER';
    const server = createServer((_request, response) => response.writeHead(500).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const at = { protocol: 'http', host: '127.0.0.1', port: String((server.address() as AddressInfo).port) };
    expect(await test(type, at)).toMatchObject({ kind: 'clear' });
    expect(await test(type, at, false)).toMatchObject({ kind: 'hopeless' });
    await new Promise((resolve) => server.close(resolve));
    expect(await test(type, at)).toMatchObject({ kind: 'blocked' });
    expect(await test(type, { ...at, protocol: 'gopher' })).toMatchObject({ kind: 'hopeless' });
  });
});
