import type { Clock } from '@muster/base';
import type { MusterError } from '../../errors.js';
import { PendingReceipts } from '../../protocol/pending-receipts.js';
import type { RawFrame } from '../../stomp/raw-frame.js';

/** Takes the answer to a frame that asks for a receipt. */
export interface ReceiptHandler {
  /** The frame publishes an event of a client, which is tried once. Others are about subscriptions. */
  readonly isEvent: boolean;
  answered(receipt: RawFrame): void;
  /** Upstream refuses the frame, and says why. */
  refused(error: MusterError): void;
  /** The connection has ended, and it is unknown what became of the frame. */
  failed(error: MusterError): void;
}

/** Receipts that upstream was asked for and that have not come (R-5, O-2). */
export class UpstreamReceipts {
  readonly #pending: PendingReceipts<ReceiptHandler>;
  #events = 0;

  /** `late` is called when one has waited for `limitMs`. */
  constructor(clock: Clock, limitMs: number, late: () => void) {
    this.#pending = new PendingReceipts(clock, limitMs, late);
  }

  /** Whether an event of a client is among them. */
  get awaitsEvents(): boolean {
    return this.#events > 0;
  }

  /** Answers the id to ask for the receipt with. */
  add(answer: ReceiptHandler): string {
    if (answer.isEvent) this.#events += 1;
    return this.#pending.add(answer);
  }

  /** Whether that one was awaited. */
  answer(id: string, receipt: RawFrame): boolean {
    const answer = this.#take(id);
    answer?.answered(receipt);
    return answer !== undefined;
  }

  /** Whether that one was awaited. */
  refuse(id: string, error: MusterError): boolean {
    const answer = this.#take(id);
    answer?.refused(error);
    return answer !== undefined;
  }

  /** The connection has ended: no receipt will come. */
  fail(error: MusterError): void {
    this.#events = 0;
    for (const answer of this.#pending.close()) answer.failed(error);
  }

  #take(id: string): ReceiptHandler | undefined {
    const answer = this.#pending.take(id);
    if (answer?.isEvent === true) this.#events -= 1;
    return answer;
  }
}
