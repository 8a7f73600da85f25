import type { Clock } from '@muster/base';
import type { Accept, Listener } from '../transport/channel.js';
import type { Transport } from '../transport/transport.js';
import type { RelayLog } from './logging.js';
import type { RelaySettings } from './options.js';

export interface ListenersPorts {
  readonly clock: Clock;
  readonly log: RelayLog;
  readonly listen: Transport['listen'];
  accept: Accept;
  /** All of them listen. */
  listening(urls: readonly string[]): void;
  /** One of them cannot. */
  failed(error: unknown): void;
}

/** The sockets that clients connect to: all open or none, on the same ports whenever they are opened again (O-13). */
export class Listeners {
  readonly #settings: RelaySettings;
  readonly #ports: ListenersPorts;
  #open: Listener[] = [];
  /** As bound the first time: a port of 0 stays the one it became. */
  #bound: readonly string[];
  /** What was asked for is done in order. */
  #work: Promise<void> = Promise.resolve();

  constructor(settings: RelaySettings, ports: ListenersPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#bound = settings.listen;
  }

  /** Empty while nothing listens. */
  get urls(): readonly string[] {
    return this.#open.map(({ url }) => url);
  }

  open(): void {
    this.#work = this.#work.then(() => this.#listen());
  }

  /** Resolves when nothing listens. */
  close(): Promise<void> {
    this.#work = this.#work.then(() => this.#close());
    return this.#work;
  }

  async #listen(): Promise<void> {
    const { group, tls, insecure } = this.#settings;
    const { accept, clock, failed, listen, listening, log } = this.#ports;
    const options = {
      insecure,
      clock,
      ...(tls !== undefined && { tls }),
      ...(group !== undefined && { group }),
      refused: (error: Error, remote: string) =>
        log.info({ err: error, remote }, 'a connection failed before it began'),
    };
    try {
      for (const url of this.#bound) this.#open.push(await listen(url, options, accept));
    } catch (error) {
      await this.#close();
      return failed(error);
    }
    this.#bound = this.urls;
    listening(this.urls);
  }

  async #close(): Promise<void> {
    const open = this.#open;
    this.#open = [];
    await Promise.all(open.map((listener) => listener.close()));
  }
}
