import { type MinisignKey, verifyMinisign } from '@muster/signing';

export { readMinisignKey } from '@muster/signing';
export { UPGRADE_COMMAND, UPGRADE_FILES, UPGRADE_PLACE } from '@muster/wire';
export { isVersion } from './version.js';

/** What whoever holds the release key vouches for. */
export interface SignedRelease {
  readonly version: string;
  /** `linux-x64`. */
  readonly platform: string;
  /** Of the executable: 64 digits of 0-9 and a-f. */
  readonly sha256: string;
}

/** Where this process runs, as releases name it. */
export const OWN_PLATFORM = `${process.platform}-${process.arch}`;

/** The comment that a release signs: `muster 1.2.3 for linux-x64, commit 0123abc`. */
const COMMENT = /^muster (\S+) for (\S+), commit [0-9a-f]+$/;
const LINE = /^([0-9a-f]{64}) [ *]muster$/;

/**
 * @param sums The text of SHA256SUMS.
 * @param signature That of SHA256SUMS.minisig.
 * @throws MinisignError when the key has not signed it; Error when what it has signed is no release of muster
 */
export function signedRelease(sums: string, signature: string, key: MinisignKey): SignedRelease {
  const comment = verifyMinisign(Buffer.from(sums), signature, key);
  const [, version, platform] = COMMENT.exec(comment) ?? [];
  if (version === undefined || platform === undefined) {
    throw new Error(`what is signed is not a release of muster for one platform: '${comment.slice(0, 200)}'`);
  }
  const found = sums.split('\n').flatMap((line) => LINE.exec(line)?.[1] ?? []);
  const [sha256] = found;
  if (sha256 === undefined || found.length > 1) throw new Error('SHA256SUMS does not name the executable muster once');
  return { version, platform, sha256 };
}

/** Why a signed release is not what was asked for; null: it is. */
export function mistaken(release: SignedRelease, version: string, platform = OWN_PLATFORM): string | null {
  if (release.version !== version) return `the release is version ${release.version}, not ${version}`;
  if (release.platform !== platform) return `the release is for ${release.platform}, and this node is ${platform}`;
  return null;
}
