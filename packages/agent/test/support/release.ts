import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
// @ts-expect-error a script, which has no types
import { publicKeyFile, signatureFile, signingKey } from '../../../../scripts/packages/signature.mjs';

/** A key that signs releases, as `npm run release -- --sign` does. */
export interface ReleaseKey {
  /** The line for agent.yaml. */
  readonly publicKey: string;
  readonly file: string;
  sign(content: string, comment: string): string;
}

export function newReleaseKey(): ReleaseKey {
  const key = signingKey(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const file: string = publicKeyFile(key);
  return {
    file,
    publicKey: file.split('\n')[1] ?? '',
    sign: (content, comment) => signatureFile(content, key, comment),
  };
}

export interface TestRelease {
  readonly version: string;
  /** The program in the place of the executable. */
  readonly program: string;
  readonly key: ReleaseKey;
  readonly platform?: string;
}

/** A signed release with that program in it. */
export function makeRelease(directory: string, { version, program, key, platform }: TestRelease): string {
  mkdirSync(directory, { recursive: true });
  const sums = `${createHash('sha256').update(program).digest('hex')}  muster\n`;
  const on = platform ?? `${process.platform}-${process.arch}`;
  writeFileSync(join(directory, 'muster'), program, { mode: 0o755 });
  writeFileSync(join(directory, 'SHA256SUMS'), sums);
  writeFileSync(join(directory, 'SHA256SUMS.minisig'), key.sign(sums, `muster ${version} for ${on}, commit 0123abc`));
  writeFileSync(join(directory, 'muster.pub'), key.file);
  return directory;
}
