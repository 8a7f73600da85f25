import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { lockDirectory, open } from '@muster/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MIGRATIONS } from '../../platform/test/support/migrations.js';

let directory: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'muster-lock-')), 'data');
});
afterEach(() => rmSync(join(directory, '..'), { recursive: true, force: true }));

test('locking makes the directory, for its owner only', () => {
  const lock = lockDirectory(directory);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  lock.release();
});

test('a locked directory is refused until it is released', () => {
  const lock = lockDirectory(directory);
  expect(() => lockDirectory(directory)).toThrow(`another muster server is running on ${directory}`);
  lock.release();
  lockDirectory(directory).release();
});

test('a directory locked by another process is refused until that process is killed', async () => {
  const program = `import { lockDirectory } from '@muster/store';
    lockDirectory(process.argv[1]); console.log('locked'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  expect(() => lockDirectory(directory)).toThrow(expect.objectContaining({ code: 'data_dir_in_use' }));
  child.kill('SIGKILL');
  await once(child, 'exit');
  lockDirectory(directory).release();
});

test('what is in it is for the owner only, whatever the umask', async () => {
  const before = process.umask(0);
  try {
    const lock = lockDirectory(directory);
    const path = join(directory, 'muster.db');
    const store = await open({ kind: 'sqlite', path }, { migrations: MIGRATIONS, clock: new ManualClock() });
    await store.transact((trx) => trx.insertInto('groups').values({ org_id: 'o', name: 'g', created_at: 1 }).execute());
    const modes = readdirSync(directory).map((name) => [name, statSync(join(directory, name)).mode & 0o777]);
    expect(modes.map(([name]) => name)).toEqual(
      expect.arrayContaining(['lock.db', 'muster.db', 'muster.db-wal', 'muster.db-shm']),
    );
    expect(modes.filter(([, mode]) => mode !== 0o600)).toEqual([]);
    await store.close();
    lock.release();
  } finally {
    process.umask(before);
  }
});
