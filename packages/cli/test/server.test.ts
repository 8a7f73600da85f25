import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../platform/test/support/tls.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

const MUSTER = fileURLToPath(new URL('../bin/muster.js', import.meta.url));
const any = 'tcp://127.0.0.1:0';
const listen = ['--http', '127.0.0.1:0', '--heartbeat', any, '--command', any, '--stomp', '127.0.0.1:0'];

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-cli-server-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

test('a server that cannot go on ends with exit code 1 and says why', async () => {
  const world = testWorld();
  const serving = run(['server', '--data-dir', directory, '--log-level', 'silent', ...listen], world);
  await until(() => world.err().includes('First start'));
  const database = new Database(join(directory, 'muster.db'));
  database.exec(`create trigger fault before insert on nodes begin select raise(abort, 'no such luck'); end`);
  database.close();
  const config = join(directory, 'muster.yaml');
  expect(existsSync(config)).toBe(true);
  const create = ['node', 'create', 'n1', '--key-out', join(directory, 'n1.pem'), '--config', config];
  expect(await run(create, testWorld())).toBe(0);
  expect(await serving).toBe(1);
  expect(world.err()).toMatch(/^error: the server cannot go on: .+ \(no such luck\)\nfix: .+\n$/m);
});

test.each(['server.pem', 'admin.pem'])('a server that cannot start ends: %s is no key', async (name) => {
  const path = join(directory, name);
  writeFileSync(path, 'garbage');
  const args = [MUSTER, 'server', '--data-dir', directory, '--log-level', 'silent', ...listen];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(said).toMatch(`error: configuration: ${path} is not a private key`);
  expect(code).toBe(2);
});

test('a data directory that is a file is refused by the name of the setting', async () => {
  const path = join(directory, 'file');
  writeFileSync(path, '');
  const world = testWorld();
  expect(await run(['server', '--data-dir', path, '--log-level', 'silent', ...listen], world)).toBe(2);
  expect(world.err()).toMatch(
    /^error: configuration: data_dir .+: it is not a directory\nfix: Make it a directory that/,
  );
});

test('--check-config refuses a former key of secrets that is not there, with where it was looked for', async () => {
  const world = testWorld();
  expect(await run(['server', '--check-config', '--secrets-old-key-file', 'no-such.key'], world)).toBe(2);
  expect(world.err()).toContain(`${process.cwd()}/no-such.key (secrets.old_key_file): ENOENT`);
});

test('--check-config refuses a key that does not belong to the certificate, and warns of one that has expired', async () => {
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const check = async () => {
    const world = testWorld({ now: () => Date.UTC(2200, 0) });
    return { code: await run(['server', '--check-config', '--tls-cert', cert, '--tls-key', key], world), world };
  };
  writeFileSync(cert, TEST_CERTIFICATE);
  writeFileSync(key, 'garbage');
  const refused = await check();
  expect(refused.code).toBe(2);
  expect(refused.world.err()).toMatch(/^error: configuration: http\.tls_key \(--tls-key\): .+\nfix: Give PEM files/);
  writeFileSync(key, TEST_CERTIFICATE_KEY);
  const expired = await check();
  expect(expired.code).toBe(0);
  expect(expired.world.err()).toMatch(/^warning: http\.tls_cert \(--tls-cert\): the certificate expired at 2126-/);
  expect(JSON.parse(expired.world.out())).toMatchObject({ http: { tls_cert: cert } });
});
