import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { curveKeyPair } from 'zeromq';
import { run } from '../../platform/test/support/processes.js';
import type { Persona } from '../../platform/test/support/signed-client.js';
import { type Sshd, startSshd } from '../../platform/test/support/sshd.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Nodes without an agent, through the whole server and a real sshd. */

const ORG = '/organizations/default';
const POLICY = {
  commands: {
    true: 'true',
    where: 'pwd',
    '/say (.*)/': ['echo', '$1'],
    mixed: { shell: 'echo "out $COLOUR"; echo err >&2; exit 3', allow_env: ['COLOUR'] },
    '/stubborn (\\d+)/': { shell: 'trap "" TERM; sleep "$1" & sleep "$1"; sleep "$1"' },
    '/long (\\d+)/': ['sleep', '$1'],
    '/daemon (\\d+)/': { shell: 'sleep "$1" & exit 0' },
    flood: { shell: 'head -c 40000000 /dev/zero' },
  },
  grace: 0.5,
};
let sshd: Sshd;
let server: TestServer;

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into as they are
  readonly body: any;
}

async function call(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await server.api.call(method, `${ORG}${path}`, body === undefined ? {} : { body });
  return { status: answer.status, body: answer.body };
}

async function until<T>(
  what: string,
  look: () => Promise<T | null | undefined | false>,
  withinMs = 20_000,
): Promise<T> {
  for (const end = Date.now() + withinMs; ; ) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function add(name: string, more: object = {}): Promise<Answer> {
  const { host, port, user, hostKey } = sshd.system;
  return call('POST', '/ssh-nodes', {
    name,
    host,
    port,
    user,
    host_key: hostKey,
    key_secret: 'ssh_key',
    policy: POLICY,
    ...more,
  });
}

const available = (name: string) =>
  until(`${name} is available`, async () => (await call('GET', `/nodes/${name}`)).body.availability === 'available');

async function start(command: string, nodes: readonly string[], more: object = {}) {
  const started = await call('POST', '/pushy/jobs', { command, nodes, capture_output: true, ...more });
  expect(started).toMatchObject({ status: 201 });
  return started.body.id as string;
}

const ended = (id: string) =>
  until(`job ${id} has ended`, async () => {
    const { body } = await call('GET', `/pushy/jobs/${id}`);
    return ['voting', 'running', 'new'].includes(body.status) ? null : body;
  });

function stranger(): Promise<{ publicKey: string; privateKey: string }> {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  return Promise.resolve(pair);
}

beforeAll(async () => {
  sshd = await startSshd();
  server = await startTestServer({ flags: { 'heartbeat-interval': '1', 'ssh-nodes-interval': '1' } });
  expect(await call('PUT', '/secrets/ssh_key', { value: sshd.privateKey })).toMatchObject({ status: 200 });
});
afterAll(async () => {
  await server?.stop();
  await sshd?.remove();
});

const lines = async (id: string, node: string, stream = 'stdout') =>
  (await server.api.get(`${ORG}/pushy/jobs/${id}/output/${node}/${stream}`)).text;

/** All that is told of the one node of a job. */
const how = async (id: string) => JSON.stringify((await call('GET', `/pushy/jobs/${id}/nodes`)).body);

const reached = async (name: string) => (await call('GET', `/ssh-nodes/${name}`)).body.reached;

/** Tries it now instead of waiting for the next look. */
const test_ = (name: string) => call('POST', `/ssh-nodes/${name}/test`, {});

/** Seconds that none but the sleep of this number in this run has: what an earlier run has left behind is another one. */
const forAges = (number: number): number => 10_000_000 * number + process.pid;

async function processesWith(text: string): Promise<number> {
  const { stdout } = await run('ps', ['-eo', 'args']);
  return stdout.split('\n').filter((line) => line.includes(text) && !line.includes('muster-run')).length;
}

describe('a node without an agent', () => {
  beforeAll(async () => {
    expect(await add('box')).toMatchObject({ status: 201, body: { reached: 'unknown', via: 'ssh' } });
    await available('box');
  });
  beforeEach(async () => {
    await available('box');
  });

  test('runs what is allowed there, as any node', async () => {
    const id = await start('say hello  "there" $(id)', ['box']);
    expect(await ended(id)).toMatchObject({ status: 'complete', nodes: { succeeded: ['box'] } });
    expect(await lines(id, 'box')).toBe('hello  "there" $(id)\n');
  });

  test('tells exit status, signal and both streams, and gives variables', async () => {
    const id = await start('mixed', ['box'], { env: { COLOUR: 'a b; $(id)' } });
    expect(await ended(id)).toMatchObject({ status: 'complete', nodes: { failed: ['box'] } });
    expect(await lines(id, 'box')).toBe('out a b; $(id)\n');
    expect(await lines(id, 'box', 'stderr')).toBe('err\n');
    expect(await how(id)).toContain('exit status 3');
  });

  test.each([
    ['not listed', {}, 'the command is not allowed on this node'],
    ['sleep 1', {}, "'sleep 1' is done by agents, and this node has none"],
    ['true', { dir: '/no/such' }, "directory '/no/such' does not exist or may not be entered"],
    ['true', { dir: 'tmp' }, "directory 'tmp' is not an absolute path, which a node without an agent needs"],
    ['true', { user: 'nobody' }, 'as the user that logs in there'],
    ['true', { user: 'nobody' }, '--user, another user, cannot be asked of a node without an agent'],
    [
      'true',
      { file: 'raw:x' },
      '--file, a file that comes with the command, cannot be asked of a node without an agent',
    ],
    ['true', { env: { LD_PRELOAD: 'x' } }, 'LD_PRELOAD'],
    [
      'true',
      { env: { OTHER: 'x' } },
      'allow_env in the policy that the server has of this node (muster ssh-node set box --policy FILE)',
    ],
  ])('refuses %s with %o', async (command, more, reason) => {
    const id = await start(command, ['box'], more);
    expect(await ended(id)).toMatchObject({ status: 'quorum_failed', nodes: { nacked: ['box'] } });
    expect(await how(id)).toContain(reason);
  });

  test('runs in the directory that the job says, which only its host has to have', async () => {
    const id = await start('where', ['box'], { dir: '/usr/share' });
    expect(await ended(id)).toMatchObject({ status: 'complete', nodes: { succeeded: ['box'] } });
    expect(await lines(id, 'box')).toBe('/usr/share\n');
  });

  test('is cancelled with all that it started, also what takes no TERM', async () => {
    const id = await start(`stubborn ${forAges(1)}`, ['box']);
    await until('it runs', async () => (await processesWith(`sleep ${forAges(1)}`)) >= 2);
    expect(await call('PUT', `/pushy/jobs/${id}/abort`)).toMatchObject({ status: 200 });
    expect(await ended(id)).toMatchObject({ status: 'aborted' });
    await available('box');
    expect(await processesWith(`sleep ${forAges(1)}`)).toBe(0);
  });

  test('ends what takes too long', async () => {
    const id = await start(`long ${forAges(2)}`, ['box'], { run_timeout: 1 });
    expect(await ended(id)).toMatchObject({ nodes: { timed_out: ['box'] } });
    await available('box');
    expect(await processesWith(`sleep ${forAges(2)}`)).toBe(0);
  });

  test('writes a flood, of which the limit is kept', async () => {
    const id = await start('flood', ['box']);
    expect(await ended(id)).toMatchObject({ status: 'complete', nodes: { succeeded: ['box'] } });
    expect(await how(id)).toContain('40000000');
  });

  test('whose command outlives it with the output open has ended all the same', async () => {
    const id = await start(`daemon ${forAges(3)}`, ['box']);
    expect(await ended(id)).toMatchObject({ status: 'complete', nodes: { succeeded: ['box'] } });
    expect(await processesWith(`sleep ${forAges(3)}`)).toBe(1);
    await run('pkill', ['-f', `sleep ${forAges(3)}`]);
  });

  test('whose connection breaks while a command runs tells that, and leaves nothing running', async () => {
    const id = await start(`long ${forAges(4)}`, ['box']);
    await until('it runs', async () => (await processesWith(`sleep ${forAges(4)}`)) >= 1);
    await sshd.restart();
    const job = await ended(id);
    expect(job.nodes).toEqual({ failed: ['box'] });
    expect(await how(id)).toContain(
      'the connection to the host was lost while it ran; what still ran of it was killed',
    );
    await available('box');
    expect(await processesWith(`sleep ${forAges(4)}`)).toBe(0);
  });

  test('whose server is started again tells that its command is lost, and leaves nothing running', async () => {
    const id = await start(`long ${forAges(5)}`, ['box']);
    await until('it runs', async () => (await processesWith(`sleep ${forAges(5)}`)) >= 1);
    await server.restart();
    expect((await ended(id)).nodes.succeeded).toBeUndefined();
    await available('box');
    expect(await processesWith(`sleep ${forAges(5)}`)).toBe(0);
  });

  test('goes on with its command, and takes the next, when the key of the server is replaced at once', async () => {
    const id = await start('long 5', ['box']);
    await until('it runs', async () => (await call('GET', `/pushy/jobs/${id}`)).body.nodes.running);
    const replaced = await server.api.call('POST', '/server-key/rotation', { body: { revoke: true } });
    expect(replaced).toMatchObject({ status: 200 });
    expect(await ended(id)).toMatchObject({ status: 'complete', nodes: { succeeded: ['box'] } });
    await available('box');
    expect(await ended(await start('true', ['box']))).toMatchObject({ nodes: { succeeded: ['box'] } });
  });

  test('whose host shows another key is refused until that is pinned', async () => {
    const before = await sshd.hostKey('ed25519');
    await sshd.restart({ newKeys: true });
    const host_key = await sshd.hostKey('ed25519');
    const pin = () => call('PATCH', '/ssh-nodes/box', { host_key });
    onTestFinished(async () => void (await pin()));
    sshd = { ...sshd, system: { ...sshd.system, hostKey: host_key } };
    const { steps } = (await test_('box')).body;
    expect(steps).toMatchObject([
      { step: 'answers', ok: true },
      { step: 'host key', ok: false },
    ]);
    expect(steps[1].text).toContain('showed the key');
    const shown = (await call('GET', '/ssh-nodes/box')).body;
    expect(shown).toMatchObject({ reached: 'unreachable', host_key: `SHA256:${before}` });
    expect(shown.trouble).toContain('muster ssh-node set box --host-key');
    expect((await call('GET', '/nodes/box')).body.status).toBe('down');
    const why = await call('GET', '/nodes/box/why');
    expect(why.body.explanation).toMatch(/showed the key SHA256:.*not the one that is expected/);
    const id = await start('true', ['box']);
    expect(await ended(id)).toMatchObject({ status: 'quorum_failed', nodes: { unavailable: ['box'] } });
    expect(await how(id)).toMatch(/down: the host of node box showed the key SHA256:/);
    // What was wrong before is not told of the key that is right.
    expect(await pin()).toMatchObject({ status: 200, body: { reached: 'unknown', trouble: null } });
    await available('box');
    expect((await test_('box')).body.steps[1]).toEqual({
      step: 'host key',
      ok: true,
      text: `the host shows the one that is pinned: SHA256:${host_key}`,
    });
  });

  test.each([
    ['shows another key', 'showed the key', { newKeys: true }],
    ['takes the login away', 'refused the login', { lines: [`DenyUsers ${userInfo().username}`] }],
  ])('whose host %s is down though nobody asks', async (_, told, how) => {
    await sshd.restart(how);
    onTestFinished(async () => {
      await sshd.restart();
      const host_key = await sshd.hostKey('ed25519');
      sshd = { ...sshd, system: { ...sshd.system, hostKey: host_key } };
      await call('PATCH', '/ssh-nodes/box', { host_key });
    });
    await until('it is down for that', async () => {
      const { body } = await call('GET', '/nodes/box');
      return body.status === 'down' && body.reason.includes(told);
    });
    expect((await call('GET', '/ssh-nodes/box')).body.trouble).toContain(told);
  });

  test('whose test fails is down when that is told, and up again after one that does not', async () => {
    await sshd.stop();
    onTestFinished(() => sshd.restart());
    expect((await test_('box')).body).toMatchObject({ ok: false });
    expect((await call('GET', '/nodes/box')).body).toMatchObject({
      status: 'down',
      reason: expect.stringContaining('ECONNREFUSED'),
    });
    await sshd.restart();
    expect((await test_('box')).body).toMatchObject({ ok: true });
    await available('box');
  });

  test('without a pinned key shows which one its host has, and trusts it not', async () => {
    expect(await add('unpinned', { host_key: null })).toMatchObject({ status: 201 });
    const tested = (await test_('unpinned')).body;
    expect(tested.steps.at(-1)).toMatchObject({ step: 'host key', ok: false });
    expect(tested.steps.at(-1).text).toContain('SHA256:');
    expect(await reached('unpinned')).toBe('unreachable');
    expect((await call('GET', '/ssh-nodes/unpinned')).body).toMatchObject({ host_key: null });
    expect(await call('DELETE', '/ssh-nodes/unpinned')).toMatchObject({ status: 204 });
  });

  test('whose login is refused says so', async () => {
    const { privateKey } = await stranger();
    await call('PUT', '/secrets/wrong_key', { value: privateKey });
    expect(await add('wrong', { key_secret: 'wrong_key' })).toMatchObject({ status: 201 });
    expect((await test_('wrong')).body.steps.at(-1)).toMatchObject({ step: 'login', ok: false });
    expect(await reached('wrong')).toBe('unreachable');
    const explained = (await call('GET', '/nodes/wrong/why')).body.explanation;
    expect(explained).toContain('refused the login');
    // Whatever tells of nodes tells the same cause as what tells of their hosts.
    const told = (await call('GET', '/pushy/node_states/wrong')).body;
    expect(told).toMatchObject({ status: 'down', reason: expect.stringContaining('refused the login') });
    expect((await call('GET', '/nodes/wrong')).body.reason).toBe(told.reason);
    expect(await call('DELETE', '/nodes/wrong')).toMatchObject({ status: 204 });
    expect(await call('GET', '/ssh-nodes/wrong')).toMatchObject({ status: 404 });
  });

  test('that nobody answers for, or that hangs, is down', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    expect(await add('silent', { port })).toMatchObject({ status: 201 });
    expect((await test_('silent')).body.steps).toMatchObject([{ step: 'answers', ok: false }]);
    expect(await reached('silent')).toBe('unreachable');
    const told = async () => (await call('GET', '/pushy/commands?q=name:silent')).body;
    expect(await told()).toMatchObject({ nodes: 1, told: 1, any: 0 });
    expect((await told()).commands).toContainEqual({ name: 'where', pattern: null, nodes: 1 });
    await call('PATCH', '/ssh-nodes/silent', { policy: { allow_any: true } });
    expect(await told()).toMatchObject({ commands: [], told: 1, any: 1 });
    await call('PATCH', '/ssh-nodes/silent', { policy: { ...POLICY, tell_commands: false } });
    expect(await told()).toMatchObject({ commands: [], told: 0 });
    expect((await call('GET', '/nodes/silent/why')).body.explanation).toContain('did not answer in time');
    silent.close();
    expect(await call('DELETE', '/ssh-nodes/silent')).toMatchObject({ status: 204 });
  });

  test('that stops answering goes down, and comes up again by itself', async () => {
    process.kill(sshd.pid(), 'SIGSTOP');
    await call('PATCH', '/ssh-nodes/box', { policy: POLICY });
    await until('it is down', async () => (await call('GET', '/nodes/box')).body.status === 'down', 60_000);
    process.kill(sshd.pid(), 'SIGCONT');
    await available('box');
  });
});

describe('adding one', () => {
  test.each([
    [{ key_secret: null }, 'key_secret'],
    [{ host_key: 'SHA256:short' }, 'host_key'],
    [{ key_secret: 'unknown_secret' }, 'unknown_secret'],
    [{ policy: { commands: { x: '' } } }, 'commands'],
    [{ policy: { commands: { x: { command_line: 'x', lock: true } } } }, 'lock needs an agent'],
    [{ policy: { commands: { '/(/': 'x' } } }, 'commands./(/'],
    [{ policy: { commands: { x: true } } }, 'invalid policy: commands.x: expected a command line, a list of a program'],
    [{ policy: { command: {} } }, 'invalid policy.command: there is no such field; there are commands, allow_any'],
    [{ host: '-oProxyCommand=x' }, 'host'],
  ])('refuses %o', async (more, named) => {
    const { status, body } = await add('never', more);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(JSON.stringify(body)).toContain(named);
  });

  describe('with a key', () => {
    const directory = mkdtempSync(join(tmpdir(), 'muster-keys-'));
    afterAll(() => rmSync(directory, { recursive: true }));
    const made = (name: string, passphrase: string) => {
      const file = join(directory, name);
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-f', file]);
      return { key: readFileSync(file, 'utf8'), publicKey: readFileSync(`${file}.pub`, 'utf8') };
    };
    const open = made('open', '');
    const locked = made('locked', 'open-sesame');
    const keep = async (name: string, value: string) => expect(await call('PUT', `/secrets/${name}`, { value }));

    test.each([
      ['a public key', open.publicKey, 'is a public key: give the private one'],
      ['something else', 'is it a key?', 'is no private key that can be read'],
      ['one that needs a passphrase', locked.key, 'is closed with a passphrase: give the passphrase'],
    ])('that is %s is refused, and what to give instead is said', async (_, value, told) => {
      (await keep('given_key', value)).toMatchObject({ status: 200 });
      const { status, body } = await add('never', { key_secret: 'given_key' });
      expect(status).toBe(400);
      expect(body.error).toContain('invalid key_secret');
      expect(body.error).toContain(told);
    });

    test('that needs a passphrase is taken with that one, and with no other', async () => {
      await keep('locked_key', locked.key);
      await keep('passphrase', 'open-barley');
      const secrets = { key_secret: 'locked_key', password_secret: 'passphrase' };
      expect(JSON.stringify((await add('never', secrets)).body)).toContain('another passphrase');
      await keep('passphrase', 'open-sesame');
      expect(await add('locked', secrets)).toMatchObject({ status: 201 });
      expect(await call('DELETE', '/ssh-nodes/locked')).toMatchObject({ status: 204 });
    });

    test('that is used stays a key', async () => {
      await keep('box_key', open.key);
      expect(await add('keyed', { key_secret: 'box_key' })).toMatchObject({ status: 201 });
      const replaced = await call('PUT', '/secrets/box_key', { value: open.publicKey });
      expect(replaced).toMatchObject({ status: 400 });
      expect(JSON.stringify(replaced.body)).toContain('logs in with it on keyed, and it is a public key');
      expect(await call('DELETE', '/ssh-nodes/keyed')).toMatchObject({ status: 204 });
    });
  });

  test('keeps the secret with which the server logs in there', async () => {
    await call('PUT', '/secrets/box_key', { value: sshd.privateKey });
    expect(await add('keyed', { key_secret: 'box_key' })).toMatchObject({ status: 201 });
    const removed = await call('DELETE', '/secrets/box_key');
    expect(removed).toMatchObject({ status: 409 });
    expect(JSON.stringify(removed.body)).toContain('muster ssh-node set keyed --key-secret SECRET');
    expect(await call('DELETE', '/ssh-nodes/keyed')).toMatchObject({ status: 204 });
    expect(await call('DELETE', '/secrets/box_key')).toMatchObject({ status: 204 });
  });

  test('as it is already changes nothing, and is not audited', async () => {
    const before = (await call('GET', '/ssh-nodes/box')).body;
    const audited = async () => (await call('GET', '/audit?action=ssh_node.change')).body.length;
    const changes = await audited();
    expect(await call('PATCH', '/ssh-nodes/box', { host_key: before.host_key })).toMatchObject({
      status: 200,
      body: { changed_at: before.changed_at },
    });
    expect(await audited()).toBe(changes);
  });

  test('takes no name that a node has, and no agent takes its name', async () => {
    expect(await add('box')).toMatchObject({ status: 409 });
    const token = (await call('POST', '/tokens', {})).body.token;
    const { publicKey } = await stranger();
    const enrolled = await call('POST', '/enroll', { token, name: 'box', public_key: publicKey });
    expect(enrolled.status).toBeGreaterThanOrEqual(400);
  });

  test('an agent that was given a key of it by hand gets no configuration', async () => {
    const { publicKey, privateKey } = await stranger();
    expect(await call('POST', '/nodes/box/keys', { public_key: publicKey })).toMatchObject({ status: 201 });
    const ccpk = encodeURIComponent(curveKeyPair().publicKey);
    const asked = await server.api
      .as({ name: 'box', privateKey })
      .get(`${ORG}/pushy/config/box?ccpk=${ccpk}&version=3.0`);
    expect(asked.status).toBe(409);
    expect(asked.text).toContain('has no agent');
  });

  test('is for admins, and audited', async () => {
    const { reader } = (await server.personas()) as unknown as Record<string, Persona>;
    if (reader !== undefined) {
      const asked = await server.api.as(reader).post(`${ORG}/ssh-nodes`, {});
      expect(asked.status).toBeGreaterThanOrEqual(400);
    }
    const audit = await call('GET', '/audit?action=ssh_node.create');
    const { host, port, user } = sshd.system;
    expect(audit.body[0].detail).toMatchObject({ address: `${user}@${host}:${port}` });
  });
});
