import { linkSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatAddress, parseAddress } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { End, World } from './support.js';

const world = new World();
const quiet = () => new End().handlers;
let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-socket-'));
  path = join(dir, 'events.sock');
});
afterEach(async () => {
  await world.end();
  rmSync(dir, { recursive: true, force: true });
});

const mode = () => statSync(path).mode & 0o777;

describe('a Unix socket', () => {
  it('has an address of its own, which is written as it is read', () => {
    const url = 'stomp+unix:/run/muster/events.sock';
    expect(parseAddress(url)).toMatchObject({ scheme: 'stomp+unix', path: '/run/muster/events.sock', secure: false });
    expect(formatAddress(parseAddress(url))).toBe(url);
    expect(parseAddress('unix:/run/muster/events.sock')).toEqual(parseAddress(url));
  });

  it.each(['stomp+unix:relative.sock', 'unix:relative.sock', 'stomp+unix:', `stomp+unix:/${'x'.repeat(108)}`])(
    'is not at %s',
    (url) => {
      expect(() => parseAddress(url)).toThrow(/^invalid address/);
    },
  );

  it('carries bytes both ways', async () => {
    const { url } = await world.listen(`stomp+unix:${path}`, (channel) => ({
      ...quiet(),
      data: (bytes) => channel.write(Buffer.from(bytes)),
    }));
    const client = await world.connect(url);
    client.open.write(Buffer.from('hello'));
    await client.until((end) => end.text === 'hello');
  });

  it('is for its owner alone', async () => {
    await world.listen(`stomp+unix:${path}`, quiet);
    expect(mode()).toBe(0o600);
  });

  it('is for a group as well when one is named', async () => {
    const group = process.getgid?.() ?? 0;
    await world.listen(`stomp+unix:${path}`, quiet, { group });
    expect([mode(), statSync(path).gid]).toEqual([0o660, group]);
  });

  it('that somebody listens on is refused by name', async () => {
    await world.listen(`stomp+unix:${path}`, quiet);
    await expect(world.listen(`stomp+unix:${path}`, quiet)).rejects.toMatchObject({
      code: 'address_in_use',
      message: expect.stringContaining(path),
    });
  });

  it('is taken over when whoever listened on it was killed', async () => {
    const left = createServer();
    await new Promise<void>((resolve) => left.listen(join(dir, 'left.sock'), resolve));
    linkSync(join(dir, 'left.sock'), path);
    await new Promise((resolve) => left.close(resolve));
    const { url } = await world.listen(`stomp+unix:${path}`, quiet);
    await world.connect(url);
  });

  it('never replaces a file of another kind', async () => {
    writeFileSync(path, 'precious');
    await expect(world.listen(`stomp+unix:${path}`, quiet)).rejects.toMatchObject({ code: 'address_in_use' });
    expect(statSync(path).size).toBe('precious'.length);
  });

  it('is gone when nobody listens any more', async () => {
    const { close } = await world.listen(`stomp+unix:${path}`, quiet);
    await close();
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });
});
