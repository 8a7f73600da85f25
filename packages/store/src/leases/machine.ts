import type { Schema } from '../schema.js';

/** A row of `leases`: who may act for the thing of this name, until when. */
export type LeaseRow = Schema['leases'];

/**
 * What is asked of a lease. `now` is the clock of whoever asks, and only says to people until when a lease is held, and that it
 * was renewed. Whether it is over no clock decides that people set: the holder acts until its time has passed since before it
 * asked, another takes it when the same time has passed since it saw it so, each by its own monotonic clock. What the database
 * stores is fenced by the epoch besides.
 */
export type LeaseRequest =
  | {
      readonly kind: 'acquire';
      readonly holder: string;
      readonly now: number;
      readonly ttlMs: number;
      /** For how long whoever asks has seen it as it is now. */
      readonly unchangedMs: number;
    }
  | {
      readonly kind: 'renew';
      readonly holder: string;
      readonly epoch: number;
      readonly now: number;
      readonly ttlMs: number;
    }
  | { readonly kind: 'release'; readonly holder: string; readonly epoch: number; readonly now: number };

export type LeaseAnswer =
  /** Store this row, if the lease is still what the answer was decided upon. */
  | { readonly kind: 'granted'; readonly row: LeaseRow }
  /** Somebody else holds it. */
  | { readonly kind: 'held'; readonly holder: string }
  /** It was lost: somebody else has acquired it, or it was given back. */
  | { readonly kind: 'lost' };

/**
 * | lease is | acquire | renew, release |
 * |---|---|---|
 * | unknown | granted, epoch 1 | lost |
 * | given back | granted, next epoch | lost |
 * | held by another, seen unchanged for as long as it lasts | granted, next epoch | lost |
 * | held by another | held | lost |
 * | held by the same holder | granted, next epoch | granted if the epoch is the same, else lost |
 *
 * An epoch only grows, and every acquisition has one of its own. A lease that is over and that nobody acquired since is
 * still its holder's to renew. Each renewal changes the row.
 */
export function decideLease(name: string, lease: LeaseRow | undefined, request: LeaseRequest): LeaseAnswer {
  switch (request.kind) {
    case 'acquire':
      return acquire(name, lease, request);
    case 'renew': {
      if (!isHeldBy(lease, request)) return { kind: 'lost' };
      // Others see by it that it was renewed, also when the clock was set back.
      return granted({ ...lease, expires_at: Math.max(lease.expires_at + 1, request.now + request.ttlMs) });
    }
    case 'release':
      if (!isHeldBy(lease, request)) return { kind: 'lost' };
      return granted({ ...lease, holder: null, expires_at: Math.min(lease.expires_at, request.now) });
  }
}

function acquire(
  name: string,
  lease: LeaseRow | undefined,
  { holder, now, ttlMs, unchangedMs }: LeaseRequest & { readonly kind: 'acquire' },
): LeaseAnswer {
  if (lease !== undefined && lease.holder !== null && lease.holder !== holder && unchangedMs < ttlMs) {
    return { kind: 'held', holder: lease.holder };
  }
  return granted({ name, holder, epoch: (lease?.epoch ?? 0) + 1, expires_at: now + ttlMs });
}

function granted(row: LeaseRow): LeaseAnswer {
  return { kind: 'granted', row };
}

function isHeldBy(
  lease: LeaseRow | undefined,
  { holder, epoch }: { readonly holder: string; readonly epoch: number },
): lease is LeaseRow {
  return lease !== undefined && lease.holder === holder && lease.epoch === epoch;
}
