import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { newKey } from './support/personas.js';

/** Every command of `muster` but push, as a person or a script runs it, on real processes. */
let cluster: Cluster;

const COMMANDS = {
  hello: 'echo hello',
  fail: { shell: 'echo broken >&2; exit 3' },
  bytes: { shell: "printf '\\377\\376\\000'" },
};

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.startAgents({
    web1: { commands: COMMANDS, labels: { role: 'web', env: 'prod' } },
    web2: { commands: COMMANDS, labels: { role: 'web', env: 'test' } },
    db1: { commands: { fail: 'false' }, labels: { role: 'db', env: 'prod' } },
  });
});
afterAll(() => cluster.stop());

interface Job {
  readonly id: string;
  readonly status: string;
  readonly nodes: Readonly<Record<string, readonly string[]>>;
}

describe('first start', () => {
  test('writes the admin’s key and a CLI configuration for its owner only', () => {
    for (const file of ['admin.pem', 'muster.yaml']) {
      expect(statSync(join(cluster.dataDir, file)).mode & 0o777).toBe(0o600);
    }
  });

  test('says in one line how to use them', () => {
    const lines = cluster.server.log.split('\n').filter((line) => line.includes('muster.yaml'));
    expect(lines).toHaveLength(1);
  });
});

describe('settings', () => {
  test('without any, commands say what is missing and exit with the usage code', async () => {
    const run = cluster.launch('muster', ['node', 'list'], { MUSTER_CONFIG: undefined, HOME: cluster.dir });
    expect((await run.exited).code).toBe(2);
    expect(run.stderr).toMatch(/MUSTER_URL|MUSTER_CONFIG/);
  });

  test('come from the environment: URL, user and key', async () => {
    const run = cluster.launch('muster', ['node', 'list', '--json'], {
      MUSTER_CONFIG: undefined,
      MUSTER_URL: cluster.url,
      MUSTER_ORG: 'default',
      MUSTER_USER: 'admin',
      MUSTER_KEY: join(cluster.dataDir, 'admin.pem'),
    });
    expect((await run.exited).code).toBe(0);
  });

  test('an access token stands for a user in scripts', async () => {
    const made = await cluster.json<{ token: string }>('access-token', 'create', '--user', 'admin', '--ttl', '30d');
    const run = cluster.launch('muster', ['node', 'list', '--json'], {
      MUSTER_CONFIG: undefined,
      MUSTER_URL: cluster.url,
      MUSTER_ORG: 'default',
      MUSTER_TOKEN: made.token,
    });
    expect((await run.exited).code).toBe(0);
  });

  test('a server that does not answer is unreachable: exit 5', async () => {
    const run = cluster.launch('muster', ['node', 'list'], {
      MUSTER_CONFIG: undefined,
      MUSTER_URL: 'http://127.0.0.1:1',
      MUSTER_ORG: 'default',
      MUSTER_USER: 'admin',
      MUSTER_KEY: join(cluster.dataDir, 'admin.pem'),
    });
    expect((await run.exited).code).toBe(5);
  });
});

describe('org, user, group, service', () => {
  test('an organization is created, listed and deleted', async () => {
    await cluster.json('org', 'create', 'acme');
    expect(await cluster.json<{ name: string }[]>('org', 'list')).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'acme' }), expect.objectContaining({ name: 'default' })]),
    );
    await cluster.json('org', 'rm', 'acme', '--yes');
  });

  test('a user is created with a key of its own, works, and is deleted', async () => {
    const keyFile = join(cluster.dir, 'alice.pem');
    await cluster.json('user', 'create', 'alice', '--key-out', keyFile);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    const run = cluster.launch('muster', ['push', 'list', '--json'], {
      MUSTER_CONFIG: undefined,
      MUSTER_URL: cluster.url,
      MUSTER_ORG: 'default',
      MUSTER_USER: 'alice',
      MUSTER_KEY: keyFile,
    });
    expect((await run.exited).code).toBe(0);
    await cluster.json('user', 'rm', 'alice', '--yes');
    expect((await cluster.muster('user', 'show', 'alice')).code).toBe(4);
  });

  test('an existing user is invited into an organization, and accepts or rejects', async () => {
    const keyFile = join(cluster.dir, 'dora.pem');
    await cluster.json('org', 'create', 'guild');
    await cluster.json('user', 'create', 'dora', '--key-out', keyFile);
    const settings = { MUSTER_CONFIG: undefined, MUSTER_URL: cluster.url };
    const inGuild = async (user: string, key: string, ...args: string[]) => {
      const env = { ...settings, MUSTER_ORG: 'guild', MUSTER_USER: user, MUSTER_KEY: key };
      const run = cluster.launch('muster org', ['org', ...args], env);
      await run.exited;
      return run;
    };
    const admin = (...args: string[]) => inGuild('admin', join(cluster.dataDir, 'admin.pem'), ...args);
    const dora = (...args: string[]) => inGuild('dora', keyFile, ...args);
    expect((await admin('invite', 'dora')).stdout).toMatch(/^invited dora into guild, until /);
    expect((await dora('reject', 'guild')).stdout).toBe('rejected the invitation into guild\n');
    await admin('invite', 'dora');
    expect((await admin('uninvite', 'dora')).stdout).toBe('withdrew the invitation of dora\n');
    expect((await dora('accept', 'guild')).stderr).toContain("there is no open invitation into 'guild'");
    await admin('invite', 'dora');
    expect((await admin('invitations')).stdout).toMatch(/guild +dora +admin/);
    expect((await dora('invitations', '--mine')).stdout).toMatch(/guild +dora +admin/);
    expect((await dora('accept', 'guild')).stdout).toBe('dora belongs to guild\n');
    expect((await dora('list')).stdout).toContain('guild');
    await cluster.json('user', 'rm', 'dora', '--yes');
    await cluster.json('org', 'rm', 'guild', '--yes');
  });

  test('a user may bring a public key and be put in groups', async () => {
    const file = join(cluster.dir, 'bob.pub');
    writeFileSync(file, newKey().publicKey);
    expect(await cluster.json('group', 'create', 'oncall', '--exclusive')).toMatchObject({ exclusive: true });
    await cluster.json('user', 'create', 'bob', '--group', 'oncall', '--public-key', file);
    expect(await cluster.json('group', 'show', 'oncall')).toMatchObject({ name: 'oncall', users: ['bob'] });
    expect((await cluster.muster('user', 'create', 'bob', '--public-key', file)).code).toBe(1);
    await cluster.json('group', 'remove', 'oncall', '--user', 'bob');
    const added = await cluster.json('group', 'add', 'oncall', '--user', 'bob');
    expect(added).toMatchObject({ users: ['bob'], exclusive: true });
    expect((await cluster.muster('group', 'show', 'oncall')).stdout).toMatch(/Exclusive +yes/);
    expect(await cluster.json('group', 'add', 'oncall', '--no-exclusive')).toMatchObject({
      users: ['bob'],
      exclusive: false,
    });
    await cluster.json('group', 'rm', 'oncall', '--yes');
  });

  test('who may not start jobs is refused: exit 3', async () => {
    const keyFile = join(cluster.dir, 'carol.pem');
    await cluster.json('user', 'create', 'carol', '--key-out', keyFile);
    const run = cluster.launch('muster', ['push', 'start', '--node', 'web1', '--', 'hello'], {
      MUSTER_CONFIG: undefined,
      MUSTER_URL: cluster.url,
      MUSTER_ORG: 'default',
      MUSTER_USER: 'carol',
      MUSTER_KEY: keyFile,
    });
    expect((await run.exited).code).toBe(3);
    expect(run.stderr).toContain("User or client 'carol' does not have access");
  });

  test('a service is created, listed and deleted', async () => {
    await cluster.json('service', 'create', 'ci', '--key-out', join(cluster.dir, 'ci.pem'));
    expect(JSON.stringify(await cluster.json('service', 'list'))).toContain('"ci"');
    await cluster.json('service', 'rm', 'ci', '--yes');
  });
});

describe('token', () => {
  test('is made, listed without its secret, and deleted', async () => {
    const made = await cluster.json<{ id: string; token: string }>('token', 'create', '--uses', '1', '--ttl', '1h');
    expect(made.token.length).toBeGreaterThan(20);
    const listed = await cluster.muster('token', 'list', '--json');
    expect(listed.stdout).toContain(made.id);
    expect(listed.stdout).not.toContain(made.token);
    await cluster.json('token', 'rm', made.id, '--yes');
  });
});

describe('node', () => {
  test('list has every node with its state', async () => {
    const nodes = await cluster.json<{ node_name: string }[]>('node', 'list');
    expect(nodes).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ node_name: 'web1', status: 'up', availability: 'available' }),
        expect.objectContaining({ node_name: 'db1', status: 'up', availability: 'available' }),
      ]),
    );
    const table = await cluster.muster('node', 'list');
    expect(table.stdout).toMatch(/^Node name +Status +Availability/);
  });

  test('show has facts and labels', async () => {
    expect(await cluster.json('node', 'show', 'web1')).toMatchObject({
      node_name: 'web1',
      labels: { role: 'web', env: 'prod' },
      facts: { os: 'linux', cpus: expect.any(Number), kernel: expect.any(String) },
    });
    expect((await cluster.muster('node', 'show', 'nobody')).code).toBe(4);
  });

  test.each([
    ['role:web AND os:linux', ['web1', 'web2']],
    ['name:web* AND NOT env:prod', ['web2']],
    ["cpus >= 1 AND env = 'prod'", ['db1', 'web1']],
    ['role:nothing', []],
  ])('search %s', async (query, names) => {
    const found = await cluster.json<{ total: number; nodes: { node_name: string }[] }>('node', 'search', query);
    expect(found.nodes.map((node) => node.node_name).sort()).toEqual(names);
    expect(found.total).toBe(names.length);
  });

  test('search tells where the query is wrong', async () => {
    const result = await cluster.muster('node', 'search', 'role = = web');
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/invalid search at character \d+/);
  });

  test('create registers a node that brings its own key; rm forgets it', async () => {
    const keyFile = join(cluster.dir, 'legacy.pem');
    await cluster.json('node', 'create', 'legacy', '--key-out', keyFile);
    expect(existsSync(keyFile)).toBe(true);
    const why = await cluster.json<{ explanation: string }>('node', 'why', 'legacy');
    expect(why.explanation).toMatch(/never/);
    await cluster.json('node', 'rm', 'legacy', '--yes');
    expect((await cluster.muster('node', 'show', 'legacy')).code).toBe(4);
  });

  test('why says that an available node is available', async () => {
    expect(await cluster.json('node', 'why', 'web1')).toMatchObject({ node_name: 'web1', available: true });
  });
});

describe('node-group', () => {
  test('a selected group is a target', async () => {
    await cluster.json('node-group', 'create', 'web', '--query', 'role:web');
    const preview = await cluster.json<{ count: number; nodes: string[] }>(
      ...['push', 'start', '--node-group', 'web', '--dry-run', '--', 'hello'],
    );
    expect({ ...preview, nodes: [...preview.nodes].sort() }).toMatchObject({ count: 2, nodes: ['web1', 'web2'] });
    await cluster.json('node-group', 'set', 'web', '--node', 'web1');
    expect(await cluster.json('node-group', 'show', 'web')).toMatchObject({ name: 'web', nodes: ['web1'] });
    expect(JSON.stringify(await cluster.json('node-group', 'list'))).toContain('"web"');
    await cluster.json('node-group', 'rm', 'web', '--yes');
  });

  test('EXECUTE may be granted: a node without it is nacked with permission denied (N13)', async () => {
    const keyFile = join(cluster.dir, 'dba.pem');
    await cluster.json('user', 'create', 'dba', '--key-out', keyFile);
    await cluster.json('node-group', 'create', 'databases', '--node', 'db1');
    await cluster.json('node-group', 'grant', 'databases', '--user', 'dba');
    const env = {
      MUSTER_CONFIG: undefined,
      MUSTER_URL: cluster.url,
      MUSTER_ORG: 'default',
      MUSTER_USER: 'dba',
      MUSTER_KEY: keyFile,
    };
    const args = ['push', 'start', '--node', 'db1', 'web1', '--quorum', '1', '--json', '--', 'fail'];
    const run = cluster.launch('muster push start', args, env);
    await run.exited;
    const job = JSON.parse(run.stdout) as Job;
    expect(job.nodes).toEqual({ failed: ['db1'], nacked: ['web1'] });
    const line = await cluster.muster('push', 'status', job.id, '--node', 'web1');
    expect(line.stdout).toContain('permission denied');
    await cluster.json('node-group', 'rm', 'databases', '--yes');
  });
});

describe('audit, doctor, completion, server', () => {
  test('audit has changes of identity, starts, aborts and denials', async () => {
    const { id } = await cluster.json<Job>('push', 'start', '--detach', '--node', 'web1', '--', 'sleep 60');
    await cluster.json('push', 'abort', id);
    const entries = await cluster.json<{ action: string; actor: string }[]>('audit', '--limit', '1000');
    const actions = new Set(entries.map((entry) => entry.action));
    for (const action of ['push.start', 'push.abort', 'access.denied']) expect(actions).toContain(action);
    expect(entries.some((entry) => entry.actor === 'carol' && entry.action === 'access.denied')).toBe(true);
  });

  test('doctor finds nothing wrong', async () => {
    const result = await cluster.muster('doctor', '--json');
    expect(result.json).toMatchObject({ checks: expect.any(Array) });
  });

  test('agent doctor finds nothing wrong with a running agent’s host', async () => {
    const dir = cluster.agentDir('web1');
    const result = await cluster.muster(
      ...['agent', 'doctor', '--server', cluster.url, '--org', 'default', '--name', 'web1'],
      ...['--key', join(dir, 'client.pem'), '--data-dir', dir, '--config', join(dir, 'agent.json')],
    );
    expect([result.code, result.stderr]).toEqual([0, '']);
  });

  test.each(['bash', 'zsh', 'fish'])('completion for %s', async (shell) => {
    const result = await cluster.muster('completion', shell);
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('muster');
  });

  test('server --check-config accepts a good file, and names an unknown key', async () => {
    const file = join(cluster.dir, 'server.yaml');
    writeFileSync(file, 'http:\n  listen: 127.0.0.1:8080\n');
    expect((await cluster.muster('server', '--config', file, '--check-config')).code).toBe(0);
    writeFileSync(file, 'http:\n  lisen: 127.0.0.1:8080\n');
    const refused = await cluster.muster('server', '--config', file, '--check-config');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('http.lisen');
  });

  test('server refuses to listen beyond loopback without TLS', async () => {
    const refused = await cluster.muster('server', '--data-dir', join(cluster.dir, 'open'), '--http', '0.0.0.0:0');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/without TLS/);
  });

  test('an unknown command is a usage error', async () => {
    expect((await cluster.muster('no-such-command')).code).toBe(2);
  });
});

test('enrolment writes the agent’s key for its owner only', () => {
  const key = join(cluster.agentDir('web1'), 'client.pem');
  expect(statSync(key).mode & 0o777).toBe(0o600);
  expect(readFileSync(key, 'utf8')).toContain('PRIVATE KEY');
});
