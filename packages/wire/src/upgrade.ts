/** How a push job asks agents to upgrade themselves: by a command that they know, and the files of a release beside it. */

/** The command's first word; the second is the version. */
export const UPGRADE_COMMAND = 'muster-agent-upgrade';

/** The files of a release that an agent needs, which come as uploads to this directory. Each agent keeps them in a place of its own. */
export const UPGRADE_PLACE = `/${UPGRADE_COMMAND}`;
export const UPGRADE_FILES = ['muster', 'SHA256SUMS', 'SHA256SUMS.minisig'] as const;

export type UpgradeFile = (typeof UPGRADE_FILES)[number];

/** Null: it is none of these. */
export function upgradeFileAt(dest: string): UpgradeFile | null {
  return UPGRADE_FILES.find((name) => dest === `${UPGRADE_PLACE}/${name}`) ?? null;
}

/** The version that a command asks for; null: it is another command. */
export function versionAskedFor(command: string): string | null {
  const [name, version, ...others] = command.trim().split(/\s+/);
  return name === UPGRADE_COMMAND && others.length === 0 ? (version ?? '') : null;
}
