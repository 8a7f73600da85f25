import { createHash } from 'node:crypto';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { ManualClock, systemClock } from '@muster/base';
import { afterEach, describe, expect, test } from 'vitest';
import { pinOf, SshConnections, type SshHost, type SshLink, sshAnswers } from '../src/ssh/index.js';

/** What is used of ssh beside logins, which `packages/jobs/test/systems/ssh.test.ts` and those of nodes without an agent try on a real sshd. */

describe('the key of a host', () => {
  const blob = Buffer.concat([
    Buffer.from([0, 0, 0, 11]),
    Buffer.from('ssh-ed25519'),
    Buffer.from([0, 0, 0, 32]),
    Buffer.alloc(32, 7),
  ]);
  const hash = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
  const line = `ssh-ed25519 ${blob.toString('base64')}`;

  test.each([hash, `SHA256:${hash}`, `SHA256:${hash}=`, line, `${line} root@box`, `[box]:2222 ${line}`, ` ${line}\n`])(
    'is pinned by %s',
    (written) => expect(pinOf(written)).toBe(`SHA256:${hash}`),
  );

  test.each([
    '',
    'SHA256:',
    'MD5:00:11',
    hash.slice(1),
    'ssh-ed25519',
    'ssh-ed25519 AAAA',
    `ssh-rsa ${blob.toString('base64')}`,
  ])('is not pinned by %s', (written) => expect(pinOf(written)).toBeNull());
});

describe('connections', () => {
  const clock = new ManualClock();
  const link = (rest: () => boolean) => ({ rest }) as unknown as SshLink;
  const made = () => new SshConnections({ most: 2, clock, waitMs: 1000, setting: 'most' });

  test('beyond the limit one that nobody uses makes room', async () => {
    const connections = made();
    const closed: string[] = [];
    let freeIdle: () => void = () => undefined;
    const used = link(() => false);
    const idle = link(() => {
      closed.push('idle');
      freeIdle();
      return true;
    });
    await connections.admit(used);
    freeIdle = await connections.admit(idle);
    await connections.admit(link(() => false));
    expect(closed).toEqual(['idle']);
    expect(connections.open).toBe(2);
  });

  test('who finds none waits for the next in turn, and not for ever', async () => {
    const connections = made();
    const busy = link(() => false);
    const [first, second] = [await connections.admit(busy), await connections.admit(busy)];
    const order: string[] = [];
    const one = connections.admit(busy).then(() => order.push('one'));
    const other = connections.admit(busy).then(() => order.push('other'));
    first();
    first();
    await one;
    expect(order).toEqual(['one']);
    const late = expect(connections.admit(busy)).rejects.toThrow('the server has 2 connections open already');
    second();
    await other;
    clock.advance(1000);
    await late;
    expect(connections.open).toBe(2);
  });
});

describe('whether an ssh server answers', () => {
  let server: Server | null = null;
  afterEach(() => server?.close());

  async function listening(said: string | null, end = false): Promise<SshHost> {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      if (said !== null) socket.write(said);
      if (end) socket.end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server?.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    return { what: 'node box', host: '127.0.0.1', port, user: 'root', hostKey: null, repin: '' };
  }

  test('is known by its first line, also after a banner', async () => {
    await sshAnswers(await listening('welcome\r\nSSH-2.0-x\r\n'), systemClock, 5000);
  });

  test.each([
    ['nothing for too long', null, false, 100, /did not answer in time: nothing was said within 100 ms/],
    ['something else', 'x'.repeat(10_000), false, 5000, /no ssh server/],
    ['goodbye', '', true, 5000, /closed before anything was said/],
  ] as const)('%s is none', async (_what, said, end, withinMs, message) => {
    await expect(sshAnswers(await listening(said, end), systemClock, withinMs)).rejects.toThrow(message);
  });

  test('nobody is none', async () => {
    const host = await listening('SSH-2.0-x\r\n');
    await new Promise((resolve) => server?.close(resolve));
    server = null;
    await expect(sshAnswers(host, systemClock, 5000)).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
  });
});
