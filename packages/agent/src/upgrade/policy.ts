import { type MinisignKey, readMinisignKey } from '@muster/signing';
import { type CommandOptions, UPGRADE_FILES, upgradeFileAt } from '@muster/wire';
import type { AgentConfig } from '../config.js';
import { MusterError } from '../errors.js';
import { compareVersions, isVersion } from './version.js';

/** Whether this node upgrades its agent, and to what: its owner's decision, not the server's. */
export interface UpgradePolicy {
  /** Of those who make the releases that this node runs. */
  readonly key: MinisignKey;
  readonly probationMs: number;
  /** Why the owner does not want this version; null: it may be. */
  refuse(version: string, options: CommandOptions): string | null;
}

export const NO_UPGRADES = 'this node does not upgrade its agent; its owner allows it with upgrade in agent.yaml';

/** Options that people may give beside an upgrade without that they mean anything. */
const HARMLESS: ReadonlySet<string> = new Set(['uploads', 'words'] satisfies (keyof CommandOptions)[]);

/**
 * Null: its owner allows none. `running`: the version of this agent.
 * @throws MusterError `invalid_configuration`
 */
export function upgradePolicy({ upgrade }: Pick<AgentConfig, 'upgrade'>, running: string): UpgradePolicy | null {
  if (upgrade === undefined) return null;
  const { lowest } = upgrade;
  return {
    key: readKey(upgrade.key),
    probationMs: upgrade.probation * 1000,
    refuse(version, options) {
      if (!isVersion(version)) return `'${version.slice(0, 64)}' is not a version such as 1.2.3`;
      const stray = Object.keys(options).find((name) => !HARMLESS.has(name));
      if (stray !== undefined) return `an upgrade takes nothing but a release, and this one asks for ${stray}`;
      if (!isWhole(options)) return `an upgrade takes the files of a release: ${UPGRADE_FILES.join(', ')}`;
      if (version === running || compareVersions(version, running) > 0) return null;
      if (lowest !== undefined && compareVersions(version, lowest) >= 0) return null;
      const allowed = lowest === undefined ? 'none' : `none below ${lowest}`;
      return `${version} is older than ${running}, which runs here; of older versions the node's owner allows ${allowed} (upgrade.lowest in agent.yaml)`;
    },
  };
}

function isWhole({ uploads = [] }: CommandOptions): boolean {
  const names = new Set(uploads.map(({ dest }) => upgradeFileAt(dest)));
  return uploads.length === UPGRADE_FILES.length && UPGRADE_FILES.every((name) => names.has(name));
}

function readKey(text: string): MinisignKey {
  try {
    return readMinisignKey(text);
  } catch (cause) {
    const reason = `upgrade.key: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new MusterError('invalid_configuration', { reason }, { cause });
  }
}
