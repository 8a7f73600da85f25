import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ManualClock, systemClock } from '@muster/base';
import type { LinkOptions } from '@muster/platform/ssh';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../platform/test/support/processes.js';
import { type Sshd, startSshd } from '../../../platform/test/support/sshd.js';
import { SYSTEM_LIMITS } from '../../src/systems/limits.js';
import { ForkScheduler } from '../../src/systems/schedulers/fork.js';
import { type SshConnection, sshConnection } from '../../src/systems/ssh/ssh.js';
import { connectionConformance } from './support/connection-conformance.js';
import { schedulerConformance } from './support/scheduler-conformance.js';

connectionConformance('ssh', async () => {
  const sshd = await startSshd();
  const scratch = await mkdtemp(join(tmpdir(), 'muster-ssh-'));
  const system = { ...sshd.system, root: scratch };
  const connection = sshConnection(system, async () => ({ privateKey: sshd.privateKey }), { clock: systemClock });
  return {
    scratch,
    doubtful: 512 * 1024,
    connection,
    async close() {
      connection.close();
      await sshd.remove();
      await rm(scratch, { recursive: true, maxRetries: 5 });
    },
  };
});

schedulerConformance('fork over ssh', async () => {
  const sshd = await startSshd();
  const scratch = await mkdtemp(join(tmpdir(), 'muster-fork-ssh-'));
  const open = (): SshConnection =>
    sshConnection(sshd.system, async () => ({ privateKey: sshd.privateKey }), { clock: systemClock });
  const connections = [open(), open()] as const;
  const [one, other] = connections.map((connection) => new ForkScheduler('hpc1', connection, systemClock));
  if (one === undefined || other === undefined) throw new Error('there are two');
  return {
    scratch,
    scheduler: one,
    other,
    patienceMs: 60_000,
    async close() {
      for (const connection of connections) connection.close();
      await sshd.remove();
      await rm(scratch, { recursive: true, maxRetries: 5 });
    },
  };
});

describe('a connection over ssh', () => {
  let sshd: Sshd;
  const opened: SshConnection[] = [];
  beforeAll(async () => {
    sshd = await startSshd();
  });
  afterEach(() => {
    for (const connection of opened.splice(0)) connection.close();
  });
  afterAll(() => sshd.remove());

  function connect(more: Partial<Sshd['system']> = {}, options: Partial<LinkOptions> = {}): SshConnection {
    const secret = async () => ({ privateKey: sshd.privateKey });
    const connection = sshConnection({ ...sshd.system, ...more }, secret, { clock: systemClock, ...options });
    opened.push(connection);
    return connection;
  }
  const echo = async (connection: SshConnection): Promise<string> => (await connection.exec(['echo', 'here'])).stdout;

  it.each(['ed25519', 'rsa', 'ecdsa'] as const)(
    'is made when the pinned key is the %s key of the host',
    async (kind) => {
      const hostKey = await sshd.hostKey(kind);
      expect(await echo(connect({ hostKey }))).toBe('here\n');
      expect(await echo(connect({ hostKey: `SHA256:${hostKey}=` }))).toBe('here\n');
    },
  );

  it('the pinned key is the one that ssh-keygen shows', async () => {
    const { stdout } = await run('sh', [
      '-c',
      `ssh-keyscan -t ed25519 -p ${sshd.system.port} 127.0.0.1 | ssh-keygen -lf -`,
    ]);
    expect(stdout).toContain(`SHA256:${sshd.system.hostKey}`);
  });

  it('is refused when the host shows another key, and no secret is sent', async () => {
    const wrong = { name: 'SystemTrouble', kind: 'HOST_KEY_CHANGED', system: 'hpc1' };
    const hostKey = randomBytes(32).toString('base64');
    await expect(echo(connect({ hostKey }))).rejects.toMatchObject(wrong);
    const { hostKey: _, ...without } = sshd.system;
    const nothing = sshConnection(without, async () => ({ privateKey: sshd.privateKey }), { clock: systemClock });
    await expect(nothing.exec(['true'])).rejects.toMatchObject(wrong);
    await expect(nothing.files.stat('/')).rejects.toMatchObject(wrong);
  });

  it('is refused when the key of the host changed since', async () => {
    const connection = connect();
    expect(await echo(connection)).toBe('here\n');
    await sshd.restart({ newKeys: true });
    try {
      await expect(echo(connection)).rejects.toMatchObject({
        kind: 'HOST_KEY_CHANGED',
        message: expect.stringContaining(await sshd.hostKey('ed25519')),
      });
    } finally {
      Object.assign(sshd.system, { hostKey: await sshd.hostKey('ed25519') });
    }
  });

  it.each([
    ['a key that the host does not know', 'other'],
    ['a key that is none', 'nonsense'],
  ])('%s is a login that was refused', async (_, which) => {
    const directory = await mkdtemp(join(tmpdir(), 'muster-key-'));
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, 'other')]);
    const privateKey = which === 'other' ? await readFile(join(directory, 'other'), 'utf8') : 'no key, but secret';
    await rm(directory, { recursive: true });
    const connection = sshConnection(sshd.system, async () => ({ privateKey }), { clock: systemClock });
    const error = await connection.exec(['true']).catch((reason) => reason);
    expect(error).toMatchObject({ kind: 'AUTHENTICATION_FAILED' });
    expect(JSON.stringify({ ...error, message: error.message, stack: error.stack })).not.toContain('but secret');
  });

  it('a port where nobody listens, and a host that is not there, cannot be reached', async () => {
    await expect(echo(connect({ port: 1 }))).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
    await expect(echo(connect({ host: 'no-such-host.invalid' }))).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
  });

  describe('a host that takes the connection', () => {
    let server: Server;
    let say: (socket: Socket) => void;
    let port: number;
    beforeAll(async () => {
      server = createServer((socket) => say(socket.on('error', () => undefined).resume())).listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const address = server.address();
      port = address !== null && typeof address === 'object' ? address.port : 0;
    });
    afterAll(() => new Promise((resolve) => server.close(resolve)));

    it.each([
      ['says nothing', () => undefined],
      ['says who it is, and nothing more', (socket: Socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n')],
    ])('and %s is given up', async (_, says) => {
      say = says;
      const connection = connect({ port }, { connectMs: 300 });
      await expect(connection.exec(['true'])).rejects.toMatchObject({ kind: 'CONNECTION_TIMEOUT' });
      await expect(connection.files.stat('/')).rejects.toMatchObject({ kind: 'CONNECTION_TIMEOUT' });
    });

    it.each([
      ['closes it', (socket: Socket) => void socket.end()],
      ['is no sshd', (socket: Socket) => void socket.write('220 mail.example.com ESMTP\r\n'.repeat(1000))],
    ])('and %s cannot be reached', async (_, says) => {
      say = says;
      const kind = expect.stringMatching(/^CONNECTION_(FAILURE|TIMEOUT)$/);
      await expect(connect({ port }, { connectMs: 2000 }).exec(['true'])).rejects.toMatchObject({ kind });
    });
  });

  it('is one for all who use it at the same time, with no more commands at once than sshd takes', async () => {
    await sshd.restart({ lines: ['MaxSessions 9'] });
    const connection = connect();
    const many = Array.from({ length: 30 }, async (_, at) => {
      expect(await connection.files.stat('/')).toMatchObject({ type: 'dir' });
      return (await connection.exec(['sh', '-c', `sleep 0.1; echo "$SSH_CONNECTION" ${at}`])).stdout;
    });
    const ports = (await Promise.all(many)).map((line) => line.split(' ')[1]);
    expect(new Set(ports).size).toBe(1);
    expect(SYSTEM_LIMITS.channels).toBeLessThan(9);
    await sshd.restart();
  });

  it('waits for room on a host that takes fewer sessions than are asked for, and tells when there is none', async () => {
    await sshd.restart({ lines: ['MaxSessions 2'] });
    try {
      const connection = connect();
      expect(await connection.files.stat('/')).toMatchObject({ type: 'dir' });
      const all = await Promise.all(Array.from({ length: 12 }, () => echo(connection)));
      expect(all).toEqual(Array.from({ length: 12 }, () => 'here\n'));

      const hasty = connect({}, { connectMs: 1000 });
      expect(await hasty.files.stat('/')).toMatchObject({ type: 'dir' });
      const long = hasty.exec(['sleep', '1000']).catch((error) => error);
      await expect(echo(hasty)).rejects.toMatchObject({
        kind: 'CONNECTION_FAILURE',
        message: expect.stringContaining('MaxSessions'),
      });
      hasty.close();
      await long;
    } finally {
      await sshd.restart();
    }
  });

  it('is made anew when it broke, and what was under way is told', async () => {
    const connection = connect();
    expect(await echo(connection)).toBe('here\n');
    expect(await connection.files.stat('/')).not.toBeNull();
    const lost = connection.exec(['sleep', '1000']);
    const told = expect(lost).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
    await sshd.restart();
    await told;
    expect(await echo(connection)).toBe('here\n');
    expect(await connection.files.stat('/')).not.toBeNull();
    await sshd.stop();
    await expect(echo(connection)).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
    await expect(connection.files.stat('/')).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
    await sshd.restart();
    expect(await connection.files.stat('/')).not.toBeNull();
  });

  it('is closed when nobody used it for a while, and made anew', async () => {
    const clock = new ManualClock();
    const connection = connect({}, { clock, idleMs: 1000 });
    const client = async (): Promise<string | undefined> =>
      (await connection.exec(['sh', '-c', 'echo $SSH_CONNECTION'])).stdout.split(' ')[1];
    const first = await client();
    clock.advance(999);
    expect(await client()).toBe(first);
    clock.advance(1000);
    expect(connection.resting).toBe(true);
    expect(await client()).not.toBe(first);
  });

  it('a host that went silent is noticed', async () => {
    const connection = connect({}, { connectMs: 500 });
    const { stdout } = await connection.exec(['sh', '-c', 'echo $PPID']);
    // Its session stands still, as a host does that lost its network.
    process.kill(Number(stdout), 'SIGSTOP');
    try {
      await expect(connection.exec(['true'])).rejects.toMatchObject({
        name: 'SystemTrouble',
        kind: 'CONNECTION_TIMEOUT',
      });
    } finally {
      process.kill(Number(stdout), 'SIGCONT');
    }
  });

  it('variables of the system reach its commands', async () => {
    const connection = connect({ environment: { PATH: '/bin', WORDS: "it's $HOME" } });
    const { stdout } = await connection.exec(['sh', '-c', 'echo "$PATH $WORDS"']);
    expect(stdout).toBe("/bin it's $HOME\n");
  });

  it('a transfer that the connection breaks goes on where it was certain', async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'muster-ssh-'));
    const connection = connect();
    const path = join(scratch, 'f');
    const content = randomBytes(6_000_000);
    const size = content.length;
    const breaks = async function* () {
      for (let at = 0; at < size; at += 100_000) {
        if (at === 4_000_000) await sshd.restart();
        yield content.subarray(at, at + 100_000);
      }
    };
    await expect(connection.files.write(path, () => Readable.from(breaks()), { size })).rejects.toMatchObject({
      kind: 'CONNECTION_FAILURE',
    });
    let from = 0;
    const rest = (start: number): Readable => {
      from = start;
      return Readable.from([content.subarray(start)]);
    };
    expect(await connection.files.write(path, rest, { size })).toBe(size);
    expect(from).toBeGreaterThan(2_000_000);
    expect((await readFile(path)).equals(content)).toBe(true);
    await rm(scratch, { recursive: true, maxRetries: 5 });
  });

  it('a large file is read whole while others use the connection', async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'muster-ssh-'));
    const connection = connect();
    const content = randomBytes(20_000_000);
    await writeFile(join(scratch, 'f'), content);
    const read = async (): Promise<boolean> => {
      const pieces: Buffer[] = [];
      for await (const piece of await connection.files.read(join(scratch, 'f'))) pieces.push(piece);
      return Buffer.concat(pieces).equals(content);
    };
    expect(await Promise.all([read(), read(), echo(connection)])).toEqual([true, true, 'here\n']);
    const first = await connection.files.read(join(scratch, 'f'));
    for await (const piece of first) {
      expect(piece.length).toBeGreaterThan(0);
      break;
    }
    expect(await connection.files.stat(join(scratch, 'f'))).toMatchObject({ length: content.length });
    await rm(scratch, { recursive: true, maxRetries: 5 });
  });
});

describe('a disk that is full', () => {
  let sshd: Sshd;
  let disk: string;
  const exec = (file: string, ...args: string[]): Promise<unknown> =>
    new Promise((resolve, reject) => execFile(file, args, (error) => (error === null ? resolve(null) : reject(error))));
  beforeAll(async () => {
    sshd = await startSshd();
    disk = await mkdtemp(join(tmpdir(), 'muster-disk-'));
    await exec('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk);
  });
  afterAll(async () => {
    await exec('umount', disk);
    await rm(disk, { recursive: true });
    await sshd.remove();
  });

  it.each(['local', 'ssh'])('is told over %s, and leaves no half file', async (how) => {
    const { localConnection } = await import('../../src/systems/local/local.js');
    const over = sshConnection(sshd.system, async () => ({ privateKey: sshd.privateKey }), { clock: systemClock });
    const connection = how === 'ssh' ? over : localConnection({ name: 'hpc1', root: '/' }, systemClock);
    const directory = join(disk, how);
    await mkdir(directory);
    const big = randomBytes(3_000_000);
    const full = { name: 'SystemTrouble', kind: 'DISK_FULL', system: 'hpc1' };
    await expect(connection.files.write(join(directory, 'f'), () => Readable.from([big]), {})).rejects.toMatchObject(
      full,
    );
    await expect(stat(join(directory, 'f'))).rejects.toThrow('ENOENT');
    expect(await connection.files.list(directory, { limit: 10, offset: 0 })).toEqual([]);

    // A program is not started there, and is once there is space again.
    const { launchOf } = await import('./support/scheduler-conformance.js');
    const launch = await launchOf(directory, '#!/bin/sh\necho once >>count\n');
    await exec('sh', '-c', `cat /dev/zero >'${disk}/filler' || :`);
    const scheduler = new ForkScheduler('hpc1', connection, systemClock);
    await expect(scheduler.submit(launch)).rejects.toMatchObject(full);
    await rm(join(disk, 'filler'));
    const job = { ...launch, ...(await scheduler.submit(launch)) };
    await expect.poll(async () => (await scheduler.look(job)).state).toBe('ended');
    expect(await readFile(join(launch.workDirectory, 'count'), 'utf8')).toBe('once\n');
    over.close();
    await rm(directory, { recursive: true });
  });
});
