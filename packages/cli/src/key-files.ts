import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { generateKeyPair } from '@muster/signing';
import type { Command } from 'commander';
import { duration } from './duration.js';
import { MusterError } from './errors.js';
import { readText } from './settings.js';
import type { World } from './world.js';

export interface KeyChoice {
  readonly publicKey?: string;
  readonly keyOut?: string;
  /** Seconds. */
  readonly expires?: number;
}

export function withKeyFlags(command: Command): Command {
  return command
    .option('--public-key <file>', 'PEM file with its public key')
    .option('--key-out <file>', 'make a key pair and write the private key here')
    .option(
      '--expires <duration>',
      'after which the key is refused, such as 90d; never unless given',
      duration('--expires'),
    );
}

/** For the body of a request, under the name that `--expires` has there. */
export function ttlOf<Field extends string>(
  field: Field,
  { expires }: KeyChoice,
): { readonly [name in Field]?: number } {
  return (expires === undefined ? {} : { [field]: Math.ceil(expires) }) as { [name in Field]?: number };
}

/**
 * The public key to register: read from `--public-key`, or of a new pair whose private half is written to `--key-out`
 * (mode 0600, never over an existing file). The server never sees a private key. If `register` fails, the file that
 * was written is taken back.
 */
export async function withPublicKey<T>(
  world: World,
  choice: KeyChoice,
  register: (publicKey: string) => Promise<T>,
): Promise<T> {
  const { publicKey, keyOut } = choice;
  if ((publicKey === undefined) === (keyOut === undefined)) {
    throw new MusterError('usage', { reason: 'give either --public-key FILE or --key-out FILE' });
  }
  if (publicKey !== undefined) return register(readText(resolve(world.cwd, publicKey)));
  const path = resolve(world.cwd, keyOut ?? '');
  const pair = await generateKeyPair();
  writePrivateKey(path, pair.privateKey);
  try {
    return await register(pair.publicKey);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

function writePrivateKey(path: string, pem: string): void {
  try {
    writeFileSync(path, pem, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const reason = code === 'EEXIST' ? `${path} exists and is not overwritten` : `cannot write ${path} (${code})`;
    throw new MusterError('usage', { reason }, { cause: error });
  }
}
