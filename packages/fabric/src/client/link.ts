import { type Clock, systemClock, type Timer } from '@muster/wire/clock';
import { MusterError } from '@muster/wire/errors';
import { FABRIC_LIMITS } from '../limits.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import { parseAddress } from '../transport/address.js';
import { Connection } from './connection.js';
import { begin, type LinkEffect, type LinkEvent, type LinkState, type LinkStep, step } from './machine.js';
import { Ready } from './ready.js';
import type { ClientOptions, ClientStatus, Dial } from './types.js';

export interface LinkHandlers {
  /** Connected (again): subscriptions are to be sent. */
  found(): void;
  message(subscription: string, raw: RawFrame): void;
  /** As of `ConnectionHandlers`. */
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
  /** For the connection: the present one, or else the next. */
  #ready = new Ready();
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

  /** It is over, or will be at once. */
  get closed(): boolean {
    return this.#closing !== null || this.#state.kind === 'closed';
  }

  /** Null: there is none that takes anything. */
  get connection(): Connection | null {
    return this.closed || this.#state.kind !== 'connected' ? null : this.#connection;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#state.kind === 'connected') await this.#connection?.leave();
    this.#happen({ type: 'close' });
  }

  #happen(event: LinkEvent): void {
    const { retries = Number.POSITIVE_INFINITY, reconnect } = this.#options;
    this.#carryOut(step(this.#state, event, { retries, reconnect: reconnect !== false }));
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
        this.#retry = this.#clock.after(ms, () => this.#happen({ type: 'due' }));
        return;
      }
      case 'stop_waiting':
        return this.#retry?.cancel();
      case 'hang_up':
        return this.#connection?.destroy();
      case 'found':
        this.#handlers.found();
        this.#ready.resolve();
        return this.#tell({ state: 'connected', url: this.#url });
      case 'lost':
        this.#ready = new Ready();
        this.#handlers.lost(effect.error);
        this.#retryMs = effect.again ? this.#pauseMs(0) : null;
        return this.#tell({ state: 'lost', error: effect.error, retryMs: this.#retryMs });
      case 'finish':
        this.#handlers.finished(effect.error);
        // Settled, if it was closed while connected: from now on it says that there is none.
        if (this.#ready.settled) this.#ready = new Ready();
        this.#ready.reject(effect.error ?? new MusterError('fabric_closed'));
        return this.#tell({ state: 'closed', error: effect.error });
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
        connected: () => this.#happen({ type: 'connected' }),
        message: (subscription, raw) => this.#handlers.message(subscription, raw),
        refused: (error, subscription) => this.#handlers.refused(error, subscription),
        ended: (error, final) => this.#happen({ type: 'failed', error, final: final || this.#cannotLogIn(error) }),
      },
    );
    this.#tell({ state: 'connecting', url, after });
  }

  /** A function for passcodes that fails at the start is a mistake, and later on an outage of where it gets them from. */
  #cannotLogIn({ code }: MusterError): boolean {
    return code === 'fabric_passcode' && this.#state.kind === 'connecting' && !this.#state.found;
  }

  #pauseMs(attempt: number): number {
    const { reconnect, random = Math.random } = this.#options;
    const { minMs = FABRIC_LIMITS.retryMs, maxMs = FABRIC_LIMITS.retryMaxMs, jitter = 0.5 } = reconnect || {};
    const ms = Math.min(Math.max(minMs, maxMs), minMs * 2 ** Math.min(attempt, 30));
    return ms * (1 + jitter * (2 * random() - 1));
  }

  #tell(status: ClientStatus): void {
    this.#status = status;
    this.#options.onStatus?.(status);
  }
}
