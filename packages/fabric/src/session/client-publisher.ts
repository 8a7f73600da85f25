import type { MusterError } from '@muster/wire';
import type { EventAccess } from '../access.js';
import type { Publication, Publisher } from './ports.js';

export interface ClientPublisherPorts {
  /** The client is not read until `release`. */
  hold(): void;
  release(): void;
  /** @param scheduled Id of a future event. */
  receipt(id: string, scheduled: string | null): void;
  refused(error: MusterError, receipt: string | null): void;
  /** Nothing is on its way to the log any more. */
  settled(): void;
}

/** What a session has to do with its events once they are published: count, wait, and answer. */
export class ClientPublisher implements Publisher {
  readonly access: EventAccess;
  gone = false;
  readonly #ports: ClientPublisherPorts;
  #unsettled = 0;
  /** Reasons why nothing is read. */
  #holds = 0;

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

  hold(): void {
    this.#holds += 1;
    if (this.#holds === 1) this.#ports.hold();
  }

  release(): void {
    this.#holds -= 1;
    if (this.#holds === 0) this.#ports.release();
  }
}
