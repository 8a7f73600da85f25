import { execFileSync } from 'node:child_process';
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ServerConfig } from '../config/schema.js';
import { MusterError } from '../errors.js';

const VERSION = 1;
const KEY_BYTES = 32;
const ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + ID_BYTES;
/** What a program that prints the key may take. */
const COMMAND_MS = 30_000;
const COMMAND_BYTES = 4096;

/**
 * Seals what must not stand in the database as it is, secrets of organizations and what opens execution systems: AES-256-GCM, a
 * byte of version, which key it was, nonce, tag, text. What is sealed opens for what it was made for, and for nothing else.
 */
export class SealingKey {
  readonly #key: Buffer;
  /** What everything begins with that was sealed with this key: the version, and which key it was. */
  readonly head: Buffer;

  private constructor(key: Buffer) {
    this.#key = key;
    const id = createHash('sha256').update('muster secret key id').update(key).digest().subarray(0, ID_BYTES);
    this.head = Buffer.concat([Buffer.of(VERSION), id]);
  }

  /** @param key 32 bytes. */
  static of(key: Uint8Array): SealingKey {
    return new SealingKey(Buffer.from(key));
  }

  /**
   * With the key of a file, which is made when it is not there and `make` says so. Only its owner may read it.
   * @param setting That names the file.
   * @throws MusterError `secret_key_unusable`
   */
  static open(path: string, { make, setting }: { readonly make: boolean; readonly setting?: string }): SealingKey {
    try {
      if (make) makeKey(path);
      const { mode } = statSync(path);
      if ((mode & 0o077) !== 0) throw new Error('others than its owner may read it; run chmod 600 on it');
      return new SealingKey(keyWritten(readFileSync(path, 'utf8')));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const from = setting === undefined ? resolve(path) : `${resolve(path)} (${setting})`;
      throw new MusterError('secret_key_unusable', { from, reason }, { cause: error });
    }
  }

  /**
   * With the key that a program prints, such as one that asks a key management service. Run once, without a shell.
   * @throws MusterError `secret_key_unusable`
   */
  static printedBy(command: readonly string[]): SealingKey {
    const [program = '', ...args] = command;
    const options = { timeout: COMMAND_MS, maxBuffer: COMMAND_BYTES, encoding: 'utf8' } as const;
    try {
      return new SealingKey(
        keyWritten(execFileSync(program, args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] })),
      );
    } catch (error) {
      // The message of what failed may hold what it printed.
      throw new MusterError('secret_key_unusable', { from: program, reason: whyNoKey(error) });
    }
  }

  /** Another key, for something else: the same each time. @param purpose Such as `webhooks`. */
  derive(purpose: string): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.#key, '', `muster ${purpose}`, KEY_BYTES));
  }

  /** @param owner What it belongs to, by an id. @param value Goes through JSON. */
  seal(owner: string, value: unknown): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const { head } = this;
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.concat([head, Buffer.from(owner)]));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    return Buffer.concat([head, nonce, cipher.getAuthTag(), sealed]);
  }

  /** Was it sealed with this key? */
  sealed(bytes: Uint8Array): boolean {
    return this.head.equals(bytes.subarray(0, HEAD_BYTES));
  }

  /**
   * @param named How people know the owner.
   * @throws MusterError `secret_unreadable`
   */
  unseal<Value>(owner: string, sealed: Uint8Array, named = owner): Value {
    const bytes = Buffer.from(sealed);
    const head = bytes.subarray(0, HEAD_BYTES);
    if (bytes.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || head[0] !== VERSION) {
      throw unreadable(named, 'it is no sealed secret');
    }
    if (!head.equals(this.head)) throw unreadable(named, 'it was sealed with another key');
    const nonce = bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
    const tag = bytes.subarray(HEAD_BYTES + NONCE_BYTES, HEAD_BYTES + NONCE_BYTES + TAG_BYTES);
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce)
        .setAAD(Buffer.concat([head, Buffer.from(owner)]))
        .setAuthTag(tag);
      const text = bytes.subarray(HEAD_BYTES + NONCE_BYTES + TAG_BYTES);
      return JSON.parse(Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8')) as Value;
    } catch {
      // The cause may hold parts of what is secret.
      throw unreadable(named, 'it was changed, or belongs to something else');
    }
  }
}

/** What was sealed with a key that is no longer used, sealed with this one; null: it is already. @throws MusterError `secret_unreadable` */
export function resealed(key: SealingKey, former: SealingKey, owner: string, sealed: Uint8Array): Buffer | null {
  return key.sealed(sealed) ? null : key.seal(owner, former.unseal(owner, sealed));
}

/** Where the key of a server comes from, as it is configured: a program, or a file, which is made where `make` says so. */
export function openSealingKey(config: KeyConfig, { make }: { readonly make: boolean }): SealingKey {
  const { key_command: command } = config.secrets;
  return command === undefined ? openKeyFile(config, make) : SealingKey.printedBy(command);
}

/** The former key; null: none is configured. @throws MusterError `secret_key_unusable` */
export function openFormerKey({ secrets: { old_key_file: path } }: Pick<KeyConfig, 'secrets'>): SealingKey | null {
  return path === undefined ? null : SealingKey.open(path, { make: false, setting: 'secrets.old_key_file' });
}

/** Looks at the key files that are named, without making one; programs that print a key are not run. @throws MusterError `secret_key_unusable` */
export function checkKeyFiles(config: KeyConfig): void {
  openFormerKey(config);
  const { secret_key_file: path } = config.jobs;
  const isUsed = config.secrets.key_command === undefined && path !== undefined && existsSync(path);
  if (isUsed) openKeyFile(config, false);
}

type KeyConfig = Pick<ServerConfig, 'data_dir' | 'jobs' | 'secrets'>;

function openKeyFile(config: KeyConfig, make: boolean): SealingKey {
  const { secret_key_file: path } = config.jobs;
  if (path === undefined) return SealingKey.open(join(config.data_dir, 'job-secrets.key'), { make });
  return SealingKey.open(path, { make, setting: 'jobs.secret_key_file' });
}

function keyWritten(text: string): Buffer {
  const trimmed = text.trim();
  const key = Buffer.from(trimmed, 'base64');
  if (key.length !== KEY_BYTES || key.toString('base64') !== trimmed) throw new NoKey();
  return key;
}

class NoKey extends Error {
  constructor() {
    super('it holds no key of Muster: 32 bytes in base64');
  }
}

function whyNoKey(error: unknown): string {
  if (error instanceof NoKey) return 'it printed no key of Muster: 32 bytes in base64';
  const { code = null, status = null } = error as { readonly code?: unknown; readonly status?: unknown };
  return code === null ? `it ended with status ${String(status)}` : String(code);
}

function unreadable(owner: string, reason: string): MusterError {
  return new MusterError('secret_unreadable', { owner, reason });
}

/** Whole or not at all, and never in place of one that is there. */
function makeKey(path: string): void {
  const part = `${path}.${randomBytes(6).toString('hex')}`;
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  try {
    writeFileSync(part, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(part, path);
  } catch (error) {
    // Another process made it in the same moment.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(part, { force: true });
  }
}
