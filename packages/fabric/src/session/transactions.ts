import { MusterError } from '@muster/wire';
import { FABRIC_LIMITS } from '../limits.js';

/** A SEND, ACK or NACK that waits for COMMIT. `receipt`: the COMMIT's, which each answers with when it is done. */
export type Held = (receipt: string | null) => void;

const NOTHING = { left: 0, failed: false };

/** What a client has between BEGIN and COMMIT or ABORT. */
export class Transactions {
  readonly #open = new Map<string, Held[]>();
  /** Receipts of COMMITs, how many of what was held are not done, and whether one has failed. */
  readonly #committed = new Map<string, { readonly left: number; readonly failed: boolean }>();
  #held = 0;

  /** @throws MusterError `stomp_transaction_exists`, `stomp_too_many` */
  begin(name: string): void {
    if (this.#open.has(name)) throw new MusterError('stomp_transaction_exists', { name });
    const limit = FABRIC_LIMITS.transactions;
    if (this.#open.size >= limit)
      throw new MusterError('stomp_too_many', { command: 'BEGIN', what: 'transactions', limit });
    this.#open.set(name, []);
  }

  /** @throws MusterError `stomp_transaction_missing`, `stomp_too_many` */
  hold(command: string, name: string, held: Held): void {
    const transaction = this.#find(command, name);
    const limit = FABRIC_LIMITS.transactionEvents;
    if (this.#held >= limit)
      throw new MusterError('stomp_too_many', { command, what: 'frames in transactions', limit });
    transaction.push(held);
    this.#held += 1;
  }

  /** Ends it. @returns what was held, in order. @throws MusterError `stomp_transaction_missing` */
  take(command: string, name: string): readonly Held[] {
    const transaction = this.#find(command, name);
    this.#open.delete(name);
    this.#held -= transaction.length;
    return transaction;
  }

  /** Ends it without a word, if there is one. */
  abandon(name: string): void {
    this.#held -= this.#open.get(name)?.length ?? 0;
    this.#open.delete(name);
  }

  /** Carries out what was held. `receipt` will be answered as often as there is something; see `done` and `failed`. */
  commit(held: readonly Held[], receipt: string | null): void {
    if (receipt !== null) {
      const { left, failed } = this.#committed.get(receipt) ?? NOTHING;
      this.#committed.set(receipt, { left: left + held.length, failed });
    }
    for (const each of held) each(receipt);
  }

  /** Something was done that has this receipt. False: more was committed with it, and is not done. */
  done(receipt: string): boolean {
    if (this.#committed.size === 0) return true;
    const { failed } = this.#committed.get(receipt) ?? NOTHING;
    return this.#count(receipt, failed) === 0 && !failed;
  }

  /** Something was refused that has this receipt. False: that was told already, of something committed with it. */
  failed(receipt: string): boolean {
    const { failed } = this.#committed.get(receipt) ?? NOTHING;
    this.#count(receipt, true);
    return !failed;
  }

  /** Answers how many are left. */
  #count(receipt: string, failed: boolean): number {
    const left = (this.#committed.get(receipt)?.left ?? 1) - 1;
    if (left > 0) this.#committed.set(receipt, { left, failed });
    else this.#committed.delete(receipt);
    return left;
  }

  /** As if all that are open were aborted. */
  clear(): void {
    this.#open.clear();
    this.#held = 0;
  }

  #find(command: string, name: string): Held[] {
    const transaction = this.#open.get(name);
    if (transaction === undefined) throw new MusterError('stomp_transaction_missing', { command, name });
    return transaction;
  }
}
