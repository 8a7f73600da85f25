import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { fingerprintOf, type KeyPair, type RsaKey } from './keys.js';

/**
 * How the key of a server comes to be replaced. The next key is announced by a link, which the present key and the next one have
 * signed, so that whoever trusts one of the two can get to the other; links in a row are a chain, in which who was away finds its way
 * from the key it knows to the one that is used.
 */
export interface ServerKeyLink {
  /** PEM, SPKI, of both. */
  readonly previous: string;
  readonly key: string;
  /** ISO 8601, both. */
  readonly announced_at: string;
  readonly takes_over_at: string;
  /** Whoever else has the previous key may pose as the server: it was replaced at once. */
  readonly revoked: boolean;
  /** Base64: RSASSA-PKCS1-v1_5 with SHA-256 of the link's text, by the previous key and by this one. */
  readonly signature: string;
  readonly confirmation: string;
}

/** The server's key as it is now. Whoever asks later may get another one. */
export interface ServerKeys {
  readonly present: ServerKey;
  /** Announced, and not yet used. */
  readonly next: ServerKeyLink | null;
  /** By which the present key came to be, the oldest first. */
  readonly links: readonly ServerKeyLink[];
}

export interface ServerKey {
  /** PEM, SPKI. */
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly privateKey: KeyObject;
}

/** @throws what the cryptography says of anything else than a private key. */
export function serverKey(privateKey: RsaKey): ServerKey {
  const key = typeof privateKey === 'string' ? createPrivateKey(privateKey) : privateKey;
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
  return { publicKey, fingerprint: fingerprintOf(publicKey), privateKey: key };
}

/** Of a server whose key has never been replaced. */
export function firstServerKey({ privateKey }: Pick<KeyPair, 'privateKey'>): ServerKeys {
  return { present: serverKey(privateKey), next: null, links: [] };
}

function textOf(link: Omit<ServerKeyLink, 'signature' | 'confirmation'>): Buffer {
  const { announced_at: announced, takes_over_at: takesOver, revoked } = link;
  const [from, to] = [link.previous, link.key].map(fingerprintOf);
  return Buffer.from(`muster server key\n${from}\n${to}\n${announced}\n${takesOver}\n${revoked}\n`);
}

export function linkKeys(
  previous: ServerKey,
  next: ServerKey,
  at: { readonly announcedAt: number; readonly takesOverAt: number; readonly revoked: boolean },
): ServerKeyLink {
  const link = {
    previous: previous.publicKey,
    key: next.publicKey,
    announced_at: new Date(at.announcedAt).toISOString(),
    takes_over_at: new Date(at.takesOverAt).toISOString(),
    revoked: at.revoked,
  };
  const text = textOf(link);
  const signed = (by: ServerKey) => sign('sha256', text, by.privateKey).toString('base64');
  return { ...link, signature: signed(previous), confirmation: signed(next) };
}

/** Have both keys signed it? */
function holds(link: ServerKeyLink): boolean {
  try {
    const text = textOf(link);
    const by = (pem: string, signature: string) => verify('sha256', text, pem, Buffer.from(signature, 'base64'));
    return by(link.previous, link.signature) && by(link.key, link.confirmation);
  } catch {
    // What is no key signs nothing.
    return false;
  }
}

/** null: it is no key. */
function nameOf(pem: string | undefined): string | null {
  try {
    return pem === undefined ? null : fingerprintOf(pem);
  } catch {
    return null;
  }
}

/** The key that replaces this one by a link that holds; null: none does. */
function successorOf(pem: string | undefined, links: readonly ServerKeyLink[]): string | null {
  const name = nameOf(pem);
  const link = name === null ? undefined : links.find(({ previous }) => nameOf(previous) === name);
  return link !== undefined && holds(link) ? link.key : null;
}

/** The key that was replaced by this one, by a link that holds. */
function predecessorOf(pem: string | undefined, links: readonly ServerKeyLink[]): string | null {
  const name = nameOf(pem);
  const link = name === null ? undefined : links.find(({ key }) => nameOf(key) === name);
  return link !== undefined && holds(link) ? link.previous : null;
}

/**
 * Whether links lead from a key that is trusted to this one.
 * @param known PEM.
 * @param key PEM.
 */
export function leadsTo(known: string, key: string, links: readonly ServerKeyLink[]): boolean {
  if (known === key) return true;
  const end = fingerprintOf(key);
  let at: string | null = known;
  // Each link is passed once: a ring of them leads nowhere.
  for (let steps = 0; at !== null && steps <= links.length; steps++) {
    if (nameOf(at) === end) return true;
    at = successorOf(at, links);
  }
  return false;
}

/**
 * The keys, as PEM and the oldest first, that may be believed by who believes this one: those before it, which it has confirmed, and
 * those after it, which it has announced.
 */
export function keysAround(key: string, links: readonly ServerKeyLink[]): string[] {
  const keys = [key];
  while (keys.length <= links.length) {
    const previous = predecessorOf(keys[0], links);
    if (previous === null) break;
    keys.unshift(previous);
  }
  while (keys.length <= links.length) {
    const next = successorOf(keys.at(-1), links);
    if (next === null) break;
    keys.push(next);
  }
  return keys;
}

/** What the server's key vouches for to agents: who has this CURVE key is the server, as long as this process lives. */
function voucherText(curvePublicKey: string, incarnation: string): Buffer {
  return Buffer.from(`muster server\n${curvePublicKey}\n${incarnation}\n`);
}

/** @returns base64 */
export function vouch(key: ServerKey, curvePublicKey: string, incarnation: string): string {
  return sign('sha256', voucherText(curvePublicKey, incarnation), key.privateKey).toString('base64');
}

export function vouchedFor(
  publicKey: RsaKey,
  { curvePublicKey, incarnation, voucher }: { curvePublicKey: string; incarnation: string; voucher: string },
): boolean {
  return verify('sha256', voucherText(curvePublicKey, incarnation), publicKey, Buffer.from(voucher, 'base64'));
}
