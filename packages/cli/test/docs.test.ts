import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('the reference pages that are made from code are up to date', async () => {
  const { MUSTER_TEST_DATABASE_URL: _, ...env } = process.env;
  const made = await promisify(execFile)(process.execPath, ['scripts/generate-docs.mjs', '--check'], {
    cwd: ROOT,
    env,
  });
  expect(made.stdout).toContain('up to date');
});

const pages = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`),
];

test.each(pages)('every link of %s leads to a file that exists', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8').replace(/```[\s\S]*?```/g, '');
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
  const broken = links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => !existsSync(join(ROOT, dirname(page), link)));
  expect(broken).toEqual([]);
});

test('the index of the documentation lists every page', () => {
  const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8');
  const missing = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md');
  expect(missing.filter((page) => !index.includes(`(${page.slice('docs/'.length)})`))).toEqual([]);
});
