import { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';

/**
 * Carries out a SEND, ACK or NACK that has waited for COMMIT. `receipt` is that of the COMMIT, to be answered when it
 * is done.
 */
export type TransactedFrame = (receipt: string | null) => void;

const NOTHING = { left: 0, failed: false };

/** The transactions of one session: frames between BEGIN and COMMIT or ABORT. */
export class Transactions {
  readonly #open = new Map<string, TransactedFrame[]>();
  /** For each receipt of a COMMIT: how many of its frames are not done, and whether one has failed. */
  readonly #committed = new Map<string, { readonly left: number; readonly failed: boolean }>();
  #frames = 0;

  /** @throws MusterError `stomp_transaction_exists`, `stomp_too_many` */
  begin(name: string): void {
    if (this.#open.has(name)) throw new MusterError('stomp_transaction_exists', { name });
    const limit = FABRIC_LIMITS.transactions;
    if (this.#open.size >= limit)
      throw new MusterError('stomp_too_many', { command: 'BEGIN', what: 'transactions', limit });
    this.#open.set(name, []);
  }

  /** @throws MusterError `stomp_transaction_missing`, `stomp_too_many` */
  add(command: string, name: string, frame: TransactedFrame): void {
    const transaction = this.#find(command, name);
    const limit = FABRIC_LIMITS.transactionEvents;
    if (this.#frames >= limit)
      throw new MusterError('stomp_too_many', { command, what: 'frames in transactions', limit });
    transaction.push(frame);
    this.#frames += 1;
  }

  /** Ends a transaction. @returns its frames, in order. @throws MusterError `stomp_transaction_missing` */
  take(command: string, name: string): readonly TransactedFrame[] {
    const transaction = this.#find(command, name);
    this.#open.delete(name);
    this.#frames -= transaction.length;
    return transaction;
  }

  /** Ends a transaction, if there is one of that name; its frames are dropped. */
  abandon(name: string): void {
    this.#frames -= this.#open.get(name)?.length ?? 0;
    this.#open.delete(name);
  }

  /** Carries out the frames of a transaction. Each of them answers with `receipt`: see `done` and `failed`. */
  commit(frames: readonly TransactedFrame[], receipt: string | null): void {
    if (receipt !== null) {
      const { left, failed } = this.#committed.get(receipt) ?? NOTHING;
      this.#committed.set(receipt, { left: left + frames.length, failed });
    }
    for (const carryOut of frames) carryOut(receipt);
  }

  /** One frame of a COMMIT with this receipt is done. False: others are not, so the receipt is not sent yet. */
  done(receipt: string): boolean {
    if (this.#committed.size === 0) return true;
    const { failed } = this.#committed.get(receipt) ?? NOTHING;
    return this.#count(receipt, failed) === 0 && !failed;
  }

  /** One frame of a COMMIT with this receipt is refused. False: another one was before, and the client was told. */
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
    this.#frames = 0;
  }

  #find(command: string, name: string): TransactedFrame[] {
    const transaction = this.#open.get(name);
    if (transaction === undefined) throw new MusterError('stomp_transaction_missing', { command, name });
    return transaction;
  }
}
