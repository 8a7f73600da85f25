import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@muster/platform/config';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Client } from '../../platform/test/support/signed-client.js';
import { startServer } from '../src/server.js';
import { startTestServer, type TestServer } from './support/test-server.js';

const servers: TestServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function started(lines: string[] = []): Promise<TestServer> {
  const server = await startTestServer({ lines, makesKeys: true });
  servers.push(server);
  return server;
}

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('the first start', () => {
  it('makes an organization, its admin, and files only their owner reads', async () => {
    const server = await started();
    expect(mode(server.dataDir)).toBe('700');
    for (const file of ['admin.pem', 'server.pem', 'muster.yaml']) {
      expect(mode(join(server.dataDir, file)), file).toBe('600');
    }
    expect((await server.api.get('/organizations')).body).toMatchObject([{ name: 'default' }]);
    expect((await server.api.get('/users/admin')).body).toMatchObject({ name: 'admin', server_admin: true });
    expect((await server.api.get('/organizations/default/groups/admins')).body).toMatchObject({ users: ['admin'] });
  });

  it('writes settings with which the CLI works', async () => {
    const server = await started();
    const settings = parse(readFileSync(server.running.cliConfigPath, 'utf8'));
    expect(settings).toEqual({
      url: server.url,
      org: 'default',
      user: 'admin',
      key: join(server.dataDir, 'admin.pem'),
    });
    const client = new Client(settings.url, { name: settings.user, privateKey: readFileSync(settings.key, 'utf8') });
    expect((await client.get(`/organizations/${settings.org}/pushy/node_states`)).status).toBe(200);
  });

  it('prints one line that says how to use them, and the next start none', async () => {
    const lines: string[] = [];
    const server = await started(lines);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(server.running.cliConfigPath);
    await server.restart();
    expect(lines).toHaveLength(1);
  });
});

describe('an empty muster.db beside the keys of a server', () => {
  it('is a database that was lost, not a new installation: refused, and nothing is written', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'muster-lost-'));
    writeFileSync(join(dataDir, 'server.pem'), 'a key');
    writeFileSync(join(dataDir, 'muster.db'), '');
    await expect(startServer(loadConfig({ env: {}, flags: { 'data-dir': dataDir } }))).rejects.toMatchObject({
      code: 'database_lost',
      fix: expect.stringContaining('Put a backup of it in its place'),
    });
    expect(statSync(join(dataDir, 'muster.db')).size).toBe(0);
    rmSync(dataDir, { recursive: true });
  });
});

describe('a further start', () => {
  it('changes nothing but the incarnation and the address in the settings', async () => {
    const server = await started();
    const before = server.running.incarnation;
    const serverKey = readFileSync(join(server.dataDir, 'server.pem'), 'utf8');
    await server.restart();
    expect(server.running.incarnation).not.toBe(before);
    expect(readFileSync(join(server.dataDir, 'server.pem'), 'utf8')).toBe(serverKey);
    expect(parse(readFileSync(server.running.cliConfigPath, 'utf8')).url).toBe(server.url);
    expect((await server.api.get('/organizations')).body).toHaveLength(1);
    const bootstraps = await server.api.get('/organizations/default/audit?action=server.bootstrap');
    expect(bootstraps.body).toHaveLength(1);
  });

  it('leaves settings alone that somebody took over', async () => {
    const server = await started();
    writeFileSync(server.running.cliConfigPath, 'url: https://muster.example.com\n');
    await server.restart();
    expect(readFileSync(server.running.cliConfigPath, 'utf8')).toBe('url: https://muster.example.com\n');
  });

  it('does not make a new key for an admin whose key was moved away', async () => {
    const server = await started();
    unlinkSync(join(server.dataDir, 'admin.pem'));
    await server.restart();
    expect(existsSync(join(server.dataDir, 'admin.pem'))).toBe(false);
  });

  it('on one data directory is refused while the first runs', async () => {
    const server = await started();
    const config = loadConfig({ env: {}, flags: { 'data-dir': server.dataDir, http: '127.0.0.1:0' } });
    await expect(startServer(config)).rejects.toMatchObject({ code: 'data_dir_in_use' });
    expect((await server.api.get('/organizations')).status).toBe(200);
  });
});

describe('a fresh database beside old files', () => {
  it('takes over the keys that are there', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'muster-server-'));
    const [local, socket] = ['127.0.0.1:0', 'tcp://127.0.0.1:0'];
    const addresses = { http: local, heartbeat: socket, command: socket, stomp: local };
    const config = loadConfig({ env: {}, flags: { 'data-dir': dataDir, 'log-level': 'silent', ...addresses } });
    const print = () => undefined;
    await startServer(config, { print }).then((first) => first.stop());
    for (const file of ['muster.db', 'muster.db-wal', 'muster.db-shm']) rmSync(join(dataDir, file), { force: true });
    const key = readFileSync(join(dataDir, 'admin.pem'), 'utf8');
    const second = await startServer(config, { print });
    try {
      expect(readFileSync(join(dataDir, 'admin.pem'), 'utf8')).toBe(key);
      const client = new Client(second.url, { name: 'admin', privateKey: key });
      expect((await client.get('/organizations')).status).toBe(200);
    } finally {
      await second.stop();
      rmSync(dataDir, { recursive: true });
    }
  });
});
