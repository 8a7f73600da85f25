import { createHash, randomBytes } from 'node:crypto';
import type { Schema, Store } from '@muster/store';
import type { Clock } from '@muster/wire';
import type { Transaction } from 'kysely';
import type { Audit } from './audit.js';
import type { AuthRepository } from './repository.js';
import type { AuditEntry } from './types.js';

/** Random bytes; the system's unless a test or the simulator brings its own. */
export type RandomBytes = (size: number) => Uint8Array;

export const systemRandom: RandomBytes = (size) => randomBytes(size);

/** Who changes something; the name goes into the audit. */
export type Actor = string;

export type Trx = Transaction<Schema>;

export interface ChangesDeps {
  readonly store: Store;
  readonly repository: AuthRepository;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

/** Every change of identity: one transaction with its audit entry, and the caches forget what they knew. */
export class Changes {
  readonly #deps: ChangesDeps;

  constructor(deps: ChangesDeps) {
    this.#deps = deps;
  }

  get now(): number {
    return this.#deps.clock.now();
  }

  /** 32 lower-case hex digits. */
  newId(): string {
    return Buffer.from(this.#deps.random(16)).toString('hex');
  }

  newSecret(prefix: string, bytes: number): { readonly text: string; readonly hash: string } {
    const text = `${prefix}_${Buffer.from(this.#deps.random(bytes)).toString('base64url')}`;
    return { text, hash: secretHash(text) };
  }

  /** `work` may run again after a serialization failure; it only touches `trx`. */
  async apply<Result>(
    entry: Omit<AuditEntry, 'outcome'>,
    work: (trx: Trx) => Promise<Result>,
    scope: Parameters<AuthRepository['changed']>[0] = 'anything',
  ): Promise<Result> {
    const { store, audit, repository } = this.#deps;
    const result = await store.transact(async (trx) => {
      const done = await work(trx);
      await audit.within(trx, { ...entry, outcome: 'done' });
      return done;
    });
    repository.changed(scope);
    return result;
  }
}

/** Tokens are random enough that a plain hash hides them. */
export function secretHash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
