import type { ServerKeyLink } from '@muster/signing';
import { MusterError } from '../errors.js';
import { SERVER_KEY_LIMITS } from './limits.js';

/** How far the replacement of the server's key is. */
export interface Rotation {
  /** By which the present key came to be, the oldest first. */
  readonly links: readonly ServerKeyLink[];
  /** Of the key that is announced: agents take it besides the present one. null: none is. Ends with its time, or is cancelled. */
  readonly next: ServerKeyLink | null;
}

export type RotationEvent =
  | { readonly type: 'announce'; readonly link: ServerKeyLink }
  /** The present key is no secret any more, nor is one that was announced: it lay beside it. */
  | { readonly type: 'revoke'; readonly link: ServerKeyLink }
  | { readonly type: 'cancel' }
  /** The next key is the present one from now on. */
  | { readonly type: 'take over' };

/**
 * `announce`, then at its time `take over`; until then `cancel`. `revoke` announces what takes over at once.
 * @throws MusterError `server_key_announced`, `no_server_key_announced`, `too_many_server_keys`
 */
export function stepRotation(rotation: Rotation, event: RotationEvent): Rotation {
  const { links, next } = rotation;
  switch (event.type) {
    case 'announce':
      if (next !== null) throw new MusterError('server_key_announced', { at: next.takes_over_at });
      if (links.length >= SERVER_KEY_LIMITS.links)
        throw new MusterError('too_many_server_keys', { limit: SERVER_KEY_LIMITS.links });
      return { links, next: event.link };
    case 'revoke':
      return { links, next: event.link };
    case 'cancel':
      if (next === null) throw new MusterError('no_server_key_announced');
      return { links, next: null };
    case 'take over':
      return next === null ? rotation : { links: [...links, next], next: null };
  }
}

/** Whether its time has come. */
export function isDue({ next }: Rotation, now: number): boolean {
  return next !== null && Date.parse(next.takes_over_at) <= now;
}

/** The keys that were found, by their fingerprints; null: there is no file of it. */
export interface Found {
  readonly present: string;
  readonly next: string | null;
}

export interface Recovered {
  readonly rotation: Rotation;
  /** What happened before the crash and was not written down: it is to be told yet. */
  readonly tookOver: boolean;
  /** An announced key is lost; the rotation begins anew. */
  readonly lost: boolean;
}

/**
 * What is right after a crash between the steps of the files: the key of the announced link is written first, and the key that takes
 * over is in its place before that is written down. null: the keys do not belong to what was written.
 */
export function recoverRotation(
  written: Rotation,
  found: Found,
  fingerprintOf: (pem: string) => string,
): Recovered | null {
  const { links, next } = written;
  if (next !== null && fingerprintOf(next.key) === found.present)
    return { rotation: stepRotation(written, { type: 'take over' }), tookOver: true, lost: false };
  const last = links.at(-1);
  const expected = next?.previous ?? last?.key;
  if (expected !== undefined && fingerprintOf(expected) !== found.present) return null;
  const lost = next !== null && found.next !== fingerprintOf(next.key);
  return { rotation: lost ? { links, next: null } : written, tookOver: false, lost };
}
