import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../packages/platform/test/support/tls.js';
import { Cluster } from './support/cluster.js';
import { freePorts } from './support/ports.js';
import { MARKER, StartedProcess } from './support/started-process.js';
import { until } from './support/until.js';

/**
 * A client of Disbatch, as its command line sends and reads (sheet §5), against a server and an agent that runs the Demo plugin:
 * each command, in both dialects, and of sheet §9.1 the rows for which tasks have to run.
 */

// Needs Debian's libwww-perl; where it is missing, `npm test` leaves this file out and says so.
const CLIENT = fileURLToPath(new URL('./support/peers/disbatch-client.pl', import.meta.url));
const PERL_PLUGINS = fileURLToPath(new URL('../examples/plugins/perl/lib', import.meta.url));
const PLUGIN = 'Disbatch::Plugin::Demo';

describe.each(['4.0', '4.4'] as const)('dialect %s', (dialect) => {
  let cluster: Cluster;
  let url: string;

  beforeAll(async () => {
    const [port] = await freePorts(1);
    url = `http://127.0.0.1:${port}`;
    const flags = ['--disbatch', `127.0.0.1:${port}`, '--disbatch-dialect', dialect];
    cluster = await Cluster.start({ flags });
    // Runs until the test opens the gate.
    const gate = { program: '/bin/sh', args: ['-c', 'while [ ! -e "$0" ]; do sleep 0.05; done', gateFile()] };
    const tasks = { max: 4, plugins: { [PLUGIN]: { perl: PLUGIN, lib: [PERL_PLUGINS] }, gate } };
    await cluster.startAgents({ 'mig01.example.com': { tasks } });
    await until('the plugins to be offered', async () => (await json('/plugins')).length === 2);
  });
  afterAll(() => cluster?.stop());

  const gateFile = () => join(cluster.dir, 'gate');

  interface Ran {
    readonly exit: number | null;
    readonly out: string;
    readonly err: string;
  }

  async function client(...args: readonly string[]): Promise<Ran> {
    const env = { PATH: process.env.PATH, [MARKER]: cluster.marker };
    const words = [CLIENT, '--url', url, '--dialect', dialect, ...args];
    const run = new StartedProcess(`disbatch ${args.join(' ')}`, '/usr/bin/perl', words, { cwd: cluster.dir, env });
    run.closeInput();
    const { code } = await run.exited;
    return { exit: code, out: run.stdout, err: run.stderr };
  }

  async function done(...args: readonly string[]): Promise<string> {
    const { exit, out, err } = await client(...args);
    expect([exit, err], args.join(' ')).toEqual([0, '']);
    return out;
  }

  async function refused(...args: readonly string[]): Promise<string> {
    const { exit, err } = await client(...args);
    expect(exit, args.join(' ')).not.toBe(0);
    return err;
  }

  // biome-ignore lint/suspicious/noExplicitAny: documents of another system
  const json = async (path: string): Promise<any> => (await fetch(url + path)).json();
  const oid = (id: string) => (dialect === '4.0' ? JSON.stringify({ $oid: id }) : JSON.stringify(id));

  /** Waits by what is cheaper to ask for than by a client that is started for each look. */
  const shown = (queue: string, counts: object) => expect.poll(() => json(`/queues/${queue}`)).toMatchObject(counts);

  /** Tasks of a queue with a status, as the command of each dialect counts them. */
  const counted = (queue: string, status: number): Promise<string> =>
    done('--count', dialect === '4.0' ? 'search' : 'tasks', `{"queue":${oid(queue)},"status":${status}}`);

  test('every command of queues', async () => {
    expect(await done('queues')).toBe('\n0 total queues.\n');
    const made = await done('create-queue', 'fizz', PLUGIN);
    const [, id = ''] = /^Created queue fizz: ([0-9a-f]{24})\n$/.exec(made) ?? [];
    expect(id).not.toBe('');
    expect(await done('status')).toBe(`${id} | ${PLUGIN} | fizz |  | 0 | 0 | 0\n\n1 total queues.\n`);
    expect(await done('update-queue', id, 'threads', '0')).toBe(`Updated queue ${id}: {"threads":"0"}\n`);
    expect(await done('update-queue', 'fizz', 'threads', '0')).toBe('No change to queue fizz: {"threads":"0"}\n');
    expect(await done('update-queue', 'fizz', 'name', 'buzz')).toBe('Updated queue fizz: {"name":"buzz"}\n');
    expect(await done('delete-queue', 'buzz')).toBe('Deleted queue buzz\n');
  });

  test('a user and an access token log in from elsewhere', async () => {
    const asked = await client('--proxied', 'queues');
    expect(asked.err).toMatch(/^Error getting \S+ \(401 Unauthorized\): \{"error":/);
    const { token } = await cluster.json<{ token: string }>('access-token', 'create', '--user', 'admin');
    const login = ['--proxied', '--username', 'admin', '--password', token];
    expect(await done(...login, 'plugins')).toBe(`${PLUGIN}\ngate\n`);
    expect(await done(...login, 'create-queue', 'mine', PLUGIN)).toMatch(/^Created queue mine/);
    expect(await done(...login, 'delete-queue', 'mine')).toBe('Deleted queue mine\n');
    expect(await refused('--proxied', '--username', 'admin', '--password', 'nonsense', 'queues')).toContain('401');
  });

  test('the same login below an organization, also from this host', async () => {
    const there = ['--url', `${cluster.url}/organizations/default/disbatch`];
    expect((await client(...there, 'queues')).err).toMatch(/^Error getting \S+ \(401 Unauthorized\)/);
    const { token } = await cluster.json<{ token: string }>('access-token', 'create', '--user', 'admin');
    const login = [...there, '--username', 'admin', '--password', token];
    expect(await done(...login, 'plugins')).toBe(`${PLUGIN}\ngate\n`);
    expect(await done(...login, 'create-queue', 'ours', PLUGIN)).toMatch(/^Created queue ours/);
    expect(await done(...login, 'delete-queue', 'ours')).toBe('Deleted queue ours\n');
  });

  test('what is refused, in the words of the original', async () => {
    await done('create-queue', 'errors', PLUGIN);
    const told = (method: string, path: string, body: string) =>
      `Error ${method} ${url}${path} (400 Bad Request): ${body}\n`;
    const unknown = '{"error":"Unknown plugin","plugin":"X"}';
    expect(await refused('create-queue', 'test', 'X')).toBe(told('posting', '/queues', unknown));
    expect(await refused('update-queue', 'errors')).toBe(told('posting', '/queues/errors', '{"error":"no params"}'));
    expect(await refused('update-queue', 'errors', 'bad', 'field')).toContain(
      '{"error":"unknown param","param":"bad"}',
    );
    expect(await refused('update-queue', 'errors', 'threads', 'zero')).toContain(
      'threads must be a non-negative integer',
    );
    expect(await refused('update-queue', 'errors', 'threads')).toContain('even number of arguments');
    expect(await refused('update-queue', 'nowhere', 'threads', '1')).toContain('"matched_count":0');
    expect(await refused('delete-queue', 'nowhere')).toContain('"deleted_count":0');
    expect(await refused('create-task')).toBe('Queue name not given\n');
    expect(await refused('create-tasks', 'nowhere', '[{"a":1}]')).toContain('{"error":"queue not found"}');
    expect(await refused('create-tasks', 'errors', '[]')).toContain('must be a JSON array of task params objects');
    await done('delete-queue', 'errors');
  });

  test('row 20: of the tasks of a queue with one thread exactly one is started, however many the node could run', async () => {
    const made = await done('create-queue', 'gated', 'gate');
    const [, queue = ''] = /: (\S+)\n/.exec(made) ?? [];
    await done('create-tasks', 'gated', JSON.stringify(Array.from({ length: 9 }, (_, n) => ({ n }))));
    await done('update-queue', queue, 'threads', '1');
    await shown('gated', { running: 1 });
    // What a node has been given counts as running there, also before it has begun.
    await expect.poll(() => counted(queue, 0), { interval: 500 }).toBe('1 tasks\n');
    // Nothing else was taken to the node either; and with no threads nothing follows it.
    expect(await counted(queue, -1)).toBe('0 tasks\n');
    expect(await json('/queues/gated')).toMatchObject({ threads: 1, queued: 8, running: 1, completed: 0 });
    await done('update-queue', 'gated', 'threads', '0');
    writeFileSync(gateFile(), '');
    await shown('gated', { threads: 0, queued: 8, running: 0, completed: 1 });
    expect(await counted(queue, 1)).toBe('1 tasks\n');
    await done('delete-queue', 'gated');
  });

  test('rows 19 to 23: tasks run when threads are set, and stop being started when they are 0', async () => {
    const [, queue = ''] = /: (\S+)\n/.exec(await done('create-queue', 'demo', PLUGIN)) ?? [];
    expect(await done('create-task', 'demo', 'commands', 'a', 'user1', 'ann')).toMatch(
      /^Created 1 tasks in queue demo\n[0-9a-f]{24}\n$/,
    );
    const many = JSON.stringify(Array.from({ length: 8 }, (_, n) => ({ commands: n % 2 === 0 ? 'a' : '*' })));
    expect(await done('create-tasks', queue, many)).toMatch(/^Created 8 tasks in queue [0-9a-f]{24}\n/);
    expect(await counted(queue, -2)).toBe('9 tasks\n');
    await done('update-queue', queue, 'threads', '1');
    await expect.poll(async () => (await json('/queues/demo')).completed).toBeGreaterThan(0);
    await done('update-queue', 'demo', 'threads', '0');
    expect((await json('/queues/demo')).threads).toBe(0);
    await expect.poll(async () => (await json('/queues/demo')).running).toBe(0);
    await done('update-queue', 'demo', 'threads', '4');
    // Those with a `c` fail.
    await shown('demo', { completed: 9 });
    expect(await counted(queue, 1)).toBe('5 tasks\n');
    expect(await counted(queue, 2)).toBe('4 tasks\n');
    await done('delete-queue', queue);
    // Its tasks are kept.
    expect(await counted(queue, 1)).toBe('5 tasks\n');
  });

  test.each([
    ['e', 'id', 'empty'],
    ['a', 'text', 'empty'],
    ['ab', 'text', 'text'],
    ['b', 'empty', 'text'],
    ['E', 'empty', 'id'],
    ['1A', 'id', 'id'],
  ])(
    'row 29: of the commands %s standard output is shown as %s, and errors as %s',
    async (commands, stdout, stderr) => {
      const name = `output-${commands}`;
      await done('create-queue', name, PLUGIN);
      await done('update-queue', name, 'threads', '1');
      const taskId = /^[0-9a-f]{24}$/m.exec(await done('create-task', name, 'commands', commands))?.[0] ?? '';
      await expect.poll(() => json(`/tasks/${taskId}`)).toHaveProperty('complete');
      const task = await json(`/tasks/${taskId}`);
      const kind = (value: unknown): string => {
        if (value === null || value === '') return 'empty';
        return typeof value === 'object' || /^[0-9a-f]{24}$/.test(String(value)) ? 'id' : 'text';
      };
      expect([kind(task.stdout), kind(task.stderr)]).toEqual([stdout, stderr]);
      const full = await json(`/tasks/${taskId}?.full=1`);
      expect(typeof (full.stdout ?? '')).toBe('string');
      if (stdout === 'id') expect(full.stdout.length).toBeGreaterThan(65_536);
    },
  );

  test('tasks are found, and made of a collection', async () => {
    await done('create-queue', 'search', PLUGIN);
    const file = join(cluster.dir, 'users.jsonl');
    writeFileSync(file, '{"username":"foo","migration":"test"}\n{"username":"bar","migration":"test"}\n');
    expect((await cluster.muster('collection', 'import', 'users', file)).code).toBe(0);
    const made = await done(
      ...['--collection', 'users', 'create-tasks', 'search'],
      '{"filter":{"migration":"test"},"params":{"user1":"document.username","commands":"*"}}',
    );
    expect(made).toMatch(/^Created 2 tasks in queue search\n([0-9a-f]{24}\n){2}$/);
    const { id } = (await json('/queues')).find(({ name }: { name: string }) => name === 'search');
    const command = dialect === '4.0' ? 'search' : 'tasks';
    const found = JSON.parse(await done(command, `{"queue":${oid(id)}}`));
    expect(found.map(({ params }: { params: { user1: string } }) => params.user1)).toEqual(['foo', 'bar']);
    expect(typeof found[0].ctime).toBe(dialect === '4.0' ? 'number' : 'string');
    expect(await refused(command, 'no json')).toContain("'no json'");
  });

  test('tasks are asked for by the options of the last command line of each dialect', async () => {
    const [, queue = ''] = /: (\S+)\n/.exec(await done('create-queue', 'options', PLUGIN)) ?? [];
    await done('create-tasks', 'options', '[{"n":1},{"n":2},{"n":3}]');
    const asked = async (...options: readonly string[]) =>
      JSON.parse(await done(...options, 'tasks', `{"queue":"${queue}"}`));
    expect((await asked()).map(({ params }: { params: unknown }) => params)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(await asked('--limit', '1', '--skip', '1')).toMatchObject({
      queue: JSON.parse(oid(queue)),
      params: { n: 2 },
    });
    expect(await asked('--fields', '["params"]', '--limit', '1')).toEqual({
      _id: expect.anything(),
      params: { n: 1 },
    });
    expect(typeof (await asked('--epoch', '--limit', '1')).ctime).toBe('number');
    expect(await done('--count', 'tasks', `{"queue":"${queue}","status":-2}`)).toBe('3 tasks\n');
    expect(JSON.parse(await done('tasks', `{"queue":"${queue}","status":5}`))).toEqual({});
    expect(await refused('tasks', '{"status":-2}')).toContain('"invalid_params":["status"]');
    // Of everything as many as the client asks for, if nothing else is said.
    expect(JSON.parse(await done('tasks')).length).toBeGreaterThan(2);
    if (dialect === '4.0') {
      expect(JSON.parse(await done('search')).length).toBeGreaterThan(2);
      const last = JSON.parse(await done('--options', '{"sort":{"_id":-1},"limit":1}', 'search'));
      expect(last).toMatchObject([{ params: { n: 3 } }]);
    }
    await done('delete-queue', queue);
  });

  test('a node of a dump keeps its id and its limit, once it is there', async () => {
    const id = '56fc05087aa3a33942e42a6a';
    const dump = join(cluster.dir, 'dump');
    mkdirSync(dump);
    const node = { _id: { $oid: id }, node: 'mig01.example.com', maxthreads: 3 };
    writeFileSync(join(dump, 'nodes.json'), JSON.stringify(node));
    const tally = async () => (await cluster.muster('import', 'disbatch', dump)).stderr;
    expect(await tally()).toContain('nodes: 1 imported');
    expect(await json('/nodes')).toMatchObject([{ id, node: 'mig01.example.com', maxthreads: 3 }]);
    expect(await tally()).not.toContain('nodes: 1 imported');
  });

  // It has gone from 4.4.
  if (dialect === '4.0')
    test('every command of the deprecated command line', async () => {
      const old = (...args: readonly string[]) => done('--version-3', ...args);
      expect(await old('types')).toBe(`${PLUGIN}\ngate\n`);
      const [, queue = ''] = /^New Queue #([0-9a-f]{24})\n$/.exec(await old('start', PLUGIN, 'old')) ?? [];
      expect(await old('status')).toContain(`${queue} | ${PLUGIN} | old |  | 0 | 0 | 0\n`);
      expect(await old('set', queue, 'threads', '1')).toBe('');
      expect(JSON.parse(await old('task', queue, 'commands', 'a'))).toMatchObject([1, 1, { index: 0 }, { success: 1 }]);
      const file = join(cluster.dir, 'people.jsonl');
      writeFileSync(file, '{"username":"foo","migration":"x"}\n');
      expect((await cluster.muster('collection', 'import', 'people', file)).code).toBe(0);
      expect(await old('tasks', queue, 'people', '{"migration":"x"}', '{"user1":"document.username"}')).toBe('[1,1]\n');
      await expect.poll(() => old('search', queue, '{"status":1}').then((out) => JSON.parse(out).length)).toBe(2);
      const [found] = JSON.parse(await old('search', queue, '{"params.user1":"foo"}'));
      expect(found).toMatchObject({ params: { user1: 'foo' }, ctime: expect.any(Number) });
      // As the times of the original, without a zone.
      expect(found.ctime_str).toBe(new Date(found.ctime * 1000).toISOString().slice(0, 19));
      await done('delete-queue', queue);
    });
});

test('over TLS: --ssl_ca_file names who has signed the certificate, --disable_ssl_verification takes one of another name', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-disbatch-tls-'));
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  writeFileSync(cert, TEST_CERTIFICATE);
  writeFileSync(key, TEST_CERTIFICATE_KEY);
  const [port] = await freePorts(1);
  const flags = ['--disbatch', `127.0.0.1:${port}`, '--disbatch-tls-cert', cert, '--disbatch-tls-key', key];
  const cluster = await Cluster.start({ flags });
  const queues = async (host: string, options: readonly string[], trusted: Readonly<Record<string, string>> = {}) => {
    const words = [CLIENT, '--url', `https://${host}:${port}`, ...options, 'queues'];
    const env = { PATH: process.env.PATH, [MARKER]: cluster.marker, ...trusted };
    const run = new StartedProcess('disbatch over TLS', '/usr/bin/perl', words, { cwd: cluster.dir, env });
    run.closeInput();
    const { code } = await run.exited;
    return { code, out: run.stdout, err: run.stderr };
  };
  try {
    expect((await queues('localhost', [])).err).toContain('certificate verify failed');
    const none = { code: 0, out: '\n0 total queues.\n' };
    expect(await queues('localhost', ['--ssl_ca_file', cert])).toMatchObject(none);
    // As where the host trusts who has signed it.
    const trusted = { PERL_LWP_SSL_CA_FILE: cert };
    expect((await queues('127.0.0.1', [], trusted)).err).toContain('hostname verification failed');
    expect(await queues('127.0.0.1', ['--disable_ssl_verification'], trusted)).toMatchObject(none);
  } finally {
    await cluster.stop();
    rmSync(dir, { recursive: true });
  }
});
