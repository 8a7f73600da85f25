import type { LeaseRow } from './machine.js';

/** Leases that are remembered; one that is forgotten is watched from the beginning. */
const MOST = 10_000;

/** A lease as it was last looked at, by the monotonic clock. */
export interface Sighting {
  /** It has been seen as it is for so long. */
  readonly unchangedMs: number;
  /** Its holder renewed it between two looks that were at most as far apart as it lasts. */
  readonly renewed: boolean;
}

interface Seen {
  readonly epoch: number;
  readonly expiresAt: number;
  readonly since: number;
  readonly renewed: boolean;
  readonly looked: number;
}

/** Leases of others as one process has seen them. */
export class Sightings {
  readonly #seen = new Map<string, Seen>();

  /** @param now By the monotonic clock, after the row was read. */
  see({ name, epoch, expires_at: expiresAt }: LeaseRow, ttlMs: number, now: number): Sighting {
    const before = this.#seen.get(name);
    const same = before?.epoch === epoch && before.expiresAt === expiresAt;
    const since = same ? before.since : now;
    const renewed = same ? before.renewed : before?.epoch === epoch && now - before.looked <= ttlMs;
    if (before === undefined && this.#seen.size >= MOST) this.#seen.clear();
    this.#seen.set(name, { epoch, expiresAt, since, renewed, looked: now });
    return { unchangedMs: now - since, renewed };
  }

  forget(name: string): void {
    this.#seen.delete(name);
  }
}
