import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** What Ansible itself makes of the inventory: a script that runs `muster inventory "$@"`, played by one that has its answer. */

const node = (node_name: string, facts: object, labels: object) => ({
  ...{ node_name, status: 'up', availability: 'available', reason: '', dialect: 'native', facts, labels },
});

let dir: string;
let script: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'muster-ansible-'));
  script = join(dir, 'fleet.sh');
  const nodes = [
    node('web1', { ip: '127.0.0.1', cpus: 8, 'kernel-name': 'Linux' }, { role: 'web', env: 'prod-eu' }),
    node('web2', { note: `{{ lookup('pipe', 'touch ${dir}/done') }}`, list: ['{{ 1 + 1 }}'] }, { role: 'web' }),
  ];
  const server = await apiServer({
    'GET /organizations/o/nodes': json({ total: nodes.length, nodes }),
    'GET /organizations/o/node_groups': json([{ name: 'canaries', nodes: ['web1'], query: null }]),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['inventory', '--list'], world)).toBe(0);
  await server.close();
  await writeFile(script, `#!/bin/sh\ncat <<'END'\n${world.out()}END\n`, { mode: 0o755 });
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function ansible(program: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, ANSIBLE_LOCAL_TEMP: dir, ANSIBLE_HOME: dir, ANSIBLE_NOCOLOR: '1' };
  const { stdout, stderr } = await promisify(execFile)(program, ['-i', script, ...args], { cwd: dir, env });
  expect(stderr).toBe('');
  return stdout;
}

test('Ansible reads hosts, groups and variables from it', async () => {
  const { _meta, all, ...groups } = JSON.parse(await ansible('ansible-inventory', '--list'));
  expect(groups).toEqual({
    up: { hosts: ['web1', 'web2'] },
    available: { hosts: ['web1', 'web2'] },
    role_web: { hosts: ['web1', 'web2'] },
    env_prod_eu: { hosts: ['web1'] },
    canaries: { hosts: ['web1'] },
  });
  expect(_meta.hostvars.web1).toMatchObject({ ansible_host: '127.0.0.1', muster_cpus: 8, muster_role: 'web' });
}, 60_000);

test('Ansible runs nothing that a node says of itself', async () => {
  const shown = await ansible('ansible', 'web2', '-c', 'local', '-m', 'debug', '-a', 'var=muster_note,muster_list');
  expect(shown).toContain("lookup('pipe'");
  expect(shown).toContain('1 + 1');
  expect(existsSync(join(dir, 'done'))).toBe(false);
}, 60_000);
