import type { MusterError } from '@muster/wire/errors';
import { Awaited } from '../session/awaited.js';
import { type Headers, header } from '../stomp/frame.js';

/** Exactly one of these is called. */
export interface Answer {
  answered(headers: Headers): void;
  /** By an ERROR, or a refusal, that names this very frame. */
  refused(error: MusterError): void;
  /** The connection ended before there was an answer. */
  lost(reason: string): void;
}

/** The receipts that a connection awaits. */
export class Receipts extends Awaited<Answer> {
  answered(headers: Headers): void {
    this.#of(headers)?.answered(headers);
  }

  /** Of an ERROR or a refusal. */
  refused(headers: Headers, error: MusterError): void {
    this.#of(headers)?.refused(error);
  }

  /** None of them will come. */
  lost(reason: string): void {
    for (const answer of this.end()) answer.lost(reason);
  }

  #of(headers: Headers): Answer | undefined {
    return this.take(header({ headers }, 'receipt-id') ?? '');
  }
}
