import { createHash, randomBytes } from 'node:crypto';
import type { Schema, Store } from '@muster/store';
import { type Clock, MusterError } from '@muster/wire';
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

  /**
   * `work` may run again after a serialization failure; it only touches `trx`. What `changed` calls no change is not
   * audited.
   * @throws MusterError `organization_not_found` when the organization was deleted in the meantime.
   */
  async apply<Result>(
    entry: Omit<AuditEntry, 'outcome'>,
    work: (trx: Trx) => Promise<Result>,
    scope: Parameters<AuthRepository['changed']>[0] = 'anything',
    changed: (result: Result) => boolean = () => true,
  ): Promise<Result> {
    const { store, audit, repository } = this.#deps;
    const result = await store.transact(async (trx) => {
      const done = await work(trx);
      if (entry.orgId !== null) await requireOrganization(trx, entry.orgId);
      if (changed(done)) await audit.within(trx, { ...entry, outcome: 'done' });
      return done;
    });
    repository.changed(scope);
    return result;
  }
}

/** The request was let in while there was one; nothing may be left behind in one that is gone. */
async function requireOrganization(trx: Trx, id: string): Promise<void> {
  const found = await trx.selectFrom('organizations').select('id').where('id', '=', id).executeTakeFirst();
  if (found === undefined) throw new MusterError('organization_not_found', { organization: id });
}

/** Tokens are random enough that a plain hash hides them. */
export function secretHash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
