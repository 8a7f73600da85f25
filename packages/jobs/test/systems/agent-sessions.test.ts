import { request } from 'node:http';
import { createServer as createHelper } from 'node:http2';
import { request as secureRequest } from 'node:https';
import { Duplex, PassThrough } from 'node:stream';
import { systemClock } from '@muster/base';
import { publicHalf, signRequest } from '@muster/signing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ME } from '../../../platform/test/support/personas.js';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../../platform/test/support/tls.js';
import { agentConnection } from '../../src/systems/agent/connection.js';
import type { AgentSessions } from '../../src/systems/agent/sessions.js';
import { WorkerConnections } from '../../src/systems/agent/worker-connections.js';
import { type CatalogServer, startCatalog } from '../support/catalog-server.js';
import { type Asked, played, random } from './support/agent-nodes.js';

const SYSTEM = { orgId: 'o', name: 'rack', node: 'web1', root: '/scratch' };
/** Comes and goes. */
const SPARE = { type: 'node', name: 'web3' } as const;
describe('a connection by an agent', () => {
  it('is asked for on the command channel, and given to who waits for it, once', async () => {
    const { sessions, asked } = played();
    const opened = sessions.open(SYSTEM);
    const { session, ...order } = asked();
    expect(order).toEqual({ type: 'system_open', system: 'rack', root: '/scratch' });
    expect(sessions.awaited('o', 'web1', session)).toBe(SYSTEM);
    for (const [org, node, other] of [
      ['x', 'web1', session],
      ['o', 'web2', session],
      ['o', 'web1', '0'.repeat(32)],
    ] as const) {
      expect(sessions.awaited(org, node, other)).toBeNull();
    }
    const connection = new PassThrough();
    expect(sessions.connect(session, connection)).toBe(true);
    expect(await opened).toBe(connection);
    expect(sessions.connect(session, new PassThrough())).toBe(false);
    expect(sessions.awaited('o', 'web1', session)).toBeNull();
  });

  it('is asked for again when the node is back, for as long as somebody waits', async () => {
    const { nodes, sessions, asked } = played();
    nodes.is('web1', 'down');
    nodes.reachable = false;
    const opened = sessions.open(SYSTEM);
    expect(nodes.asked).toEqual([]);
    nodes.reachable = true;
    nodes.comes('web2');
    expect(nodes.asked).toEqual([]);
    nodes.comes('web1');
    const { session } = asked();
    nodes.comes('web1', 'reconnected');
    expect(nodes.asked.map((one) => one.session)).toEqual([session, session]);
    sessions.connect(session, new PassThrough());
    await opened;
    nodes.comes('web1');
    expect(nodes.asked).toHaveLength(2);
  });

  it.each([
    ['down', 'CONNECTION_FAILURE', 'node web1 is down'],
    ['up', 'CONNECTION_TIMEOUT', 'made no connection in 20000 ms'],
  ] as const)('of a node that is %s is waited for, and then %s', async (status, kind, message) => {
    const { nodes, clock, sessions } = played();
    nodes.is('web1', status);
    const failed = expect(sessions.open(SYSTEM)).rejects.toMatchObject({
      name: 'SystemTrouble',
      system: 'rack',
      kind,
      message: expect.stringContaining(message),
    });
    clock.advance(20_000);
    await failed;
  });

  it.each([
    ['that nobody knows', 'web9', "there is no node 'web9'"],
    ['of another agent', 'old', 'runs another agent'],
  ])('of a node %s is not waited for', async (_, node, message) => {
    const { nodes, sessions } = played();
    nodes.is('old', 'up', 'chef2');
    await expect(sessions.open({ ...SYSTEM, node })).rejects.toMatchObject({
      kind: 'CONNECTION_FAILURE',
      message: expect.stringContaining(message),
    });
  });

  it('that the owner of the node does not allow is a login that is refused', async () => {
    const { sessions, asked } = played();
    const failed = expect(sessions.open(SYSTEM)).rejects.toMatchObject({
      kind: 'AUTHENTICATION_FAILED',
      message: 'system rack is not reached: node web1 refuses: no systems here',
    });
    sessions.refuse(asked().session, 'no systems here');
    await failed;
  });

  it('is waited for no more when the server stops', async () => {
    const { sessions } = played();
    const failed = expect(sessions.open(SYSTEM)).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
    await sessions.stop();
    await failed;
  });
});

const workersOf = (agents: AgentSessions): WorkerConnections =>
  new WorkerConnections({ agents, clock: systemClock, random, reached: () => ({ url: '', certificate: null }) });

describe('over HTTP', () => {
  let server: CatalogServer;
  let sessions: AgentSessions;
  let asked: () => Asked;
  const connections: Duplex[] = [];
  beforeAll(async () => {
    const around = played();
    ({ sessions, asked } = around);
    server = await startCatalog({ sessions, workers: workersOf(sessions) });
    around.nodes.org = server.org.id;
    around.nodes.is(SPARE.name, 'up');
  });
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.destroy();
  });
  afterAll(() => server.close());

  const path = (session: string, node = 'web1'): string => `/organizations/acme/nodes/${node}/systems/${session}`;
  const opening = (): { opened: Promise<Duplex>; session: string } => {
    const opened = sessions.open({ ...SYSTEM, orgId: server.org.id });
    opened.then((connection) => connections.push(connection)).catch(() => undefined);
    return { opened, session: asked().session };
  };

  /** What the server answers to a request to upgrade. */
  const upgrade = (at: string, as: string | null, method = 'GET', { url, clock, privateKey } = server) =>
    new Promise<{ status: number; body: string; socket: Duplex | null }>((resolve, reject) => {
      const signing = { method: 'GET', path: at, body: '', userId: as ?? '', timestamp: clock.now() };
      const signed = signRequest({ ...signing, privateKey, version: '1.3', signQuery: true });
      const headers = { ...(as !== null && signed), connection: 'Upgrade', upgrade: 'muster-system' };
      const secure = { ca: TEST_CERTIFICATE, servername: 'localhost' };
      const ask = url.startsWith('https:') ? secureRequest : request;
      const call = ask(url + at, { method, headers, ...secure });
      call.on('error', reject);
      call.on('upgrade', (_, socket) => {
        connections.push(socket);
        resolve({ status: 101, body: '', socket });
      });
      call.on('response', async (answer) => {
        let body = '';
        for await (const piece of answer.setEncoding('utf8')) body += piece;
        resolve({ status: answer.statusCode ?? 0, body, socket: null });
      });
      call.end();
    });

  it('the request of the node becomes the connection, and is audited', async () => {
    const { opened, session } = opening();
    const { socket } = await upgrade(path(session), 'web1');
    const connection = await opened;
    connection.write('to the node');
    socket?.write('to the server');
    const read = async (from: Duplex | null): Promise<string> => {
      for await (const piece of from ?? []) return String(piece);
      return '';
    };
    expect(await Promise.all([read(connection), read(socket)])).toEqual(['to the server', 'to the node']);
    const newest = async () => (await server.auth.audit.page({ orgId: server.org.id, limit: 1 }))[0];
    await expect.poll(newest).toMatchObject({
      action: 'system.session',
      actor: { name: 'web1', kind: 'node' },
      target: 'rack',
      detail: { node: 'web1', root: '/scratch', session },
    });
    expect((await upgrade(path(session), 'web1')).status).toBe(404);
  });

  it('the connection ends when its node is deleted, as when its key is removed', async () => {
    const { name } = SPARE;
    await server.auth.principals.createClient(server.org, { ...SPARE, publicKey: publicHalf(server.privateKey) }, ME);
    const opened = sessions.open({ ...SYSTEM, orgId: server.org.id, node: name });
    await upgrade(path(asked().session, name), name);
    const connection = await opened;
    const closed = new Promise((resolve) => connection.once('close', resolve));
    await server.auth.principals.removeClient(server.org.id, 'node', name, ME);
    await closed;
  });

  it('nobody else gets it: another node, an administrator, a stranger', async () => {
    const { opened, session } = opening();
    for (const [as, status] of [
      ['web2', 403],
      ['admin', 403],
      [null, 400],
      ['nobody', 401],
    ] as const) {
      expect((await upgrade(path(session), as)).status, String(as)).toBe(status);
    }
    expect((await upgrade(path(session, 'web2'), 'web2')).status).toBe(404);
    expect((await upgrade(path('0'.repeat(32)), 'web1')).status).toBe(404);
    expect((await upgrade(path('../../../users'), 'web1')).status).toBeGreaterThanOrEqual(400);
    // Another request, though it is allowed, becomes no connection.
    expect((await upgrade('/organizations/acme/systems/v2', 'admin')).status).toBe(200);
    expect((await upgrade(path(session), 'web1', 'POST')).status).toBeGreaterThanOrEqual(400);
    expect((await upgrade(path(session), 'web1')).status).toBe(101);
    await opened;
  });

  it('a node says why not, in bounded words', async () => {
    const { opened, session } = opening();
    const failed = expect(opened).rejects.toMatchObject({ message: expect.stringContaining('no systems here') });
    const say = (body: unknown, as = 'web1', at = session) => server.send({ method: 'POST', path: path(at), body, as });
    expect((await say({ reason: 'x'.repeat(1025) })).status).toBe(400);
    expect((await say({})).status).toBe(400);
    expect((await say({ reason: 'mine' }, 'web2')).status).toBe(403);
    expect((await say({ reason: 'mine' }, 'web1', '0'.repeat(32))).status).toBe(404);
    expect((await say({ reason: 'no systems here' })).status).toBe(204);
    await failed;
    expect((await say({ reason: 'again' })).status).toBe(404);
  });

  it('over TLS, too, HTTP/2 goes on where the answer of HTTP/1.1 ends', async () => {
    const around = played();
    const workers = workersOf(around.sessions);
    const tls = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY };
    const secure = await startCatalog({ sessions: around.sessions, workers }, tls);
    around.nodes.org = secure.org.id;
    const helper = createHelper().on('stream', (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('null');
    });
    try {
      for (let turn = 0; turn < 5; turn++) {
        const system = { ...SYSTEM, orgId: secure.org.id };
        const connection = agentConnection(system, around.sessions, { clock: systemClock });
        const found = connection.files.stat('/scratch');
        const { socket } = await upgrade(path(around.asked().session), 'web1', 'GET', secure);
        // An agent passes on what it decrypts.
        if (socket !== null) helper.emit('connection', Duplex.from({ readable: socket, writable: socket }));
        expect(await found).toBeNull();
        connection.close();
      }
    } finally {
      await secure.close();
    }
  });
});
