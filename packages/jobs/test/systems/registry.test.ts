import { systemClock } from '@muster/base';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Sshd, startSshd } from '../../../platform/test/support/sshd.js';
import { MusterError } from '../../src/errors.js';
import type { AgentReach } from '../../src/systems/agent/types.js';
import { OpenSystems } from '../../src/systems/registry.js';
import type { TaskRunner } from '../../src/systems/tasks/types.js';
import type { System } from '../../src/systems/types.js';

/** No system here runs jobs as tasks. */
const NO_TASKS: TaskRunner = {
  add: () => Promise.reject(new Error('nobody adds tasks here')),
  standing: async () => null,
  cancel: async () => undefined,
  follow: () => () => undefined,
};

/** Nor is one of them a node. */
const NO_AGENTS: AgentReach = { open: () => Promise.reject(new Error('nobody speaks to agents here')) };

describe('the systems of a process', () => {
  let sshd: Sshd;
  let stored: System[];
  let secret: () => Promise<{ privateKey: string } | null>;
  const open: OpenSystems[] = [];
  beforeAll(async () => {
    sshd = await startSshd();
  });
  afterEach(async () => {
    for (const systems of open.splice(0)) await systems.close();
  });
  afterAll(() => sshd.remove());

  function opened(): OpenSystems {
    const system: System = {
      ...sshd.system,
      id: 'id1',
      uuid: 'u1',
      orgId: 'org',
      name: 'hpc1',
      type: 'ssh',
      scheduler: 'fork',
      root: '/',
      scratch: 'tmp',
      queues: [],
      enabled: true,
      default: false,
      owner: 'anna',
    };
    stored = [system, { ...system, id: 'id2', name: 'here', type: 'local' }];
    secret = async () => ({ privateKey: sshd.privateKey });
    const systems = new OpenSystems({
      clock: systemClock,
      tasks: NO_TASKS,
      agents: NO_AGENTS,
      systems: {
        find: async (orgId, name) => stored.find((one) => one.orgId === orgId && one.name === name) ?? null,
        secretOf: () => secret(),
      },
    });
    open.push(systems);
    return systems;
  }
  const change = (name: string, to: Partial<System>): void => {
    stored = stored.map((one) => (one.name === name ? { ...one, ...to } : one));
  };
  const portOf = async (systems: OpenSystems): Promise<string | undefined> => {
    const { connection } = await systems.open('org', 'hpc1');
    return (await connection.exec(['sh', '-c', 'echo $SSH_CONNECTION'])).stdout.split(' ')[1];
  };

  it('share one connection among all who open one', async () => {
    const systems = opened();
    const ports = await Promise.all(Array.from({ length: 5 }, () => portOf(systems)));
    expect(new Set(ports).size).toBe(1);
    const [one, other] = await Promise.all([systems.open('org', 'hpc1'), systems.open('org', 'hpc1')]);
    expect(one.connection).toBe(other.connection);
    expect(one.scheduler).toBe(other.scheduler);
    const here = await systems.open('org', 'here');
    expect((await here.connection.exec(['echo', 'here'])).stdout).toBe('here\n');
  });

  it('one that is disabled is not available, and is again', async () => {
    const systems = opened();
    await portOf(systems);
    change('hpc1', { enabled: false });
    const trouble = { name: 'SystemTrouble', kind: 'SYSTEM_NOT_AVAILABLE', system: 'hpc1' };
    await expect(systems.open('org', 'hpc1')).rejects.toMatchObject(trouble);
    change('hpc1', { enabled: true });
    expect(await portOf(systems)).toBeDefined();
  });

  it('one that does not exist, or belongs to others, fails the job', async () => {
    const systems = opened();
    for (const [orgId, name] of [
      ['org', 'none'],
      ['other', 'hpc1'],
    ] as const) {
      await expect(systems.open(orgId, name)).rejects.toMatchObject({ name: 'Failed' });
    }
  });

  it('one that was changed is connected to anew', async () => {
    const systems = opened();
    const before = await portOf(systems);
    change('hpc1', { queues: [{ name: 'q' }] });
    expect(await portOf(systems)).toBe(before);
    expect((await systems.open('org', 'hpc1')).system.queues).toEqual([{ name: 'q' }]);
    change('hpc1', { environment: { A: 'b' } });
    expect(await portOf(systems)).not.toBe(before);
    change('hpc1', { hostKey: await sshd.hostKey('rsa') });
    expect(await portOf(systems)).toBeDefined();
  });

  it('a secret is read at each login: a new one is taken, one that cannot be opened is told', async () => {
    const systems = opened();
    const good = secret;
    secret = async () => null;
    await expect(portOf(systems)).rejects.toMatchObject({ kind: 'AUTHENTICATION_FAILED' });
    secret = async () => {
      throw new MusterError('secret_unreadable', { owner: 'id1', reason: 'it was sealed with another key' });
    };
    await expect(portOf(systems)).rejects.toMatchObject({
      kind: 'AUTHENTICATION_FAILED',
      message: expect.stringContaining('another key'),
    });
    secret = good;
    expect(await portOf(systems)).toBeDefined();
  });
});
