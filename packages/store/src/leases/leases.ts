import type { Clock } from '@muster/base';
import { isDuplicate } from '../duplicate.js';
import { GuardFailed } from '../guards.js';
import { absent, guard, insert, upsert } from '../statements.js';
import type { Store, Write } from '../types.js';
import { decideLease, type LeaseRow } from './machine.js';
import { type Sighting, Sightings } from './sightings.js';

/** Attempts at a lease that others change at the same time. */
const ATTEMPTS = 5;

const UNSEEN: Sighting = { unchangedMs: 0, renewed: false };

const COLUMNS = { name: 'text', holder: 'text', epoch: 'integer', expires_at: 'integer' } as const;
const unchanged = guard('leases', COLUMNS, ['name']);
const heldBy = guard('leases', { name: 'text', holder: 'text', epoch: 'integer' }, ['name']);
const unknown = absent('leases', { name: 'text' });
const replace = upsert('leases', COLUMNS, ['name']);
/** Without a key: of two servers that make the row at once, one is refused. */
const add = insert('leases', COLUMNS);

/** A lease as its holder has it. */
export interface Lease {
  readonly name: string;
  readonly holder: string;
  /** Fences former holders: see `fence`. */
  readonly epoch: number;
  /** By the clock that people set: for people, and different after each renewal. */
  readonly expiresAt: number;
  /** By the monotonic clock of this process, counted from before it was asked for: who holds it acts no longer. */
  readonly actUntil: number;
}

export type Acquisition =
  | { readonly kind: 'acquired'; readonly lease: Lease }
  | {
      readonly kind: 'held';
      readonly holder: string;
      /** From now on, unless it is renewed. */
      readonly leftMs: number;
      /** This process has seen that its holder renewed it, up to what it is now. */
      readonly renewed: boolean;
    };

/**
 * Goes with every write of who acts under this lease: if somebody else has acquired it since, or it was given back,
 * nothing of the part is stored (`GuardFailed`). Of all parts of a transaction it costs one look.
 */
export function fence({ name, holder, epoch }: Pick<Lease, 'name' | 'holder' | 'epoch'>): Write {
  return heldBy({ name, holder, epoch });
}

/**
 * A row of this name that changes when the lease is acquired and at no other time, for `fence`: unlike the lease itself, which each
 * renewal changes, whole transactions can depend on it without waiting for one.
 */
export function markEpoch(name: string, { holder, epoch, expiresAt }: Lease): Write {
  return replace({ name, holder, epoch, expires_at: expiresAt });
}

export interface LeasesDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Name of this process, new at every start. */
  readonly holder: string;
}

/** Leases of one process. All of it rejects with `store_unavailable` while the database is away. */
export class Leases {
  readonly #deps: LeasesDeps;
  readonly #sightings = new Sightings();
  /** What was last tried to store of each: it may be stored though nobody could say so, and the next renewal must differ from it. */
  readonly #tried = new WeakMap<Lease, number>();

  constructor(deps: LeasesDeps) {
    this.#deps = deps;
  }

  /**
   * Becomes the holder, with a new epoch, unless somebody else is. From somebody else, who holds it for `ttlMs` at a time, it is taken
   * once this process has seen it unchanged for so long, by its monotonic clock: whoever wants one asks again after `leftMs`, or sooner.
   */
  async acquire(name: string, ttlMs: number): Promise<Acquisition> {
    const { store, clock, holder } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      const begun = clock.monotonic();
      const found = await store.read.selectFrom('leases').selectAll().where('name', '=', name).executeTakeFirst();
      const seen = found === undefined ? UNSEEN : this.#sightings.see(found, ttlMs, clock.monotonic());
      const { unchangedMs, renewed } = seen;
      const answer = decideLease(name, found, { kind: 'acquire', holder, now: clock.now(), ttlMs, unchangedMs });
      if (answer.kind === 'held') return { ...answer, leftMs: ttlMs - unchangedMs, renewed };
      if (answer.kind === 'lost') throw new Error('who acquires a lease cannot have lost it');
      const { row } = answer;
      try {
        await store.commit(found === undefined ? [unknown({ name }), add(row)] : [unchanged(found), replace(row)]);
        this.#sightings.forget(name);
        return { kind: 'acquired', lease: { ...leaseOf(row, holder), actUntil: begun + ttlMs } };
      } catch (error) {
        // Somebody was faster: it is decided anew upon what is there now.
        const overtaken = error instanceof GuardFailed || isDuplicate(error);
        if (!overtaken || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Names that begin so (without % and _), of leases that were acquired and not given back, also of those that have ended. */
  async held(prefix: string): Promise<string[]> {
    const rows = await this.#deps.store.read
      .selectFrom('leases')
      .select('name')
      .where('name', 'like', `${prefix}%`)
      .where('holder', 'is not', null)
      .execute();
    return rows.map(({ name }) => name);
  }

  /** Holds it for longer. null: it was lost. */
  async renew(lease: Lease, ttlMs: number): Promise<Lease | null> {
    const { clock } = this.#deps;
    const begun = clock.monotonic();
    const { holder, epoch } = lease;
    const row = await this.#change(lease, { kind: 'renew', holder, epoch, now: clock.now(), ttlMs });
    return row === null ? null : { ...leaseOf(row, holder), actUntil: begun + ttlMs };
  }

  /** Gives it back, so that nobody waits for its end. False: it was lost before. */
  async release(lease: Lease): Promise<boolean> {
    const { holder, epoch } = lease;
    const now = this.#deps.clock.now();
    return (await this.#change(lease, { kind: 'release', holder, epoch, now })) !== null;
  }

  async #change(
    lease: Lease,
    request: Parameters<typeof decideLease>[2] & { readonly kind: 'renew' | 'release' },
  ): Promise<LeaseRow | null> {
    const { name, holder, epoch } = lease;
    const expiresAt = this.#tried.get(lease) ?? lease.expiresAt;
    const answer = decideLease(name, { name, holder, epoch, expires_at: expiresAt }, request);
    if (answer.kind !== 'granted') return null;
    this.#tried.set(lease, answer.row.expires_at);
    try {
      await this.#deps.store.commit([fence(lease), replace(answer.row)]);
      return answer.row;
    } catch (error) {
      if (error instanceof GuardFailed) return null;
      throw error;
    }
  }
}

function leaseOf({ name, epoch, expires_at: expiresAt }: LeaseRow, holder: string): Omit<Lease, 'actUntil'> {
  return { name, holder, epoch, expiresAt };
}
