import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PRESENT = `"${(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version}"`;

/** Where the bundle lists the packages that have tables. */
const OWNERS = '[storeMigrations, ...packages]';
/** What a next version may bring: one more step of the schema. */
const NEXT_STEP = `{ package: "next", steps: [{ name: "next", async up(db, { text }) {
  await sql\`create table next_things (name ${'${text}'} primary key)\`.execute(db);
} }] }`;

/** What is built here as another version: a program as the executable of a release is one. */
export function otherVersion(directory: string, version: string): string {
  return `#!/bin/sh\nexec '${process.execPath}' '${otherBuild(directory, version)}' "$@"\n`;
}

/** As `otherVersion`, one whose database has a table more. Answers the path of its command line. */
export function nextVersion(directory: string, version: string): string {
  return otherBuild(directory, version, (text) => text.replaceAll(OWNERS, `${OWNERS.slice(0, -1)}, ${NEXT_STEP}]`));
}

function otherBuild(directory: string, version: string, changed = (text: string): string => text): string {
  const cli = join(directory, 'packages', 'cli');
  mkdirSync(join(directory, 'packages'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    const [own, other] = [join(ROOT, 'packages', name), join(directory, 'packages', name)];
    mkdirSync(other, { recursive: true });
    renamed(join(own, 'package.json'), join(other, 'package.json'), version);
    const parts = name === 'cli' ? [] : readdirSync(own).filter((part) => part !== 'package.json');
    for (const part of parts) symlinkSync(join(own, part), join(other, part));
  }
  for (const part of ['bin', 'dist/bundle'])
    cpSync(join(ROOT, 'packages/cli', part), join(cli, part), { recursive: true });
  const bundle = join(cli, 'dist', 'bundle');
  for (const name of readdirSync(bundle)) {
    if (name.endsWith('.js')) renamed(join(bundle, name), join(bundle, name), version, changed);
  }
  return join(cli, 'bin', 'muster.js');
}

function renamed(from: string, to: string, version: string, changed = (text: string): string => text): void {
  writeFileSync(to, changed(readFileSync(from, 'utf8').replaceAll(PRESENT, `"${version}"`)));
}

/** A program that says it is this version, and then, as an agent, does that. */
export function pretender(version: string, agent: string): string {
  return `#!/bin/sh\n[ "$1" = --version ] && { echo ${version}; exit; }\n${agent}\n`;
}
