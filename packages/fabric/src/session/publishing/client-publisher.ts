import type { MusterError } from '../../errors.js';
import type { EventAccess } from '../../event/access.js';
import type { Publication, Publisher } from '../broker.js';

export interface ClientPublisherPorts {
  /** Nothing is read from the client until `resume`. */
  pause(): void;
  resume(): void;
  /** @param scheduled Id of a future event. */
  receipt(id: string, scheduled: string | null): void;
  refused(error: MusterError, receipt: string | null): void;
  /** All published events are stored or refused. */
  settled(): void;
}

/**
 * Follows the events of one session after they were published: counts them, sends their receipts, and stops reading
 * from the client when told to.
 */
export class ClientPublisher implements Publisher {
  readonly access: EventAccess;
  gone = false;
  readonly #ports: ClientPublisherPorts;
  #unsettled = 0;
  /** How often `pause` was called without `resume`: each is a reason not to read. */
  #pauses = 0;

  constructor(access: EventAccess, ports: ClientPublisherPorts) {
    this.access = access;
    this.#ports = ports;
  }

  /** Everything published is stored or refused. */
  get isSettled(): boolean {
    return this.#unsettled === 0;
  }

  published(): void {
    this.#unsettled += 1;
  }

  settled({ receipt }: Publication, scheduled: string | null): void {
    this.#unsettled -= 1;
    if (receipt !== null) this.#ports.receipt(receipt, scheduled);
    if (this.#unsettled === 0) this.#ports.settled();
  }

  failed({ receipt }: Publication, error: MusterError): void {
    this.#unsettled -= 1;
    this.#ports.refused(error, receipt);
    if (this.#unsettled === 0) this.#ports.settled();
  }

  pause(): void {
    this.#pauses += 1;
    if (this.#pauses === 1) this.#ports.pause();
  }

  resume(): void {
    this.#pauses -= 1;
    if (this.#pauses === 0) this.#ports.resume();
  }
}
