import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

// What packages consist of; `npm run release`, and then scripts/packages/try-packages.sh, makes them and runs what is in them.

interface Package {
  readonly name: string;
  readonly units: readonly string[];
  readonly settings: readonly string[];
}
/** Without types: Node.js runs them as they are. */
const script = (path: string) => import(new URL(`../scripts/packages/${path}`, import.meta.url).href);
const { PACKAGES, packagedUnit } = (await script('contents.mjs')) as {
  readonly PACKAGES: readonly Package[];
  readonly packagedUnit: (text: string) => string;
};
const { controlFile, maintainerScripts } = (await script('deb.mjs')) as {
  readonly controlFile: (one: Package, its: { readonly version: string; readonly arch: string }) => string;
  readonly maintainerScripts: (one: Package) => Readonly<Record<string, string>>;
};
const { specFile } = (await script('rpm.mjs')) as {
  readonly specFile: (one: Package, its: { readonly version: string; readonly files: readonly string[] }) => string;
};
const { tooNew } = (await script('single/natives.mjs')) as {
  readonly tooNew: (needed: Readonly<Record<string, string>>) => readonly string[];
};

const { manifest } = (await script('npm.mjs')) as {
  readonly manifest: (version: string, locked: object) => { readonly dependencies: object; readonly bin: object };
};

const DEPLOY = new URL('../deploy/', import.meta.url);
const MUSTER = fileURLToPath(new URL('../packages/cli/bin/muster.js', import.meta.url));
const of = (name: string) => PACKAGES.find((one) => one.name === name) as Package;

describe('packages', () => {
  it('have every unit and every example of settings, each once', () => {
    const sorted = (names: readonly string[]) => [...names].sort();
    const units = readdirSync(new URL('systemd/', DEPLOY)).filter((name) => name.endsWith('.service'));
    expect(sorted(PACKAGES.flatMap((one) => one.units))).toEqual(sorted(units));
    expect(sorted(PACKAGES.flatMap((one) => one.settings))).toEqual(sorted(readdirSync(new URL('packages/', DEPLOY))));
  });

  it.each(PACKAGES.flatMap((one) => one.units))('%s starts the executable of the package', (unit) => {
    const text = packagedUnit(readFileSync(new URL(`systemd/${unit}`, DEPLOY), 'utf8'));
    expect(text).toMatch(/^ExecStart=\/usr\/bin\/muster /m);
    expect(text).not.toMatch(/checkout|\/usr\/local/);
  });

  it.each(PACKAGES.map(({ name }) => name))('%s has scripts that a shell reads', (name) => {
    for (const [script, text] of Object.entries(maintainerScripts(of(name)))) {
      const { status, stderr } = spawnSync('sh', ['-n'], { input: text, encoding: 'utf8' });
      expect({ script, status, stderr }).toEqual({ script, status: 0, stderr: '' });
    }
  });

  it('restart on an upgrade what runs, and start nothing at the first installation', () => {
    const { postinst = '' } = maintainerScripts(of('muster-agent'));
    expect(postinst).toContain(`if [ -n "$2" ]; then systemctl try-restart 'muster-agent.service'; fi`);
    expect(postinst).not.toMatch(/systemctl (start|enable)/);
    expect(maintainerScripts(of('muster'))).toEqual({});
  });

  it('need the executable of their own version', () => {
    const control = controlFile(of('muster-server'), { version: '1.2.3', arch: 'all' });
    expect(control).toContain('\nDepends: muster (= 1.2.3), passwd\n');
    expect(controlFile(of('muster'), { version: '1.2.3', arch: 'amd64' })).toContain('Depends: libc6 (>= 2.28),');
  });

  it('are the same as RPM, which keeps settings that were changed', () => {
    const spec = specFile(of('muster-agent'), {
      version: '1.2.3',
      files: ['/etc/muster/agent.yaml', '/lib/systemd/system/x'],
    });
    expect(spec).toContain('\nRequires: muster = 1.2.3-1\n');
    expect(spec).toContain('\n%config(noreplace) /etc/muster/agent.yaml\n/lib/systemd/system/x\n');
    expect(spec).toContain(`if [ "$1" -gt 1 ]; then systemctl try-restart 'muster-agent.service'; fi`);
  });

  it('bring settings with which a server would start, and an agent says what it lacks', () => {
    const directory = mkdtempSync(join(tmpdir(), 'muster-packages-'));
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [MUSTER, ...args], { cwd: directory, encoding: 'utf8' });
    const settings = (name: string) => fileURLToPath(new URL(`packages/${name}`, DEPLOY));
    expect(run('server', '--config', settings('server.yaml'), '--check-config')).toMatchObject({ status: 0 });
    const agent = run('agent', '--config', settings('agent.yaml'), '--data-dir', directory);
    expect(agent).toMatchObject({ status: 2 });
    expect(agent.stderr).toContain('server');
    rmSync(directory, { recursive: true });
  });
});

it('tells native modules that the oldest systems could not load', () => {
  expect(tooNew({ GLIBC: '2.28', GLIBCXX: '3.4.9', CXXABI: '1.3.11' })).toEqual([]);
  expect(tooNew({ GLIBC: '2.29', GLIBCXX: '3.4.26' })).toEqual(['GLIBC 2.29', 'GLIBCXX 3.4.26']);
});

it('asks npm for what the bundle leaves out and nothing more, in the versions of the lock file', () => {
  const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  const [, outside = ''] = /const OUTSIDE = \[([^\]]*)\]/.exec(read('scripts/bundle.mjs')) ?? [];
  const names = [...outside.matchAll(/'([^']+)'/g)].map(([, name]) => name as string);
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> };
  const { dependencies, bin } = manifest('1.2.3', packages);
  expect(dependencies).toEqual(
    Object.fromEntries(names.map((name) => [name, packages[`node_modules/${name}`]?.version])),
  );
  expect(bin).toEqual({ muster: 'packages/cli/bin/muster.js' });
});
