import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { packagedUnit } from './contents.mjs';

const COMPLETIONS = {
  bash: 'usr/share/bash-completion/completions/muster',
  zsh: 'usr/share/zsh/vendor-completions/_muster',
  fish: 'usr/share/fish/vendor_completions.d/muster.fish',
};

/**
 * Lays out the files of a package as they will be installed.
 *
 * @param {{ root: string, tree: string, executable: string, manPages: ReadonlyMap<string, string>, completions: Record<string, string>,
 *   licences: string, epoch: number }} given
 */
export function layOut(one, { root, tree, executable, manPages, completions, licences, epoch }) {
  rmSync(tree, { recursive: true, force: true });
  const write = (path, content, mode = 0o644) => {
    mkdirSync(dirname(join(tree, path)), { recursive: true, mode: 0o755 });
    writeFileSync(join(tree, path), content);
    chmodSync(join(tree, path), mode);
  };
  if (one.binary) {
    mkdirSync(join(tree, 'usr/bin'), { recursive: true });
    copyFileSync(executable, join(tree, 'usr/bin/muster'));
    chmodSync(join(tree, 'usr/bin/muster'), 0o755);
    for (const [name, text] of manPages) write(`usr/share/man/man1/${name}.gz`, zipped(text));
    for (const [shell, path] of Object.entries(COMPLETIONS)) write(path, completions[shell]);
    write('usr/share/doc/muster/licences.gz', zipped(licences));
  }
  const doc = `usr/share/doc/${one.name}`;
  write(`${doc}/copyright`, COPYRIGHT);
  write(`${doc}/changelog.gz`, zipped(readFileSync(join(root, 'CHANGELOG.md'))));
  for (const unit of one.units) {
    write(`lib/systemd/system/${unit}`, packagedUnit(readFileSync(join(root, 'deploy/systemd', unit), 'utf8')));
  }
  for (const name of one.settings) write(`etc/muster/${name}`, readFileSync(join(root, 'deploy/packages', name)));
  // The same bytes whenever it is made.
  for (const path of ['', ...readdirSync(tree, { recursive: true })]) utimesSync(join(tree, path), epoch, epoch);
}

/** Without a name and a time. */
function zipped(content) {
  return gzipSync(content, { level: 9 });
}

const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: muster

Files: *
Copyright: The Muster authors
License: Apache-2.0

License: Apache-2.0
 On Debian systems the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0. Licences of what the executable
 contains, Node.js and packages of others, are in /usr/share/doc/muster/licences.gz.
`;
