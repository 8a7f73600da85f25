import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { ManualClock } from '@muster/base';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CLUSTER_LIMITS } from '../src/cluster/limits.js';
import { PassingOn } from '../src/cluster/passing-on.js';
import { VOUCHED_HEADER, Vouching } from '../src/cluster/vouching.js';

const KEY = new Uint8Array(32).fill(7);

describe('what a server vouches for', () => {
  const clock = new ManualClock();
  const vouching = new Vouching(KEY, clock);
  const sender = { address: '192.0.2.7', port: 5000, protocol: 'https' } as const;
  const header = () => vouching.header(sender, 'GET', '/nodes?q=1');
  const read = (text: string, method = 'GET', url = '/nodes?q=1', by = vouching) =>
    by.sender({ [VOUCHED_HEADER]: text }, method, url);

  test('is believed by those who have the same key', () => {
    expect(read(header())).toEqual(sender);
    expect(read(header(), 'GET', '/nodes?q=1', new Vouching(new Uint8Array(32).fill(8), clock))).toBe(null);
  });

  test('is for one request: of this method, to this place', () => {
    expect(read(header(), 'POST')).toBe(null);
    expect(read(header(), 'GET', '/nodes?q=2')).toBe(null);
  });

  test('is good for a while', () => {
    const said = header();
    clock.advance(CLUSTER_LIMITS.vouchedMs);
    expect(read(said)).toEqual(sender);
    clock.advance(1);
    expect(read(said)).toBe(null);
  });

  test.each(['', 'x', '1 2 3 http ' + 'A'.repeat(43), `${Date.now()} 192.0.2.7 1 http ${'A'.repeat(43)}`])(
    'is nothing when nobody of the cluster has said it: %s',
    (text) => {
      expect(read(text)).toBe(null);
    },
  );

  test('cannot be changed', () => {
    expect(read(header().replace('192.0.2.7', '192.0.2.8'))).toBe(null);
  });
});

describe('a follower', () => {
  let leader: Server;
  let follower: Server;
  let passing: PassingOn;
  let heard: IncomingMessage[];
  const vouching = new Vouching(KEY, { now: () => Date.now() });
  const portOf = (server: Server): number => (server.address() as AddressInfo).port;
  const lead = (): void =>
    passing.lead({
      incarnation: 'i',
      name: 'leader',
      url: `http://127.0.0.1:${portOf(leader)}`,
      certificate: null,
      epoch: 1,
    });

  beforeEach(async () => {
    heard = [];
    passing = new PassingOn({
      ...{ vouching, trustedProxies: ['127.0.0.3', '10.0.0.0/8'], log: pino({ level: 'silent' }) },
      doubtful: () => undefined,
    });
    leader = createServer((request, response) => {
      heard.push(request);
      if (request.url === '/cut') {
        response.write('half');
        setImmediate(() => response.destroy());
      } else request.pipe(response.writeHead(201, { 'x-own': 'yes', connection: 'close' }));
    });
    leader.on('upgrade', (request: IncomingMessage, socket) => {
      heard.push(request);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      socket.pipe(socket);
    });
    follower = createServer((request, response) => passing.request(request, response));
    follower.on('upgrade', (request, socket, head) => passing.upgrade(request, socket, head));
    for (const server of [leader, follower]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  });
  afterEach(async () => {
    passing.stop();
    for (const server of [follower, leader]) {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    }
  });

  interface Asked {
    readonly body?: string;
    readonly headers?: Record<string, string>;
    readonly from?: string;
  }
  const ask = (path: string, { body = '', headers = {}, from = '127.0.0.2' }: Asked = {}) =>
    new Promise<{ status: number; headers: IncomingMessage['headers']; text: string; cut: boolean }>(
      (resolve, reject) => {
        const at = { host: '127.0.0.1', port: portOf(follower), localAddress: from };
        const asked = httpRequest({ ...at, path, method: 'POST', headers }, (answer) => {
          let text = '';
          const done = (cut: boolean) =>
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, cut });
          answer.on('data', (part) => {
            text += part;
          });
          answer.on('end', () => done(false));
          answer.on('error', () => done(true));
        });
        asked.on('error', reject);
        asked.end(body);
      },
    );

  test('passes requests on as they are, and says from where they come', async () => {
    lead();
    const answer = await ask('/a?b=c', { body: 'what is sent', headers: { 'x-some': 'thing', 'keep-alive': 'x' } });
    expect(answer).toMatchObject({ status: 201, text: 'what is sent', headers: { 'x-own': 'yes' } });
    const [request] = heard;
    expect(request).toMatchObject({ url: '/a?b=c', method: 'POST', headers: { 'x-some': 'thing' } });
    expect(request?.headers['keep-alive']).toBe(undefined);
    expect(vouching.sender(request?.headers ?? {}, 'POST', '/a?b=c')).toMatchObject({
      address: '127.0.0.2',
      protocol: 'http',
    });
  });

  test('does not pass on what a client says in its name', async () => {
    lead();
    const forged = vouching.header({ address: '192.0.2.1', port: 1, protocol: 'https' }, 'POST', '/');
    await ask('/', { headers: { [VOUCHED_HEADER]: forged } });
    expect(vouching.sender(heard[0]?.headers ?? {}, 'POST', '/')).toMatchObject({ address: '127.0.0.2' });
  });

  test('believes proxies that are trusted about who sent a request, and nobody else', async () => {
    lead();
    const headers = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7, 10.1.2.3', 'x-forwarded-proto': 'https' };
    await ask('/', { headers, from: '127.0.0.3' });
    await ask('/', { headers });
    const told = heard.map((request) => vouching.sender(request.headers, 'POST', '/'));
    expect(told[0]).toMatchObject({ address: '198.51.100.7', protocol: 'https' });
    expect(told[1]).toMatchObject({ address: '127.0.0.2', protocol: 'http' });
  });

  test('says that nobody leads, and when to try again', async () => {
    expect(await ask('/')).toMatchObject({
      status: 503,
      headers: { 'x-muster-error': 'no_leader', 'retry-after': '1' },
    });
    lead();
    leader.closeAllConnections();
    await new Promise((done) => leader.close(done));
    expect(await ask('/')).toMatchObject({ status: 503, headers: { 'x-muster-error': 'no_leader' } });
    await new Promise<void>((done) => leader.listen(0, '127.0.0.1', done));
  });

  test('lets an answer that breaks off look broken', async () => {
    lead();
    expect(await ask('/cut')).toMatchObject({ text: 'half', cut: true });
  });

  test('passes on connections that become something else', async () => {
    lead();
    const socket = connect({ port: portOf(follower), host: '127.0.0.1', localAddress: '127.0.0.2' });
    let text = '';
    socket.setEncoding('utf8');
    const echoed = new Promise<void>((done) =>
      socket.on('data', (part: string) => {
        text += part;
        if (text.endsWith('hello')) done();
      }),
    );
    socket.write('GET /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello');
    await echoed;
    expect(text).toMatch(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\nhello$/);
    expect(vouching.sender(heard[0]?.headers ?? {}, 'GET', '/up')).toMatchObject({ address: '127.0.0.2' });
    socket.destroy();
  });
});
