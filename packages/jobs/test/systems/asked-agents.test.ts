import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, PassThrough } from 'node:stream';
import { ManualClock, systemClock } from '@muster/base';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY, TEST_FINGERPRINT } from '../../../platform/test/support/tls.js';
import { type AgentConnection, agentConnection } from '../../src/systems/agent/connection.js';
import type { AgentReach } from '../../src/systems/agent/types.js';
import { WorkerConnections } from '../../src/systems/agent/worker-connections.js';
import { WORKER_PATH } from '../../src/systems/agent/worker-routes.js';
import { ForkScheduler } from '../../src/systems/schedulers/fork.js';
import { SystemTrouble } from '../../src/systems/types.js';
import { random } from './support/agent-nodes.js';
import { type AskedNodes, type AskedNodesOptions, openAskedNodes } from './support/asked-nodes.js';
import { connectionConformance } from './support/connection-conformance.js';
import { HelperProcesses } from './support/helper-process.js';
import { schedulerConformance } from './support/scheduler-conformance.js';

const systemAt = (root: string) => ({ orgId: 'o', name: 'rack', node: 'web1', root });
const SYSTEM = systemAt('/scratch');

/** A root with its helpers, the server that reaches it, and workers in processes of their own that ask the server. */
async function openedAt(holders: readonly string[]) {
  const scratch = await mkdtemp(join(tmpdir(), 'muster-asked-'));
  const helpers = new HelperProcesses(scratch);
  const nodes = await openAskedNodes(helpers);
  await nodes.takeOrders();
  const connections: AgentConnection[] = [];
  for (const holder of holders) {
    connections.push(agentConnection(systemAt(scratch), await nodes.reach(holder), { clock: systemClock }));
  }
  return {
    scratch,
    helpers,
    nodes,
    connections,
    async close() {
      for (const connection of connections) connection.close();
      await nodes.close();
      await helpers.stop();
      await rm(scratch, { recursive: true });
    },
  };
}

connectionConformance('agent, asked for by another process', async () => {
  const opened = await openedAt(['one']);
  const [connection] = opened.connections;
  if (connection === undefined) throw new Error('one was made');
  return { ...opened, doubtful: 0, connection };
});

schedulerConformance('fork on a node, asked for by other processes', async () => {
  const opened = await openedAt(['one', 'other']);
  const [scheduler, other] = opened.connections.map((one) => new ForkScheduler('rack', one, systemClock));
  if (scheduler === undefined || other === undefined) throw new Error('two were made');
  return { ...opened, scheduler, other, patienceMs: 60_000 };
});

describe('a worker in another process', () => {
  const asked = async (agents: AgentReach, options: AskedNodesOptions = {}): Promise<AskedNodes> => {
    const nodes = await openAskedNodes(agents, options);
    onTestFinished(() => nodes.close());
    return nodes;
  };
  /** What is said to it comes back. */
  const echo: AgentReach = { open: async () => new PassThrough() };
  const echoed = async (connection: Duplex): Promise<string> => {
    const piece = once(connection, 'data');
    connection.write('to the node');
    const [said] = await piece;
    connection.destroy();
    return String(said);
  };

  it('reads a file from where it broke off, when the server is gone meanwhile', async () => {
    const opened = await openedAt(['one']);
    onTestFinished(() => opened.close());
    const [connection] = opened.connections;
    if (connection === undefined) throw new Error('one was made');
    const content = randomBytes(20_000_000);
    await writeFile(join(opened.scratch, 'f'), content);
    const pieces: Buffer[] = [];
    const read = async (start: number): Promise<void> => {
      for await (const piece of await connection.files.read(join(opened.scratch, 'f'), { start })) {
        pieces.push(piece);
        if (start === 0) await opened.nodes.workers.stop();
      }
    };
    await expect(read(0)).rejects.toMatchObject({ name: 'SystemTrouble', kind: 'CONNECTION_FAILURE' });
    const before = Buffer.concat(pieces).length;
    expect(before).toBeLessThan(content.length);
    await read(before);
    expect(Buffer.concat(pieces).equals(content)).toBe(true);
    expect(opened.helpers.children).toHaveLength(2);
  });

  it('that lets go takes the helper on the node with it', async () => {
    const opened = await openedAt(['one']);
    onTestFinished(() => opened.close());
    const [connection] = opened.connections;
    await connection?.exec(['true']);
    const exit = once(opened.helpers.last, 'exit');
    connection?.close();
    expect(await exit).toEqual([0, null]);
  });

  it('is told why the server does not reach the node', async () => {
    const trouble = new SystemTrouble('rack', 'AUTHENTICATION_FAILED', 'node web1 refuses: no systems here');
    const nodes = await asked({ open: () => Promise.reject(trouble) });
    await nodes.takeOrders();
    const { kind, message, system } = trouble;
    await expect((await nodes.reach('one')).open(SYSTEM)).rejects.toMatchObject({ kind, message, system });
  });

  it('gives up on a server that stays away', async () => {
    const clock = new ManualClock(0);
    const reach = await (await asked(echo)).reach('one', clock);
    const refused = expect(reach.open(SYSTEM)).rejects.toMatchObject({
      kind: 'CONNECTION_FAILURE',
      message: expect.stringContaining('no server has answered within 60 s'),
    });
    clock.advance(60_000);
    await refused;
  });

  it('is told what to set when it does not find the server', async () => {
    const nodes = await asked(echo, { reached: { url: 'http://127.0.0.1:1' } });
    await nodes.takeOrders();
    await expect((await nodes.reach('one')).open(SYSTEM)).rejects.toMatchObject({
      kind: 'CONNECTION_FAILURE',
      message: expect.stringMatching(/through the server at http:\/\/127\.0\.0\.1:1 \(http\.advertise .*ECONNREFUSED/),
    });
  });

  const tls = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY };

  it('takes the certificate of the server that its answer has told of', async () => {
    const nodes = await asked(echo, { tls, reached: { certificate: TEST_FINGERPRINT } });
    await nodes.takeOrders();
    expect(await echoed(await (await nodes.reach('one')).open(SYSTEM))).toBe('to the node');
  });

  it.each([
    ['another', TEST_FINGERPRINT.replace(/^../, '00')],
    ['none', null],
  ])('sends no ticket to who shows another certificate than the answer told of: %s', async (_, certificate) => {
    const nodes = await asked(echo, { tls, reached: { certificate } });
    await nodes.takeOrders();
    await expect((await nodes.reach('one')).open(SYSTEM)).rejects.toMatchObject({
      kind: 'CONNECTION_FAILURE',
      message: expect.stringContaining('it shows a certificate'),
    });
  });

  it('gets nothing without a ticket, or with one that was used or has expired', async () => {
    const opened: PassThrough[] = [];
    const agents: AgentReach = {
      async open() {
        const connection = new PassThrough();
        opened.push(connection);
        return connection;
      },
    };
    const nodes = await asked(agents);
    const status = async (authorization?: string): Promise<number> => {
      const headers = authorization === undefined ? {} : { authorization };
      return (await nodes.server.send({ path: WORKER_PATH, as: null, headers })).status;
    };
    const { ticket } = await nodes.workers.open(SYSTEM);
    expect(await status(`Bearer ${ticket}`)).toBe(200);
    expect(await status()).toBe(401);
    expect(await status(`Bearer ${'0'.repeat(64)}`)).toBe(401);
    expect(await status(`Bearer ${ticket}0`)).toBe(401);
    expect(nodes.workers.connect(ticket, new PassThrough())).toBe(true);
    expect(await status(`Bearer ${ticket}`)).toBe(401);
    expect(nodes.workers.connect(ticket, new PassThrough())).toBe(false);
  });
});

describe('a connection that a server has opened for a worker', () => {
  const opening = (agents: AgentReach) => {
    const clock = new ManualClock();
    const reached = () => ({ url: 'http://muster', certificate: null });
    return { clock, connections: new WorkerConnections({ agents, clock, random, reached }) };
  };

  it('is closed when nobody comes for it', async () => {
    const connection = new PassThrough();
    const { clock, connections } = opening({ open: async () => connection });
    const { ticket } = await connections.open(SYSTEM);
    expect(connections.awaited(ticket)).toBe('rack');
    const closed = once(connection, 'close');
    clock.advance(20_000);
    await closed;
    expect(connections.awaited(ticket)).toBeNull();
  });

  it.each(['node', 'worker'] as const)('ends for both when the %s goes', async (goes) => {
    const ends = { node: new PassThrough(), worker: new PassThrough() };
    const { connections } = opening({ open: async () => ends.node });
    const { ticket } = await connections.open(SYSTEM);
    connections.connect(ticket, ends.worker);
    const closed = once(ends[goes === 'node' ? 'worker' : 'node'], 'close');
    ends[goes].destroy();
    await closed;
  });

  it('is passed on no faster than it is taken: nothing piles up in the server', async () => {
    let sent = 0;
    const node = new Duplex({
      read() {
        sent += 65_536;
        this.push(Buffer.alloc(65_536));
      },
      write: (_piece, _encoding, done) => done(),
    });
    const taken: (() => void)[] = [];
    const worker = new Duplex({ read: () => undefined, write: (_piece, _encoding, done) => void taken.push(done) });
    const { connections } = opening({ open: async () => node });
    connections.connect((await connections.open(SYSTEM)).ticket, worker);
    for (let turn = 0; turn < 100; turn += 1) {
      await expect.poll(() => taken.length).toBe(1);
      taken.shift()?.();
      expect(sent).toBeLessThan((turn + 5) * 65_536);
    }
    await connections.stop();
  });
});
