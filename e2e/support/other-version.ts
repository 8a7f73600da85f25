import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PRESENT = `"${(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version}"`;

/** What is built here as another version: a program as the executable of a release is one. */
export function otherVersion(directory: string, version: string): string {
  const cli = join(directory, 'packages', 'cli');
  mkdirSync(cli, { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    if (name !== 'cli') symlinkSync(join(ROOT, 'packages', name), join(directory, 'packages', name));
  }
  for (const part of ['bin', 'dist/bundle'])
    cpSync(join(ROOT, 'packages/cli', part), join(cli, part), { recursive: true });
  renamed(join(ROOT, 'packages/cli/package.json'), join(cli, 'package.json'), version);
  const bundle = join(cli, 'dist', 'bundle');
  for (const name of readdirSync(bundle)) {
    if (name.endsWith('.js')) renamed(join(bundle, name), join(bundle, name), version);
  }
  return `#!/bin/sh\nexec '${process.execPath}' '${join(cli, 'bin', 'muster.js')}' "$@"\n`;
}

function renamed(from: string, to: string, version: string): void {
  writeFileSync(to, readFileSync(from, 'utf8').replaceAll(PRESENT, `"${version}"`));
}

/** A program that says it is this version, and then, as an agent, does that. */
export function pretender(version: string, agent: string): string {
  return `#!/bin/sh\n[ "$1" = --version ] && { echo ${version}; exit; }\n${agent}\n`;
}
