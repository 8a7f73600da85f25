import { createServer, type Socket } from 'node:net';
import { ManualClock } from '@muster/base';
import { afterEach, describe, expect, it } from 'vitest';
import { End, SCHEMES, type Scheme, World } from './support.js';

const world = new World();
const secure = (scheme: Scheme) => scheme === 'stomp+tls' || scheme === 'wss';

afterEach(() => world.end());

/** Takes connections and never says a word. */
async function silentPort(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  world.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const quiet = () => new End().handlers;

it('connecting to a Unix socket that is not there advises about sockets, not about TLS', async () => {
  const attempt = world.connect('stomp+unix:/nowhere/events.sock');
  await expect(attempt).rejects.toMatchObject({
    code: 'fabric_socket_unreachable',
    message: expect.stringContaining('ENOENT'),
    fix: expect.stringContaining('events.socket'),
  });
});

describe.each(SCHEMES)('connecting to %s', (scheme) => {
  it('where nobody listens fails with the address and the reason', async () => {
    const { url, close } = await world.listen(`${scheme}://127.0.0.1:0`, quiet);
    await close();
    await expect(world.connect(url)).rejects.toMatchObject({
      code: 'fabric_unreachable',
      message: expect.stringContaining(`cannot connect to ${url}: connect ECONNREFUSED`),
    });
  });

  it('can be given up', async () => {
    const { url } = await world.listen(`${scheme}://localhost:0`, quiet);
    const controller = new AbortController();
    const attempt = world.connect(url, new End(), { signal: controller.signal });
    controller.abort();
    await expect(attempt).rejects.toThrow('it is not wanted any more');
    await expect(world.connect(url, new End(), { signal: controller.signal })).rejects.toThrow('not wanted');
  });
});

describe.each(SCHEMES.filter((scheme) => scheme !== 'stomp'))('connecting to %s', (scheme) => {
  it('fails when the handshake is not answered in time', async () => {
    const clock = new ManualClock();
    const port = await silentPort();
    const attempt = world.connect(`${scheme}://127.0.0.1:${port}`, new End(), { clock, timeoutMs: 3000 });
    clock.advance(3000);
    await expect(attempt).rejects.toThrow('no answer within 3 s');
  });
});

describe.each(SCHEMES.filter(secure))('%s', (scheme) => {
  it('verifies the server by default', async () => {
    const { url } = await world.listen(`${scheme}://localhost:0`, quiet);
    await expect(world.connect(url, new End(), { tls: {} })).rejects.toMatchObject({
      code: 'certificate_untrusted',
      message: expect.stringMatching(/self-signed|unable to verify/),
    });
  });

  it('verifies the name of the server', async () => {
    const { url } = await world.listen(`${scheme}://127.0.0.1:0`, quiet);
    await expect(world.connect(url)).rejects.toMatchObject({
      code: 'certificate_invalid',
      message: expect.stringContaining('127.0.0.1 is not in the cert'),
    });
  });

  it('may be told which name the server has, or not to verify', async () => {
    const { TEST_CERTIFICATE: ca } = await import('./support.js');
    const { url } = await world.listen(`${scheme}://127.0.0.1:0`, quiet);
    await world.connect(url, new End(), { tls: { ca, serverName: 'localhost' } });
    await world.connect(url, new End(), { tls: { verify: false } });
  });

  it('refuses what is no certificate', async () => {
    const { url } = await world.listen(`${scheme}://localhost:0`, quiet);
    const ca = '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n';
    await expect(world.connect(url, new End(), { tls: { ca } })).rejects.toMatchObject({
      code: 'certificate_untrusted',
    });
  });

  it('tells of clients whose handshake failed', async () => {
    const refused: string[] = [];
    let told = () => {};
    const once = new Promise<void>((resolve) => {
      told = resolve;
    });
    const { url } = await world.listen(`${scheme}://localhost:0`, quiet, {
      refused: (error, remote) => {
        refused.push(`${remote} ${error.message}`);
        told();
      },
    });
    const plain = scheme === 'wss' ? url.replace('wss', 'ws') : url.replace('stomp+tls', 'stomp');
    const client = await world.connect(plain).catch(() => null);
    client?.open.write(Buffer.from('CONNECT\n\n\0'));
    await once;
    expect(refused[0]).toMatch(/^(127\.0\.0\.1|\[::1\]):\d+ /);
  });
});
