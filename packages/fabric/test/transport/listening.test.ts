import { listenForChannels } from '@muster/fabric';
import { afterEach, describe, expect, it } from 'vitest';
import { closed, End, SCHEMES, World } from './support.js';

const world = new World();
const quiet = () => new End().handlers;

afterEach(() => world.end());

describe.each(SCHEMES)('listening at %s', (scheme) => {
  it('on port 0 says which port it has become', async () => {
    const { url } = await world.listen(`${scheme}://127.0.0.1:0`, quiet);
    expect(url).toMatch(new RegExp(`^${scheme.replace('+', '\\+')}://127\\.0\\.0\\.1:[1-9]\\d+$`));
  });

  it('on a port that is taken is refused by name', async () => {
    const { url } = await world.listen(`${scheme}://127.0.0.1:0`, quiet);
    const again = world.listen(url, quiet);
    await expect(again).rejects.toMatchObject({
      code: 'address_in_use',
      message: expect.stringContaining('EADDRINUSE'),
    });
  });

  it('ends for new connections and not for those that are there', async () => {
    const server = new End();
    const { url, close } = await world.listen(`${scheme}://localhost:0`, (channel) => {
      server.channel = channel;
      return server.handlers;
    });
    const client = await world.connect(url);
    await close();
    await expect(world.connect(url)).rejects.toMatchObject({ code: 'fabric_unreachable' });
    client.open.write(Buffer.from('still here'));
    await server.until((end) => end.text === 'still here');
    client.open.end();
    await server.until(closed);
  });

  it('keeps connections apart', async () => {
    const { url } = await world.listen(`${scheme}://localhost:0`, (channel) => {
      const end = new End();
      return { ...end.handlers, data: (bytes) => channel.write(Buffer.from(bytes)) };
    });
    const clients = await Promise.all(Array.from({ length: 20 }, () => world.connect(url)));
    clients.forEach((client, index) => client.open.write(Buffer.from(`client ${index}.`)));
    for (const [index, client] of clients.entries()) await client.until((end) => end.text === `client ${index}.`);
  });
});

describe('listening without TLS', () => {
  it.each(['stomp://0.0.0.0:0', 'ws://*:0/', 'stomp://[::]:0', 'stomp://192.0.2.1:0', 'ws://example.org:0'])(
    'at %s is refused unless it is asked for',
    async (url) => {
      await expect(listenForChannels(url, {}, quiet)).rejects.toMatchObject({ code: 'insecure_stomp' });
    },
  );

  it('everywhere works when it is asked for', async () => {
    const { url } = await world.listen('stomp://0.0.0.0:0', quiet, { insecure: true });
    await world.connect(url.replace('0.0.0.0', '127.0.0.1'));
  });

  it('is never done for an address that says TLS', async () => {
    for (const url of ['stomp+tls://127.0.0.1:0', 'wss://127.0.0.1:0']) {
      await expect(listenForChannels(url, { insecure: true }, quiet)).rejects.toThrow('TLS needs a certificate');
    }
  });
});
