import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { VERSION } from '../src/version.js';

const ROOT = new URL('../../../', import.meta.url);
const versionIn = (directory: string): string =>
  (JSON.parse(readFileSync(new URL(`${directory}package.json`, ROOT), 'utf8')) as { version: string }).version;

it('is the same of all packages, and of what a release is called', () => {
  const packages = readdirSync(new URL('packages/', ROOT)).map((name) => `packages/${name}/`);
  for (const directory of ['', ...packages]) expect([directory, versionIn(directory)]).toEqual([directory, VERSION]);
});
