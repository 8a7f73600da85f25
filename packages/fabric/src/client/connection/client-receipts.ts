import type { MusterError } from '../../errors.js';
import { PendingReceipts } from '../../protocol/pending-receipts.js';
import { type Headers, header } from '../../stomp/frame.js';

/** Takes the answer to a frame that asks for a receipt: exactly one method is called. */
export interface ReceiptHandler {
  answered(headers: Headers): void;
  /** By an ERROR, or a refusal, that names this very frame. */
  refused(error: MusterError): void;
  /** The connection ended before there was an answer. */
  lost(reason: string): void;
}

/** The receipts that a connection has asked for and that have not come. */
export class ClientReceipts extends PendingReceipts<ReceiptHandler> {
  answered(headers: Headers): void {
    this.#take(headers)?.answered(headers);
  }

  /** An ERROR or a refusal has come; it may name the receipt of a frame. */
  refused(headers: Headers, error: MusterError): void {
    this.#take(headers)?.refused(error);
  }

  /** The connection has ended: no receipt will come. */
  lost(reason: string): void {
    for (const answer of this.close()) answer.lost(reason);
  }

  #take(headers: Headers): ReceiptHandler | undefined {
    return this.take(header({ headers }, 'receipt-id') ?? '');
  }
}
