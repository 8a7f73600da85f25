import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { MusterError } from './errors.js';

/**
 * The chain of the audit. Entries are sealed some at a time: the hash of a seal is that of the hash before it and of its entries, so
 * that whoever changes, removes or adds an entry later changes every hash from there on, and the server's key has signed each.
 * Of a chain that was cut off at its end only who kept a later hash can tell.
 */
export interface Seal {
  /** From 1, without gaps. */
  readonly number: number;
  readonly entries: number;
  /** ISO 8601. */
  readonly at: string;
  /** SHA-256 as 64 hex digits, of the hash before (of the first: 64 zeros) and each entry as its JSON text, a line feed after each. */
  readonly hash: string;
  /** Base64: RSASSA-PKCS1-v1_5 with SHA-256 of `sealText`. */
  readonly signature: string;
}

export const NO_HASH = '0'.repeat(64);

/** `entries`: their JSON texts. */
export function chainHash(previous: string, entries: readonly string[]): string {
  const hash = createHash('sha256').update(`${previous}\n`);
  for (const entry of entries) hash.update(`${entry}\n`);
  return hash.digest('hex');
}

/** What is signed. */
export function sealText(organizationId: string, { number, entries, at, hash }: Omit<Seal, 'signature'>): string {
  return `muster audit seal\n${organizationId}\n${number}\n${entries}\n${at}\n${hash}\n`;
}

export function signSeal(key: KeyObject, organizationId: string, seal: Omit<Seal, 'signature'>): Seal {
  const signature = sign('sha256', Buffer.from(sealText(organizationId, seal)), key).toString('base64');
  return { ...seal, signature };
}

/** Takes a chain from its beginning, one seal after the other, and says where it is broken. */
export class ChainReader {
  /** What is sealed by one of them is not sealed by an earlier one any more. */
  #keys: readonly KeyObject[];
  readonly #organizationId: string;
  #head: Pick<Seal, 'number' | 'hash'> = { number: 0, hash: NO_HASH };
  #entries = 0;

  /** @param keys PEM, of the server, the oldest first. */
  constructor(keys: readonly string[], organizationId: string) {
    this.#keys = keys.map((key) => createPublicKey(key));
    this.#organizationId = organizationId;
  }

  /** The last seal that was found right. */
  get head(): Pick<Seal, 'number' | 'hash'> {
    return this.#head;
  }

  /** How many entries were found right. */
  get entries(): number {
    return this.#entries;
  }

  /** @throws MusterError `audit_broken` */
  take(seal: Seal, entries: readonly string[]): void {
    const { number, hash, signature } = seal;
    const broken = (reason: string) => new MusterError('audit_broken', { seal: number, reason });
    const next = this.#head.number + 1;
    if (number > next) throw broken(`seal ${next} is missing, and what came between`);
    if (number < next) throw broken(`it comes after seal ${this.#head.number}`);
    if (entries.length !== seal.entries) throw broken(`it has ${entries.length} entries, ${seal.entries} were sealed`);
    if (chainHash(this.#head.hash, entries) !== hash) throw broken('its entries are not those that were sealed');
    const text = Buffer.from(sealText(this.#organizationId, seal));
    const by = this.#keys.findIndex((key) => verify('sha256', text, key, Buffer.from(signature, 'base64')));
    if (by < 0) throw broken('its signature is not by this key');
    this.#keys = this.#keys.slice(by);
    this.#head = { number, hash };
    this.#entries += entries.length;
  }
}
