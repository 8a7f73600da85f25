import { MusterError } from '../errors.js';
import type { FabricLog } from '../log.js';
import type { ReplayRequest } from '../session/broker.js';

/**
 * The RECEIPT of a SUBSCRIBE, if one was asked for. It is sent once: when the replay has begun, or when the
 * subscription ends before that, as relays wait for every receipt they have asked for.
 */
export class SubscribeReceipt {
  readonly #request: ReplayRequest;
  #answered = false;

  constructor(request: ReplayRequest) {
    this.#request = request;
  }

  send(): void {
    const receipt = this.take();
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  /** The id of the receipt, if it was not sent yet, for an answer of another kind: it will not be sent then. */
  take(): string | null {
    if (this.#answered) return null;
    this.#answered = true;
    return this.#request.receipt;
  }
}

/** Tells the subscriber why its replay cannot go on. An error that is not ours is logged, and told as `internal`. */
export function failReplay(request: ReplayRequest, error: unknown, log: FabricLog, receipt: string | null): void {
  const cause = error instanceof MusterError ? error : new MusterError('internal', {}, { cause: error });
  if (cause !== error) log.error({ err: error, org: request.org }, 'a replay failed');
  request.subscriber.fail(cause, receipt);
}
