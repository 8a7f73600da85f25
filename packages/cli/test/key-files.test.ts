import { createPublicKey } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withPublicKey } from '../src/key-files.js';
import { type TestWorld, testWorld } from './support/world.js';

let cwd = '';
let world: TestWorld;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'muster-keys-'));
  world = testWorld({ cwd });
});
afterEach(() => rmSync(cwd, { recursive: true }));

test('--key-out writes the private key for its owner only and registers the public one', async () => {
  const registered = await withPublicKey(world, { keyOut: 'alice.pem' }, async (key) => key);
  const path = join(cwd, 'alice.pem');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const derived = createPublicKey(readFileSync(path)).export({ type: 'spki', format: 'pem' });
  expect(derived).toBe(registered);
});

test('--key-out never overwrites a file', async () => {
  writeFileSync(join(cwd, 'alice.pem'), 'precious');
  await expect(withPublicKey(world, { keyOut: 'alice.pem' }, async () => {})).rejects.toThrow(/not overwritten/);
  expect(readFileSync(join(cwd, 'alice.pem'), 'utf8')).toBe('precious');
});

test('a key that could not be registered is not left behind', async () => {
  const refused = withPublicKey(world, { keyOut: 'alice.pem' }, async () => {
    throw new Error('refused');
  });
  await expect(refused).rejects.toThrow('refused');
  expect(existsSync(join(cwd, 'alice.pem'))).toBe(false);
});

test('--public-key registers what the file holds', async () => {
  writeFileSync(join(cwd, 'bob.pub'), 'PEM');
  expect(await withPublicKey(world, { publicKey: 'bob.pub' }, async (key) => key)).toBe('PEM');
});

test.each([{}, { publicKey: 'a', keyOut: 'b' }])('%j is a usage error: exactly one is needed', async (choice) => {
  await expect(withPublicKey(world, choice, async () => {})).rejects.toThrow(/either/);
});
