import { UPGRADE_FILES, UPGRADE_PLACE } from '@muster/wire';
import { expect, test } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { commandPolicy } from '../../src/execution/command-policy.js';
import { checkJob } from '../../src/execution/prepare.js';
import { filePolicy } from '../../src/files/policy.js';
import { upgradePolicy } from '../../src/upgrade/policy.js';
import { newReleaseKey } from '../support/release.js';

const RUNNING = '1.1.0';
const { publicKey } = newReleaseKey();
const upload = (name: string) => ({ dest: `${UPGRADE_PLACE}/${name}`, sha256: 'a'.repeat(64), size: 1, mode: 0o644 });
const uploads = UPGRADE_FILES.map(upload);

function refusal(
  upgrade: Readonly<Record<string, unknown>> | null,
  version: string,
  options = { uploads },
): string | null {
  const config = parseAgentConfig(upgrade === null ? {} : { upgrade: { key: publicKey, ...upgrade } });
  const policy = upgradePolicy(config, RUNNING);
  return policy === null ? 'none' : policy.refuse(version, options);
}

test('an owner who says nothing allows none', () => {
  expect(refusal(null, '1.2.0')).toBe('none');
});

test('a newer version, and the one that runs, are taken', () => {
  expect([refusal({}, '1.1.1'), refusal({}, '1.1.0')]).toEqual([null, null]);
});

test('an older version is refused', () => {
  expect(refusal({}, '1.0.9')).toBe(
    "1.0.9 is older than 1.1.0, which runs here; of older versions the node's owner allows none (upgrade.lowest in agent.yaml)",
  );
});

test('an older version is taken down to the lowest that the owner allows', () => {
  expect(refusal({ lowest: '1.0.5' }, '1.0.5')).toBeNull();
  expect(refusal({ lowest: '1.0.5' }, '1.0.4')).toContain('allows none below 1.0.5');
});

test.each(['', '../../bin', '1.2', 'latest'])("'%s' is no version to upgrade to", (version) => {
  expect(refusal({}, version)).toContain('is not a version such as 1.2.3');
});

test('a release that is not whole is refused', () => {
  expect(refusal({}, '1.2.0', { uploads: uploads.slice(1) })).toContain('an upgrade takes the files of a release');
  expect(refusal({}, '1.2.0', { uploads: [...uploads, upload('more')] })).toContain('an upgrade takes the files');
});

test('what a command may have besides, an upgrade may not', () => {
  expect(refusal({}, '1.2.0', { uploads, user: 'root' } as never)).toContain('this one asks for user');
});

test('a key that is none stops the agent from starting', () => {
  expect(() => parseAgentConfig({ upgrade: { key: 'RWshort' } })).toThrow('upgrade.key');
  expect(() => upgradePolicy({ upgrade: { key: `RW${'A'.repeat(54)}`, probation: 25 } }, RUNNING)).toThrow(
    'upgrade.key',
  );
});

test('an agent that runs any command upgrades itself only where upgrades are allowed', async () => {
  const config = parseAgentConfig({ allow_any: true, allow_upload: ['/**'] });
  const policies = { policy: commandPolicy(config), files: filePolicy(config, 'acme') };
  expect(await checkJob(policies, 'muster-agent-upgrade 1.2.0', { uploads })).toEqual({
    refused: 'this node does not upgrade its agent; its owner allows it with upgrade in agent.yaml',
  });
});
