import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configured, forgotten, stopped } from './contents.mjs';

/** Makes an RPM of what lies in `tree`. Needs `rpmbuild` (Debian: package `rpm`). Returns its file. */
export function makeRpm(one, { version, arch, tree, out, work }) {
  rmSync(work, { recursive: true, force: true });
  const root = join(work, 'root');
  mkdirSync(work, { recursive: true });
  cpSync(tree, root, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => path !== join(tree, 'DEBIAN'),
  });
  const spec = join(work, `${one.name}.spec`);
  const target = one.binary ? arch : 'noarch';
  writeFileSync(spec, specFile(one, { version, files: installed(root) }));
  const defines = {
    _topdir: work,
    _rpmdir: out,
    _build_name_fmt: '%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm',
    // What RPM of Debian would else do with executables: ours would not run any more.
    __os_install_post: '%{nil}',
    _build_id_links: 'none',
    _buildhost: 'localhost',
    // Of xz RHEL 8 knows, too.
    _binary_payload: 'w6.xzdio',
    use_source_date_epoch_as_buildtime: '1',
    clamp_mtime_to_source_date_epoch: '1',
  };
  const words = Object.entries(defines).flatMap(([name, value]) => ['--define', `${name} ${value}`]);
  const options = ['-bb', '--quiet', '--target', target, '--buildroot', root, '--nodeps', ...words];
  execFileSync('rpmbuild', [...options, spec], { stdio: ['ignore', 'ignore', 'inherit'] });
  return join(out, `${one.name}-${version}-1.${target}.rpm`);
}

/** Of the package without the files that it did not bring. */
export function specFile(one, { version, files }) {
  const { name, binary, summary, description, needs, state } = one;
  const requires = [...(binary ? [] : [`muster = ${version}-1`]), ...needs.rpm];
  const scripts = {
    '%post': configured(one, '[ "$1" -gt 1 ]'),
    '%preun': unlessUpgraded(stopped(one)),
    '%postun': unlessUpgraded(forgotten(one)),
  };
  return [
    `Name: ${name}`,
    `Version: ${version}`,
    'Release: 1',
    `Summary: ${summary}`,
    'License: Apache-2.0',
    'AutoReqProv: no',
    ...requires.map((each) => `Requires: ${each}`),
    '',
    '%description',
    description,
    ...(state.length === 0 ? [] : ['', `Removing it leaves ${state.join(' and ')}.`]),
    ...Object.entries(scripts).flatMap(([title, lines]) => (lines.length === 0 ? [] : ['', title, ...lines])),
    '',
    '%files',
    ...files.map((path) => (path.startsWith('/etc/') ? `%config(noreplace) ${path}` : path)),
    '',
  ].join('\n');
}

/** RPM counts what stays: nothing, when the package goes for good. */
function unlessUpgraded(lines) {
  return lines.length === 0 ? [] : ['if [ "$1" -eq 0 ]; then', ...lines.map((line) => `  ${line}`), 'fi'];
}

function installed(root) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .sort();
}
