import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Affected {
  readonly id: string;
  readonly name: string;
  readonly version: string;
}
const { affectedPackages, compareVersions } = (await import(
  new URL('../scripts/advisories/affected.mjs', import.meta.url).href
)) as {
  readonly affectedPackages: (lock: object, advisories: readonly object[]) => readonly Affected[];
  readonly compareVersions: (a: string, b: string) => number;
};
const MAIN = fileURLToPath(new URL('../scripts/advisories/main.mjs', import.meta.url));

const lock = (packages: Readonly<Record<string, object>>) => ({ packages: { '': { name: 'workspace' }, ...packages } });
const advisory = (name: string, its: object) => ({
  id: 'GHSA-1',
  summary: 'it breaks',
  affected: [{ package: { ecosystem: 'npm', name }, ...its }],
});
const semver = (...events: readonly object[]) => ({ ranges: [{ type: 'SEMVER', events }] });
const within = (version: string, its: object) =>
  affectedPackages(lock({ 'node_modules/ws': { version } }), [advisory('ws', its)]).length > 0;

describe('advisories', () => {
  it('are for versions from one that brought the fault to before the one that mended it, several times', () => {
    const range = semver({ introduced: '0' }, { fixed: '7.5.10' }, { introduced: '8.0.0' }, { fixed: '8.17.1' });
    expect(['1.0.0', '7.5.9', '8.0.0', '8.17.0'].filter((version) => within(version, range))).toHaveLength(4);
    expect(['7.5.10', '7.9.0', '8.17.1', '9.0.0'].filter((version) => within(version, range))).toEqual([]);
  });

  it('are for a last version, too, and for versions by name', () => {
    const last = semver({ introduced: '1.0.0' }, { last_affected: '1.2.0' });
    expect([within('0.9.0', last), within('1.2.0', last), within('1.2.1', last)]).toEqual([false, true, false]);
    expect([within('1.0.0', { versions: ['1.0.0'] }), within('1.0.1', { versions: ['1.0.0'] })]).toEqual([true, false]);
  });

  it('know that what comes before a version is older', () => {
    const order = [
      '0',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0',
      '1.10.0',
    ];
    for (const [at, version] of order.slice(1).entries()) {
      expect(compareVersions(order[at] as string, version)).toBeLessThan(0);
      expect(compareVersions(version, order[at] as string)).toBeGreaterThan(0);
    }
    expect(compareVersions('1.0.0+build', '1.0.0')).toBe(0);
  });

  it('are looked up under the name that an alias stands for, wherever it is installed', () => {
    const installed = lock({
      'node_modules/a/node_modules/other': { name: '@scope/ws', version: '1.0.0' },
      'node_modules/@scope/ws': { version: '2.0.0' },
      'packages/ws': { name: '@scope/ws', version: '1.0.0' },
    });
    const found = affectedPackages(installed, [advisory('@scope/ws', semver({ introduced: '0' }, { fixed: '2.0.0' }))]);
    expect(found.map(({ id, name, version }) => ({ id, name, version }))).toEqual([
      { id: 'GHSA-1', name: '@scope/ws', version: '1.0.0' },
    ]);
  });

  it('that were withdrawn, or are for other ecosystems, count for nothing', () => {
    const all = semver({ introduced: '0' });
    const installed = lock({ 'node_modules/ws': { version: '1.0.0' } });
    expect(affectedPackages(installed, [{ ...advisory('ws', all), withdrawn: '2026-01-01T00:00:00Z' }])).toEqual([]);
    const python = { id: 'PYSEC-1', affected: [{ package: { ecosystem: 'PyPI', name: 'ws' }, ...all }] };
    expect(affectedPackages(installed, [python])).toEqual([]);
  });

  it('end the check with what is affected and where it is mended', () => {
    const directory = mkdtempSync(join(tmpdir(), 'muster-advisories-'));
    const file = join(directory, 'lock.json');
    writeFileSync(file, JSON.stringify(lock({ 'node_modules/ws': { version: '8.17.0' } })));
    const { status, stderr } = spawnSync(process.execPath, [MAIN, '--lock', file], { encoding: 'utf8' });
    rmSync(directory, { recursive: true });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^ws 8\.17\.0: .* \(GHSA-3h5v-q93c-6h6q; fixed in 7\.5\.10, 8\.17\.1\)$/m);
  });
});
