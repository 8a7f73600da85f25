import type { Schema } from '../schema.js';

/** A row of `leases`: who may act for the thing of this name, until when. */
export type LeaseRow = Schema['leases'];

/**
 * What is asked of a lease. `now` is the clock of whoever asks: the database's is not consulted, so that both databases
 * and the simulator behave alike. Clocks that differ move the moment at which a lease may be taken over, but never let
 * two holders write: the epoch decides that.
 */
export type LeaseRequest =
  | { readonly kind: 'acquire'; readonly holder: string; readonly now: number; readonly ttlMs: number }
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
  /** Somebody else holds it until then. */
  | { readonly kind: 'held'; readonly holder: string; readonly until: number }
  /** It was lost: somebody else has acquired it, or it was given back. */
  | { readonly kind: 'lost' };

/**
 * | lease is | acquire | renew, release |
 * |---|---|---|
 * | unknown | granted, epoch 1 | lost |
 * | given back, or expired | granted, next epoch | as below |
 * | held by another | held | lost |
 * | held by the same holder | granted, next epoch | granted if the epoch is the same, else lost |
 *
 * An epoch only grows, and every acquisition has one of its own. A lease that expired and that nobody acquired since is
 * still its holder's to renew.
 */
export function decideLease(name: string, lease: LeaseRow | undefined, request: LeaseRequest): LeaseAnswer {
  switch (request.kind) {
    case 'acquire':
      return acquire(name, lease, request);
    case 'renew': {
      if (!isHeldBy(lease, request)) return { kind: 'lost' };
      // A clock that was set back shortens no lease: others may have seen the later end.
      return granted({ ...lease, expires_at: Math.max(lease.expires_at, request.now + request.ttlMs) });
    }
    case 'release':
      if (!isHeldBy(lease, request)) return { kind: 'lost' };
      return granted({ ...lease, holder: null, expires_at: Math.min(lease.expires_at, request.now) });
  }
}

function acquire(
  name: string,
  lease: LeaseRow | undefined,
  { holder, now, ttlMs }: LeaseRequest & { readonly kind: 'acquire' },
): LeaseAnswer {
  const taken = lease !== undefined && lease.holder !== null && lease.holder !== holder && lease.expires_at > now;
  if (taken) return { kind: 'held', holder: lease.holder ?? '', until: lease.expires_at };
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
