import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHelper, type ServerHttp2Stream } from 'node:http2';
import { connect as connectTo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { ManualClock, systemClock } from '@muster/base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentConnection, agentConnection } from '../../src/systems/agent/connection.js';
import { AGENT_LIMITS } from '../../src/systems/agent/protocol.js';
import { ForkScheduler } from '../../src/systems/schedulers/fork.js';
import { connectionConformance } from './support/connection-conformance.js';
import { HelperProcesses } from './support/helper-process.js';
import { schedulerConformance } from './support/scheduler-conformance.js';

const systemAt = (root: string) => ({ orgId: 'o', name: 'rack', node: 'web1', root });

connectionConformance('agent', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  const helpers = new HelperProcesses(scratch);
  const connection = agentConnection(systemAt(scratch), helpers, { clock: systemClock });
  return {
    scratch,
    doubtful: 0,
    connection,
    close: async () => {
      connection.close();
      await helpers.stop();
      await rm(scratch, { recursive: true });
    },
  };
});

schedulerConformance('fork on a node', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  const helpers = new HelperProcesses(scratch);
  const connections = [0, 1].map(() => agentConnection(systemAt(scratch), helpers, { clock: systemClock }));
  const [scheduler, other] = connections.map((one) => new ForkScheduler('rack', one, systemClock));
  if (scheduler === undefined || other === undefined) throw new Error('two were made');
  return {
    scratch,
    scheduler,
    other,
    patienceMs: 60_000,
    close: async () => {
      for (const one of connections) one.close();
      await helpers.stop();
      await rm(scratch, { recursive: true });
    },
  };
});

describe('a connection to a helper', () => {
  let scratch: string;
  let helpers: HelperProcesses;
  let connection: AgentConnection;
  const at = (...names: string[]): string => join(scratch, ...names);
  beforeEach(async () => {
    scratch = await realpath(await mkdtemp(join(tmpdir(), 'muster-agent-')));
    await mkdir(at('allowed'));
    helpers = new HelperProcesses(at('allowed'));
    connection = agentConnection(systemAt(at('allowed', 'root')), helpers, { clock: systemClock });
  });
  afterEach(async () => {
    connection.close();
    await helpers.stop();
    await rm(scratch, { recursive: true });
  });
  const from = (text: string) => () => Readable.from([Buffer.from(text)]);
  const lost = { name: 'SystemTrouble', kind: 'CONNECTION_FAILURE' };

  it('is made when it is needed, and again when its helper is gone', async () => {
    expect(connection.resting).toBe(true);
    const running = expect(connection.exec(['sleep', '1000'])).rejects.toMatchObject(lost);
    await expect.poll(() => helpers.children.length).toBe(1);
    expect((await connection.exec(['echo', 'first'])).stdout).toBe('first\n');
    helpers.last.kill('SIGKILL');
    await running;
    await expect.poll(async () => (await connection.exec(['echo', 'second'])).stdout).toBe('second\n');
    expect(helpers.children).toHaveLength(2);
  });

  it('that ends takes with it what was asked, and its helper', async () => {
    const asked = expect(connection.exec(['sh', '-c', 'echo $$ >&2; exec sleep 1000'])).rejects.toMatchObject(lost);
    await connection.exec(['true']);
    const exit = once(helpers.last, 'exit');
    connection.close();
    await asked;
    expect(await exit).toEqual([0, null]);
    await expect(connection.exec(['true'])).rejects.toMatchObject(lost);
  });

  it('does not take a file that broke off for a whole one', async () => {
    await connection.files.makeDirectory(at('allowed', 'root'));
    await writeFile(at('allowed', 'root', 'f'), randomBytes(20_000_000));
    const read = async (): Promise<number> => {
      let bytes = 0;
      for await (const piece of await connection.files.read(at('allowed', 'root', 'f'))) {
        bytes += piece.length;
        helpers.last.kill('SIGKILL');
      }
      return bytes;
    };
    await expect(read()).rejects.toMatchObject(lost);
  });

  it('is closed when nobody used it for a while', async () => {
    const clock = new ManualClock();
    const idle = agentConnection(systemAt(at('allowed')), helpers, { clock, idleMs: 5000 });
    await idle.exec(['true']);
    const exit = once(helpers.last, 'exit');
    await expect
      .poll(() => {
        clock.advance(5000);
        return idle.resting;
      })
      .toBe(true);
    expect(await exit).toEqual([0, null]);
  });

  it('tells what changes in a directory, also after it broke', async () => {
    const clock = new ManualClock();
    const watched = agentConnection(systemAt(at('allowed')), helpers, { clock });
    let changes = 0;
    const stop = watched.watch?.(at('allowed'), () => {
      changes += 1;
    });
    const tells = async (): Promise<void> => {
      const before = changes;
      await expect
        .poll(async () => {
          await writeFile(at('allowed', 'f'), '');
          return changes;
        })
        .toBeGreaterThan(before);
    };
    await tells();
    helpers.last.kill('SIGKILL');
    await expect
      .poll(() => {
        clock.advance(AGENT_LIMITS.watchAgainMs);
        return helpers.children.length;
      })
      .toBe(2);
    await tells();
    stop?.();
    watched.close();
  });

  it('leads nowhere but below what the owner of the node allows, wherever the root leads', async () => {
    await mkdir(at('outside'));
    await writeFile(at('outside', 'secret'), 'secret');
    const root = at('allowed', 'root');
    // The root is made when it is not there.
    await connection.files.makeDirectory(join(root, 'a', 'b'));
    await connection.files.write(join(root, 'a', 'f'), from('1'), {});
    await rename(root, at('allowed', 'moved'));
    await symlink(at('outside'), root);
    const refused = {
      problem: 'INVALID_PATH',
      message: expect.stringContaining('leads out of the root of system rack'),
    };
    await expect(connection.files.read(join(root, 'secret'))).rejects.toMatchObject(refused);
    await expect(connection.files.list(root, { limit: 9, offset: 0 })).rejects.toMatchObject(refused);
    await expect(connection.files.write(join(root, 'f'), from('1'), {})).rejects.toMatchObject(refused);
    await expect(connection.files.makeDirectory(join(root, 'd'))).rejects.toMatchObject(refused);
    await expect(connection.files.remove(join(root, 'secret'))).rejects.toMatchObject(refused);
    await expect(connection.files.remove(root)).rejects.toMatchObject(refused);
    await expect(connection.files.makeDirectory(at('made'))).rejects.toMatchObject(refused);
    expect(await readdir(at('outside'))).toEqual(['secret']);
    await rm(root);
    await symlink(at('allowed', 'moved'), root);
    expect(await (await connection.files.read(join(root, 'a', 'f'))).toArray()).toEqual([Buffer.from('1')]);
  });

  it.each([
    ['that is no HTTP/2', (): Buffer => randomBytes(100_000)],
    ['that says nothing', (): Buffer => Buffer.alloc(0)],
  ])('to something %s is none', async (_, says) => {
    const clock = new ManualClock();
    const other = new PassThrough();
    const odd = agentConnection(systemAt(scratch), { open: async () => other }, { clock });
    const asked = expect(odd.exec(['true'])).rejects.toMatchObject(lost);
    other.push(says());
    await expect
      .poll(() => {
        clock.advance(20_000);
        return other.destroyed;
      })
      .toBe(true);
    await asked;
  });

  it('ends its helper when frames are rubbish, or come in floods', async () => {
    // A frame of SETTINGS that is empty: each of them is answered.
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings]);
    const flood = Buffer.concat(Array.from({ length: 200_000 }, () => settings));
    for (const bytes of [
      randomBytes(1000),
      Buffer.concat([preface, randomBytes(1000)]),
      Buffer.concat([preface, flood]),
    ]) {
      const raw = helpers.connection('rack', at('allowed'));
      raw.on('error', () => undefined);
      raw.write(bytes);
      expect(await once(helpers.last, 'exit')).toEqual([0, null]);
    }
  });
});

describe('a helper that answers what is not understood', () => {
  async function answering(answer: (stream: ServerHttp2Stream) => void): Promise<AgentConnection> {
    const server = createServer((socket) => helper.emit('connection', socket));
    const helper = createHelper().on('stream', (stream) => {
      stream.on('error', () => undefined);
      answer(stream);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const open = async () => connectTo(port, '127.0.0.1').once('close', () => server.close());
    return agentConnection(systemAt('/root'), { open }, { clock: systemClock });
  }
  const says =
    (text: string, status = 200) =>
    (stream: ServerHttp2Stream): void => {
      stream.respond({ ':status': status });
      stream.end(text);
    };

  it.each([
    ['no JSON', says('{')],
    ['of another form', says('{"code":"0"}')],
    ['more than fits', says('x'.repeat(AGENT_LIMITS.answer + 1))],
    ['an error without a name', says('{"error":{}}', 500)],
    ['a kind that is not its to tell', says('{"error":{"name":"SystemTrouble","kind":"HOST_KEY_CHANGED"}}', 500)],
  ])('%s: a trouble that says so', async (_, answer) => {
    const connection = await answering(answer);
    const trouble = { name: 'SystemTrouble', kind: 'TRANSMISSION_FAILURE' };
    await expect(connection.exec(['true'])).rejects.toMatchObject(trouble);
    await expect(connection.files.stat('/root')).rejects.toMatchObject(trouble);
    await expect(connection.files.list('/root', { limit: 1, offset: 0 })).rejects.toMatchObject(trouble);
    const written = connection.files.write('/root/f', () => Readable.from([]), {});
    await expect(written).rejects.toMatchObject({ ...trouble, kind: expect.stringMatching(/_FAILURE$/) });
    connection.close();
  });

  it('more entries than were asked for are refused', async () => {
    const entry = { path: 'a', name: 'a', type: 'file', length: 1, modified: 1, mode: 0o600 };
    const connection = await answering(says(JSON.stringify([entry, entry])));
    const asked = connection.files.list('/root', { limit: 1, offset: 0 });
    await expect(asked).rejects.toMatchObject({ kind: 'TRANSMISSION_FAILURE' });
    connection.close();
  });

  it('an answer that ends before it begins is a connection that was lost', async () => {
    const connection = await answering(says(''));
    await expect(connection.exec(['true'])).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
    connection.close();
  });

  it('a stream that it resets is a connection that was lost', async () => {
    const connection = await answering((stream) => stream.close(2));
    await expect(connection.exec(['true'])).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
    await expect(connection.files.read('/root/f')).rejects.toMatchObject({ kind: 'CONNECTION_FAILURE' });
    connection.close();
  });
});
