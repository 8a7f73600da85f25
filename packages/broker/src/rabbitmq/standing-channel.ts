import type { Clock, Timer } from '@muster/base';
import type { Channel } from 'rabbitmq-client';
import type { Limits } from '../limits.js';
import type { BrokerLog } from '../types.js';
import { closed, type Link } from './link.js';

export interface StandingOptions {
  readonly link: Link;
  readonly clock: Clock;
  readonly log: BrokerLog;
  readonly limits: Limits;
  /** Told in the log. */
  readonly what: string;
  /** Prepares a new channel. What fails is tried again. */
  begin(channel: Channel): Promise<void>;
  /** The channel is gone, with all that was delivered over it. */
  ended?(): void;
  /** The broker has closed it, and says why. */
  refused?(error: unknown): void;
}

/** A channel that is opened again whenever it is lost: with its connection, or alone (an error, the broker's time limit). */
export class StandingChannel {
  readonly #options: StandingOptions;
  #channel: Channel | null = null;
  #opening = false;
  #retry: Timer | undefined;
  #retryMs = 0;
  #closed = false;
  readonly #stop: () => void;

  constructor(options: StandingOptions) {
    this.#options = options;
    this.#stop = options.link.onUp(() => this.open());
  }

  /** Null while there is none. */
  get current(): Channel | null {
    return this.#channel?.active ? this.#channel : null;
  }

  /** Begins, or tries again now. */
  open(): void {
    this.#retry?.cancel();
    if (this.#closed || this.#opening || this.current !== null) return;
    if (!this.#options.link.status().connected) return;
    this.#opening = true;
    this.#open()
      .catch((err: unknown) => {
        this.#options.log.warn({ err }, `${this.#options.what}: no channel of the broker`);
        this.#later();
      })
      .finally(() => {
        this.#opening = false;
        // Lost while it was being prepared.
        if (!this.#closed && this.current === null) this.#later();
      });
  }

  /** What was delivered over it goes back. Does not wait longer than the broker takes to answer. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    this.#retry?.cancel();
    const channel = this.#channel;
    this.#channel = null;
    if (channel !== null) await closed(channel);
  }

  async #open(): Promise<void> {
    const { link, begin, ended, refused, log, what } = this.#options;
    const channel = await link.ask((connection) => connection.acquire({ emitErrorsFromChannel: true }));
    channel.on('error', (err: unknown) => {
      log.warn({ err }, `${what}: the broker has closed a channel`);
      refused?.(err);
    });
    channel.on('close', () => {
      const lost = this.#channel === channel;
      if (lost) this.#channel = null;
      ended?.();
      if (lost && !this.#opening) this.#later();
    });
    // Its queue was deleted: whoever consumes must begin anew, when there is one again.
    channel.on('basic.cancel', () => void channel.close());
    if (this.#closed) return closed(channel);
    this.#channel = channel;
    try {
      await link.ask(() => begin(channel));
      this.#retryMs = 0;
    } catch (error) {
      if (this.#channel === channel) this.#channel = null;
      void channel.close();
      throw error;
    }
  }

  #later(): void {
    if (this.#closed) return;
    const { clock, limits } = this.#options;
    this.#retry?.cancel();
    this.#retryMs = Math.min(Math.max(2 * this.#retryMs, limits.retryFirstMs), limits.retryMostMs);
    this.#retry = clock.after(this.#retryMs, () => this.open());
  }
}
