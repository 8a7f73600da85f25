import { createHash, timingSafeEqual } from 'node:crypto';
import type { ServerHostKeyAlgorithm } from 'ssh2';

/** SHA-256 of a host's key, base64, as `ssh-keygen -l` shows it behind `SHA256:`. */
export function fingerprint(key: Buffer): string {
  return createHash('sha256').update(key).digest('base64').replace(/=+$/, '');
}

/**
 * What pins the key that is written so: `SHA256:…`, with or without the word before it, or a line of `ssh-keyscan` or of a `.pub` file.
 * Null: it is none of these.
 */
export function pinOf(written: string): string | null {
  const text = written.trim();
  const [, hash] = /^(?:SHA256:)?([A-Za-z0-9+/]{43})=?$/.exec(text) ?? [];
  if (hash !== undefined) return `SHA256:${hash}`;
  const [, kind = '', blob] = /(?:^|\s)((?:ssh|ecdsa|sk)-[\w@.-]+) ([A-Za-z0-9+/]+={0,2})(?:\s|$)/.exec(text) ?? [];
  if (blob === undefined) return null;
  const key = Buffer.from(blob, 'base64');
  // A key begins with the length and the name of its kind (RFC 4253 §6.6).
  const named = key.length > 4 + kind.length && key.readUInt32BE() === kind.length;
  return named && key.toString('latin1', 4, 4 + kind.length) === kind ? `SHA256:${fingerprint(key)}` : null;
}

/** With or without `SHA256:` before it and padding behind it. */
export function isPinned(pinned: string, key: Buffer): boolean {
  const wanted = Buffer.from(pinned.replace(/^SHA256:/, ''), 'base64');
  const found = createHash('sha256').update(key).digest();
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}

/**
 * A host has keys of several kinds, and shows one of a kind that it is asked for: each of these is tried in turn, until it
 * shows the one that is pinned. The first: whatever it likes best.
 */
export const KEY_KINDS: readonly (readonly ServerHostKeyAlgorithm[] | null)[] = [
  null,
  ['ssh-ed25519'],
  ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'],
  ['rsa-sha2-512', 'rsa-sha2-256'],
];
