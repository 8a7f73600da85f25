import { type Clock, systemClock, type Timer } from '@muster/base/clock';
import { MusterError } from '../../errors.js';
import { FABRIC_LIMITS } from '../../limits.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import { parseAddress } from '../../transport/address.js';
import type { ClientOptions, ClientStatus, Dial } from '../types.js';
import { Connection } from './connection.js';
import { Deferred } from './deferred.js';
import { begin, type LinkEffect, type LinkEvent, type LinkState, type LinkStep, step } from './machine.js';

export interface LinkHandlers {
  /** Connected, for the first time or again: the subscriptions must be sent. */
  connected(): void;
  message(subscription: string, raw: RawFrame): void;
  /** As in `ConnectionHandlers`. */
  refused(error: MusterError, subscription: string | null): boolean;
  lost(error: MusterError): void;
  /** The end. Null: by `close`. */
  finished(error: MusterError | null): void;
}

/** Keeps a client connected: carries out what the machine says. */
export class Link {
  readonly #options: ClientOptions;
  readonly #dial: Dial;
  readonly #urls: readonly string[];
  readonly #clock: Clock;
  readonly #handlers: LinkHandlers;
  /** Resolves when connected: with the present connection, or else the next one. */
  #ready = new Deferred();
  #state: LinkState;
  #status: ClientStatus;
  #connection: Connection | null = null;
  #attempts = 0;
  #retry: Timer | null = null;
  #retryMs: number | null = null;
  #closing: Promise<void> | null = null;

  /** The options are checked. */
  constructor(options: ClientOptions, dial: Dial, handlers: LinkHandlers) {
    this.#options = options;
    this.#dial = options.dial ?? dial;
    this.#clock = options.clock ?? systemClock;
    this.#handlers = handlers;
    this.#urls = typeof options.url === 'string' ? [options.url] : options.url;
    const first = begin();
    this.#state = first.state;
    this.#status = { state: 'connecting', url: this.#urls[0] ?? '', after: null };
    this.#carryOut(first);
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get status(): ClientStatus {
    return this.#status;
  }

  /** It is closed, or is being closed. */
  get closed(): boolean {
    return this.#closing !== null || this.#state.kind === 'closed';
  }

  /** The connection that frames can be sent on, or null. */
  get connection(): Connection | null {
    return this.closed || this.#state.kind !== 'connected' ? null : this.#connection;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#state.kind === 'connected') await this.#connection?.leave();
    this.#handle({ type: 'close' });
  }

  #handle(event: LinkEvent): void {
    const { retries = Number.POSITIVE_INFINITY, reconnect, passcode } = this.#options;
    const renews = typeof passcode === 'function';
    this.#carryOut(step(this.#state, event, { retries, reconnect: reconnect !== false, renews }));
  }

  #carryOut({ state, effects }: LinkStep): void {
    this.#state = state;
    for (const effect of effects) this.#effect(effect);
  }

  #effect(effect: LinkEffect): void {
    switch (effect.type) {
      case 'attempt':
        return this.#attempt(effect.after);
      case 'wait': {
        const ms = this.#retryMs ?? this.#pauseMs(effect.attempt);
        this.#retryMs = null;
        this.#retry = this.#clock.after(ms, () => this.#handle({ type: 'due' }));
        return;
      }
      case 'stop_waiting':
        return this.#retry?.cancel();
      case 'hang_up':
        return this.#connection?.destroy();
      case 'found':
        this.#handlers.connected();
        this.#ready.resolve();
        return this.#report({ state: 'connected', url: this.#url });
      case 'lost':
        this.#ready = new Deferred();
        this.#handlers.lost(effect.error);
        this.#retryMs = effect.again ? this.#pauseMs(0) : null;
        return this.#report({ state: 'lost', error: effect.error, retryMs: this.#retryMs });
      case 'finish':
        this.#handlers.finished(effect.error);
        // Settled, if it was closed while connected: from now on it says that there is none.
        if (this.#ready.settled) this.#ready = new Deferred();
        this.#ready.reject(effect.error ?? new MusterError('fabric_closed'));
        return this.#report({ state: 'closed', error: effect.error });
    }
  }

  get #url(): string {
    return this.#urls[(this.#attempts - 1) % this.#urls.length] ?? '';
  }

  #attempt(after: MusterError | null): void {
    // At the socket of an agent any login will do.
    const { login = 'local', passcode = '', tls, host, timeoutMs, heartBeatMs } = this.#options;
    this.#attempts += 1;
    const url = this.#url;
    this.#connection = new Connection(
      {
        url,
        login,
        tls,
        host: host ?? parseAddress(url).host,
        passcode: typeof passcode === 'string' ? () => passcode : passcode,
        timeoutMs: timeoutMs ?? FABRIC_LIMITS.connectMs,
        heartBeatMs: heartBeatMs ?? FABRIC_LIMITS.idleMs,
        clock: this.#clock,
        dial: this.#dial,
      },
      {
        connected: () => this.#handle({ type: 'connected' }),
        message: (subscription, raw) => this.#handlers.message(subscription, raw),
        refused: (error, subscription) => this.#handlers.refused(error, subscription),
        ended: (error, final) => this.#handle({ type: 'failed', error, final: final || this.#cannotLogIn(error) }),
      },
    );
    this.#report({ state: 'connecting', url, after });
  }

  /**
   * A function for passcodes that fails at the start is a mistake, and later on an outage of where it gets them from.
   */
  #cannotLogIn({ code }: MusterError): boolean {
    return code === 'fabric_passcode' && this.#state.kind === 'connecting' && !this.#state.found;
  }

  #pauseMs(attempt: number): number {
    const { reconnect, random = Math.random } = this.#options;
    const { minMs = FABRIC_LIMITS.retryMs, maxMs = FABRIC_LIMITS.retryMaxMs, jitter = 0.5 } = reconnect || {};
    const ms = Math.min(Math.max(minMs, maxMs), minMs * 2 ** Math.min(attempt, 30));
    return ms * (1 + jitter * (2 * random() - 1));
  }

  #report(status: ClientStatus): void {
    this.#status = status;
    this.#options.onStatus?.(status);
  }
}
