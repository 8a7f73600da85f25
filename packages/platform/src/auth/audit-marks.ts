import { createHmac, hkdfSync, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ServerKeys } from '@muster/signing';
import type { Schema } from '@muster/store';
import type { Selectable } from 'kysely';
import { AUTH_LIMITS } from './limits.js';

const KEY_BYTES = 32;
const NONCE_BYTES = 9;

interface Derived {
  /** The private key that it comes from. */
  readonly of: KeyObject;
  readonly key: Buffer;
}

export type MarkedRow = Omit<Selectable<Schema['audit']>, 'id' | 'mark' | 'seal'>;

/**
 * What an entry of the audit has until it is sealed: made with a key that comes from the server's own, so that who has the
 * database alone can neither add an entry nor change one that waits. No two are alike, so that none can be there twice.
 */
export class AuditMarks {
  readonly #keys: Pick<ServerKeys, 'present'>;
  /** Of the server's present key, and of the one before: what that marked may wait still. */
  #derived: readonly Derived[] = [];

  constructor(keys: Pick<ServerKeys, 'present'>) {
    this.#keys = keys;
  }

  mark(row: MarkedRow): string {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const [{ key }] = this.#known();
    return `${nonce}.${macOf(key, nonce, row).toString('base64url')}`;
  }

  /** Of one that waits for its seal. @param now As `at`. */
  judge(row: MarkedRow & { readonly mark: string | null }, now: number): 'forged' | 'good' | 'unknown' {
    if (this.#isGood(row)) return 'good';
    return Math.abs(now - row.at) < AUTH_LIMITS.forgedAfterMs ? 'unknown' : 'forged';
  }

  /** Has this server, or one with the same key, written the row as it stands? */
  #isGood(row: MarkedRow & { readonly mark: string | null }): boolean {
    const [nonce = '', mac = ''] = (row.mark ?? '').split('.');
    const told = Buffer.from(mac, 'base64url');
    return this.#known().some(({ key }) => {
      const right = macOf(key, nonce, row);
      return told.length === right.length && timingSafeEqual(told, right);
    });
  }

  /** The present one first. */
  #known(): readonly [Derived, ...Derived[]] {
    const { privateKey } = this.#keys.present;
    const [latest, ...before] = this.#derived;
    if (latest?.of === privateKey) return [latest, ...before];
    const secret = privateKey.export({ type: 'pkcs8', format: 'der' });
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'muster audit', KEY_BYTES));
    const present = { of: privateKey, key };
    this.#derived = [present, ...this.#derived.slice(0, 1)];
    return [present, ...this.#derived.slice(1)];
  }
}

function macOf(key: Buffer, nonce: string, row: MarkedRow): Buffer {
  const { org_id, at, actor, actor_kind, address, action, target, outcome, detail } = row;
  const text = JSON.stringify([nonce, org_id, at, actor, actor_kind, address, action, target, outcome, detail]);
  return createHmac('sha256', key).update(text).digest();
}
