import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configured, forgotten, MAINTAINER, stopped } from './contents.mjs';

/** Makes a Debian package of what lies in `tree`. Needs `dpkg-deb`, which Debian always has. Returns its file. */
export function makeDeb(one, { version, arch, tree, out }) {
  const control = join(tree, 'DEBIAN');
  rmSync(control, { recursive: true, force: true });
  mkdirSync(control);
  writeFileSync(join(control, 'control'), controlFile(one, { version, arch: one.binary ? arch : 'all' }));
  if (one.settings.length > 0) {
    writeFileSync(join(control, 'conffiles'), one.settings.map((name) => `/etc/muster/${name}\n`).join(''));
  }
  for (const [name, text] of Object.entries(maintainerScripts(one))) {
    writeFileSync(join(control, name), text);
    chmodSync(join(control, name), 0o755);
  }
  const file = join(out, `${one.name}_${version}_${one.binary ? arch : 'all'}.deb`);
  // Of xz the oldest versions know, too.
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', tree, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
}

export function controlFile({ name, binary, summary, description, needs }, { version, arch }) {
  const depends = [...(binary ? [] : [`muster (= ${version})`]), ...needs.deb];
  return [
    `Package: ${name}`,
    `Version: ${version}`,
    `Architecture: ${arch}`,
    'Section: admin',
    'Priority: optional',
    `Maintainer: ${MAINTAINER}`,
    `Depends: ${depends.join(', ')}`,
    `Description: ${summary}`,
    ` ${description}`,
    '',
  ].join('\n');
}

/** By file name; none that does nothing. */
export function maintainerScripts(one) {
  const after = configured(one, '[ -n "$2" ]');
  const before = stopped(one);
  const gone = [
    ...when('remove', forgotten(one)),
    ...when(
      'purge',
      one.state.length === 0
        ? []
        : [`rm -rf ${one.state.join(' ')}`, 'rmdir --ignore-fail-on-non-empty /etc/muster || true'],
    ),
  ];
  const scripts = { postinst: when('configure', after), prerm: when('remove', before), postrm: gone };
  return Object.fromEntries(
    Object.entries(scripts)
      .filter(([, lines]) => lines.length > 0)
      .map(([name, lines]) => [name, ['#!/bin/sh', 'set -e', ...lines, ''].join('\n')]),
  );
}

function when(action, lines) {
  if (lines.length === 0) return [];
  return [`if [ "$1" = ${action} ]; then`, ...lines.map((line) => `  ${line}`), 'fi'];
}
