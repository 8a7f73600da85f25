/**
 * Makes, in `release/`, all that is handed out: the executable, packages, and what says what is in them. `npm run release` builds
 * first. Each output is made anew; `release/work` holds what is made on the way.
 *
 * `--sign FILE` signs the checksums with a private key (Ed25519, PEM). `--check-reproducible` makes everything twice, the second time
 * elsewhere, and fails when not each byte is the same.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { manPages } from '@muster/cli';
import { billOfMaterials, componentsOf, licenceOfNode, licences } from './components.mjs';
import { PACKAGES } from './contents.mjs';
import { makeDeb } from './deb.mjs';
import { makeNpm } from './npm.mjs';
import { checksums, rebuiltDifferences } from './reproducible.mjs';
import { makeRpm } from './rpm.mjs';
import { publicKeyFile, signatureFile, signingKey, verified } from './signature.mjs';
import { buildSingle } from './single/build.mjs';
import { nativeModules, neededVersions, tooNew } from './single/natives.mjs';
import { layOut } from './tree.mjs';

const DEBIAN = { x64: 'amd64', arm64: 'arm64' };
const RED_HAT = { x64: 'x86_64', arm64: 'aarch64' };

const { values: options } = parseArgs({
  options: { sign: { type: 'string' }, 'check-reproducible': { type: 'boolean', default: false } },
});
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const out = join(root, 'release');
const work = join(out, 'work');
const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct'));
process.env.SOURCE_DATE_EPOCH = String(epoch);
process.umask(0o022);
const commit = git('rev-parse', 'HEAD');
const key = options.sign === undefined ? undefined : signingKey(readFileSync(options.sign, 'utf8'));
if (options['check-reproducible'] && git('status', '--porcelain') !== '') {
  throw new Error('--check-reproducible compares with what is committed: commit first, or put aside what is not');
}

rmSync(out, { recursive: true, force: true });
mkdirSync(work, { recursive: true });

const node = process.execPath;
const natives = nativeModules(join(root, 'node_modules/.cache/muster-natives'));
for (const [name, file] of Object.entries({ 'Node.js': node, ...natives })) {
  const needed = neededVersions(file);
  const above = tooNew(needed);
  if (above.length > 0)
    throw new Error(`${name} (${file}) needs ${above.join(', ')}, which the oldest systems do not have`);
  tell(
    `${name}: ${Object.entries(needed)
      .map((pair) => pair.join(' '))
      .join(', ')}`,
  );
}

if (statSync(join(root, 'packages/agent/dist/muster-forker')).size === 0) {
  throw new Error('what starts the commands of agents was not built: it needs a C compiler (Debian: gcc, libc6-dev)');
}
const executable = join(out, 'muster');
const modules = await buildSingle({ node, natives, work: join(work, 'single'), out: executable });
const components = componentsOf(root, modules);
const about = { version: process.version.slice(1), licence: licenceOfNode(node) };
const bill = billOfMaterials(components, { version, node: about, epoch, commit });
writeFileSync(join(out, 'muster.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`);
writeFileSync(join(out, 'licences.txt'), licences(components, about));

const rpmbuild = spawnSync('rpmbuild', ['--version']).status === 0;
if (!rpmbuild) tell('no rpm packages: there is no rpmbuild (Debian: rpm)');
const shells = ['bash', 'zsh', 'fish'];
const completions = Object.fromEntries(shells.map((shell) => [shell, execFileSync(executable, ['completion', shell])]));
for (const one of PACKAGES) {
  const tree = join(work, one.name);
  layOut(one, {
    root,
    tree,
    executable,
    manPages: await manPages(version),
    completions,
    licences: readFileSync(join(out, 'licences.txt')),
    epoch,
  });
  tell(makeDeb(one, { version, arch: DEBIAN[process.arch], tree, out }));
  if (rpmbuild) tell(makeRpm(one, { version, arch: RED_HAT[process.arch], tree, out, work: join(work, 'rpm') }));
}

tell(makeNpm({ root, version, out, work: join(work, 'npm') }));

const files = readdirSync(out, { withFileTypes: true }).filter((entry) => entry.isFile());
const sums = checksums(
  out,
  files.map(({ name }) => name),
);
writeFileSync(join(out, 'SHA256SUMS'), sums);
tell(join(out, 'SHA256SUMS'));

if (options['check-reproducible']) {
  const found = rebuiltDifferences({ root, out });
  if (found.length > 0) throw new Error(`made again, these are different:\n${found.join('\n')}`);
  tell(`made again elsewhere: ${files.length} files, the same bytes`);
}
if (key !== undefined) {
  const signature = signatureFile(
    sums,
    key,
    `muster ${version} for ${process.platform}-${process.arch}, commit ${commit}`,
  );
  const publicKey = publicKeyFile(key);
  tell(`signed: ${verified(sums, signature, publicKey)}`);
  writeFileSync(join(out, 'SHA256SUMS.minisig'), signature);
  writeFileSync(join(out, 'muster.pub'), publicKey);
}

function tell(line) {
  process.stdout.write(`${line}\n`);
}
