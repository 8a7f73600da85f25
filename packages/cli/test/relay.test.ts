import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RawClient, typesOf } from '../../fabric/test/support/raw-client.js';
import { RootFixture } from '../../fabric/test/support/root-fixture.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

const MUSTER = fileURLToPath(new URL('../bin/muster.js', import.meta.url));

let root: RootFixture;
let directory: string;
const processes: ChildProcess[] = [];
const clients: RawClient[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'muster-relay-'));
  root = await RootFixture.start();
  root.authority.set('default/relay', { relay: true });
});

afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await Promise.all(processes.splice(0).map((child) => ended(child, 'SIGKILL')));
  await root.end();
  rmSync(directory, { recursive: true, force: true });
});

interface Running {
  readonly child: ChildProcess;
  readonly lines: Record<string, unknown>[];
  /** A line of its log with that field. */
  line(field: string): Promise<Record<string, unknown>>;
  port(): Promise<number>;
}

function relay(...more: readonly string[]): Running {
  const args = ['relay', '--upstream', `stomp://127.0.0.1:${root.port}`, '--login', 'default/relay'];
  const child = spawn(process.execPath, [MUSTER, ...args, '--listen', '127.0.0.1:0', '--retry', '0.05s', ...more], {
    cwd: directory,
    env: { ...process.env, XDG_RUNTIME_DIR: directory, MUSTER_TOKEN: 'secret' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  processes.push(child);
  const lines: Record<string, unknown>[] = [];
  let rest = '';
  child.stdout?.on('data', (bytes: Buffer) => {
    const texts = `${rest}${bytes}`.split('\n');
    rest = texts.pop() ?? '';
    for (const text of texts) lines.push(JSON.parse(text));
    child.emit('line');
  });
  const line = async (field: string) => {
    for (;;) {
      const found = lines.find((each) => field in each);
      if (found !== undefined) return found;
      await once(child, 'line');
    }
  };
  return {
    child,
    lines,
    line,
    port: async () => Number(/:(\d+)$/.exec(String([(await line('listen')).listen].flat()[0]))?.[1]),
  };
}

async function client(port: number): Promise<RawClient> {
  const made = new RawClient(port);
  clients.push(made);
  await made.connect();
  return made;
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  child.kill(signal);
  await once(child, 'exit');
  return child.exitCode;
}

async function muster(...args: readonly string[]) {
  const world = testWorld({ env: { XDG_RUNTIME_DIR: directory }, cwd: directory });
  const code = await run(args, world);
  return { code, out: world.out(), err: world.err() };
}

describe('muster relay', () => {
  test('T-3: without --upstream it refuses to start, and says what a relay needs', async () => {
    const { code, err } = await muster('relay', '--login', 'default/relay', '--passcode', 'secret');
    expect(code).toBe(2);
    expect(err).toContain('a relay needs an upstream');
    expect(err).toContain('fix: Give --upstream stomp://HOST:PORT');
  });

  test.each([
    [['--passcode', 'x', '--key', 'y'], 'give one of --passcode, --passcode-file and --key'],
    [['--passcode-file', 'missing'], 'cannot read'],
    [['--passcode', 'x', '--listen', '0.0.0.0:0'], 'refusing to listen on 0.0.0.0:0 without TLS'],
    [['--passcode', 'x', '--tls-cert', '/dev/null'], '--tls-cert and --tls-key go together'],
    [['--passcode', 'x', '--tls-cert', '/dev/null', '--tls-key', '/dev/null'], '--tls-cert: /dev/null holds no PEM'],
    [['--passcode', 'x', '--workers', '0'], '--workers must be a whole number from 1 to 64'],
    [['--passcode', 'x', '--retry', 'soon'], "--retry: 'soon' is not a duration"],
    [['--passcode', 'x', '--retry', '0s'], "--retry: '0s' must be longer than nothing"],
    [['--passcode', 'x', '--max-queued', '8M'], '--max-queued: expected a size from 1B to 1GiB (such as 64KiB, 10MB'],
    [['--passcode', 'x', '--max-event', '2MiB'], '--max-event: expected a size from 1B to 1MiB'],
    [['--passcode', 'x', '--status', '0.0.0.0:1'], 'keep to this machine, or give --insecure'],
    [[], 'a relay logs in: give --login ORG/NAME, and --key FILE, --passcode-file FILE or MUSTER_TOKEN'],
  ])('%j is a mistake that is told', async (flags, message) => {
    const { code, err } = await muster(
      'relay',
      '--upstream',
      'stomp://127.0.0.1:1',
      '--login',
      'default/relay',
      ...flags,
    );
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test('a login that is refused at the start ends it with exit code 3', async () => {
    writeFileSync(join(directory, 'token'), 'wrong\n');
    const world = testWorld({ cwd: directory, env: { XDG_RUNTIME_DIR: directory } });
    const upstream = `stomp://127.0.0.1:${root.port}`;
    const flags = ['--login', 'default/relay', '--passcode-file', 'token', '--listen', '127.0.0.1:0'];
    expect(await run(['relay', '--upstream', upstream, ...flags, '--log-level', 'silent'], world)).toBe(3);
    expect(world.err()).toMatch(/does not take this relay: login refused/);
  });

  test('it serves clients until it is told to stop, and ends with exit code 0', async () => {
    const started = relay();
    const follower = await client(await started.port());
    await follower.subscribe('1');
    const publisher = await root.client();
    publisher.publish('a');
    expect(typesOf(await follower.messages(1))).toEqual(['a']);
    expect(await ended(started.child, 'SIGTERM')).toBe(0);
    expect((await follower.error()).headers).toContainEqual(['code', 'relay_stopping']);
  });

  test('R-1: killed, it leaves nothing behind that the next one needs', async () => {
    const first = relay();
    const port = await first.port();
    await ended(first.child, 'SIGKILL');
    expect(readdirSync(directory)).toEqual(['muster']);
    rmSync(join(directory, 'muster'), { recursive: true });
    const second = relay('--listen', `127.0.0.1:${port}`);
    await second.line('listen');
    await client(port);
  });

  test('--workers share one port, each with its own connection upstream; one that dies is replaced', async () => {
    const started = relay('--workers', '2');
    const port = await started.port();
    const relays = () => root.root.clients().filter((each) => each.relay);
    await expect.poll(() => relays().length).toBe(2);
    await expect.poll(() => started.lines.filter((line) => 'listen' in line).length).toBe(2);
    const followers = await Promise.all(Array.from({ length: 4 }, () => client(port)));
    for (const follower of followers) await follower.subscribe('1');
    followers[0]?.publish('a');
    for (const follower of followers) expect(typesOf(await follower.messages(1))).toEqual(['a']);
    const status = await muster('relay', 'status', '--json');
    expect(JSON.parse(status.out)).toMatchObject([{ workers: 2, clients: 4, upstream: { connects: 2 } }]);

    const [worker] = childrenOf(started.child.pid ?? 0);
    process.kill(worker ?? 0, 'SIGKILL');
    await expect.poll(() => started.lines.filter((line) => 'listen' in line).length).toBe(3);
    expect(relays()).toHaveLength(2);
    expect(await ended(started.child, 'SIGTERM')).toBe(0);
  });
});

describe('muster relay status', () => {
  test('shows every relay of this user on this machine (A-4), and forgets those that were killed', async () => {
    const [one, other] = [relay(), relay()];
    await Promise.all([one.port(), other.port()]);
    // Clients may be let in before status is served.
    const shown = async () => JSON.parse((await muster('relay', 'status', '--json')).out).length;
    await expect.poll(shown).toBe(2);
    const both = await muster('relay', 'status', '--json');
    expect(both.code).toBe(0);
    const addresses = JSON.parse(both.out).map((each: { listen: string[] }) => each.listen.join(' '));
    expect(addresses).toEqual([...addresses].sort());
    const pids = JSON.parse(both.out).map((each: { pid: number }) => each.pid);
    expect(pids.sort()).toEqual([one.child.pid, other.child.pid].sort());
    await ended(one.child, 'SIGKILL');
    const left = await muster('relay', 'status', '--json');
    expect(JSON.parse(left.out)).toMatchObject([{ pid: other.child.pid, upstream: { state: 'serving' } }]);
    expect(readdirSync(join(directory, 'muster'))).toEqual([`relay-${other.child.pid}.sock`]);
  });

  test('tells people what upstream does, and ends with exit code 1 while it is not there', async () => {
    const started = relay();
    const port = await started.port();
    await client(port);
    const serving = await muster('relay', 'status');
    expect(serving.code).toBe(0);
    expect(serving.out).toContain(`relay stomp://127.0.0.1:${port} (pid ${started.child.pid})`);
    expect(serving.out).toMatch(/upstream +stomp:\/\/127\.0\.0\.1:\d+ serving for \d+s, connected 1 time\n/);
    expect(serving.out).toMatch(/clients +1,/);
    root.authority.set('default/relay', { relay: false });
    root.authority.revoke({ org: 'default', principal: 'default/relay' });
    await expect.poll(async () => (await muster('relay', 'status')).code).toBe(1);
    const without = await muster('relay', 'status');
    expect(without.out).toContain('(takes no clients now)');
    expect(without.out).toMatch(/upstream +\S+ degraded for/);
  });

  test('reads a status served over HTTP, where metrics are, too', async () => {
    const started = relay('--status', '127.0.0.1:0');
    await started.port();
    const url = String((await started.line('status')).status);
    const status = await muster('relay', 'status', '--status', url, '--json');
    expect(JSON.parse(status.out)).toMatchObject([{ pid: started.child.pid }]);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('\nmuster_relay_upstream_state{state="serving"} 1\n');
    for (const line of metrics.trimEnd().split('\n')) {
      expect(line).toMatch(
        /^(# (HELP|TYPE) muster_relay_\w+ .+|muster_relay_\w+(\{\w+="[\w.]+"\})? -?\d+(\.\d+)?(e-?\d+)?)$/,
      );
    }
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/status`, { method: 'POST' })).status).toBe(405);
  });

  test('where no relay runs it ends with exit code 4', async () => {
    const { code, err } = await muster('relay', 'status');
    expect(code).toBe(4);
    expect(err).toContain('no relay of this user runs here');
  });

  test('a relay that cannot be reached ends it with exit code 5', async () => {
    const { code, err } = await muster('relay', 'status', '--status', '127.0.0.1:1');
    expect(code).toBe(5);
    expect(err).toContain('cannot ask the relay at 127.0.0.1:1: ');
    expect(err).toContain('as its --status');
  });
});

/** Linux only, as are the other tests of processes. */
function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}
