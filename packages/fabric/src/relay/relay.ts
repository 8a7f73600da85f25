import type { Clock, Timer } from '@muster/base';
import { MusterError } from '../errors.js';
import { sockets, type Transport } from '../transport/transport.js';
import { createComponents, type RelayComponents } from './components.js';
import type { RelayLog } from './logging.js';
import {
  type CutCause,
  type FailCause,
  type RelayEffect,
  type RelayEvent,
  type RelayState,
  startRelayMachine,
  step,
} from './machine.js';
import { checkRelayOptions, type RelayOptions, type RelaySettings } from './options.js';
import type { RelayStatus } from './status/status.js';
import { Upstream } from './upstream/upstream.js';

export interface RelayEnvironment {
  readonly clock: Clock;
  readonly log: RelayLog;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Runs work after this turn of the loop; `setImmediate`. */
  readonly defer?: (work: () => void) => void;
  /** How it reaches upstream and is reached; the sockets of this machine. */
  readonly transport?: Transport;
}

export interface Relay {
  /** Settles when clients are taken for the first time: with the addresses as bound. */
  readonly serving: Promise<readonly string[]>;
  /** Settles when the relay cannot go on, and has ended: `upstream_refused`, `address_in_use`. */
  readonly failed: Promise<MusterError>;
  status(): RelayStatus;
  /** Tells the clients, and closes everything. */
  stop(): Promise<void>;
}

/**
 * Starts a relay (the sheet's clusterd): a client of one upstream, a server to many clients. It takes clients once
 * upstream is ready, and goes on trying for ever until it is.
 *
 * @throws MusterError `upstream_missing` (T-3), `insecure_relay`, `invalid_field`, `usage`
 */
export function startRelay(options: RelayOptions, environment: RelayEnvironment): Relay {
  return new RunningRelay(checkRelayOptions(options), environment);
}

/** The shell of `machine.ts`. */
class RunningRelay implements Relay {
  readonly serving: Promise<readonly string[]>;
  readonly failed: Promise<MusterError>;
  readonly #settings: RelaySettings;
  readonly #environment: RelayEnvironment;
  readonly #components: RelayComponents;
  #state: RelayState = startRelayMachine.state;
  /** Events of the machine that wait while another one is being carried out. */
  #events: RelayEvent[] | null = null;
  #upstream: Upstream | null = null;
  #listenError: MusterError | null = null;
  #pause: Timer | null = null;
  #served: (urls: readonly string[]) => void = () => {};
  #fail: (error: MusterError) => void = () => {};

  constructor(settings: RelaySettings, environment: RelayEnvironment) {
    const { clock, defer = setImmediate, log, transport = sockets } = environment;
    this.#settings = settings;
    this.#environment = environment;
    this.serving = new Promise((resolve) => {
      this.#served = resolve;
    });
    this.failed = new Promise((resolve) => {
      this.#fail = resolve;
    });
    this.#components = createComponents(settings, {
      clock,
      defer,
      log,
      upstream: () => (this.#upstream?.ready === true ? this.#upstream : null),
      sendFailed: (reason) => this.#happens({ type: 'send_failed', reason }),
      serving: () => this.#state.kind === 'serving',
      listen: transport.listen,
      listening: (urls) => this.#listening(urls),
      failed: (error) => this.#cannotListen(error),
    });
    for (const effect of startRelayMachine.effects) this.#run(effect);
  }

  status(): RelayStatus {
    return this.#components.report.status();
  }

  async stop(): Promise<void> {
    this.#happens({ type: 'stop' });
    this.#stopTimers();
    await this.#components.listeners.close();
  }

  /** One event at a time: carrying out an effect may bring about the next. */
  #happens(event: RelayEvent): void {
    if (this.#events !== null) {
      this.#events.push(event);
      return;
    }
    this.#events = [event];
    try {
      for (const next of this.#events) {
        const { state, effects } = step(this.#state, next);
        if (state !== this.#state) this.#enter(state, next);
        for (const effect of effects) this.#run(effect);
      }
    } finally {
      this.#events = null;
    }
  }

  #enter(state: RelayState, event: RelayEvent): void {
    const reason = 'reason' in event ? event.reason : null;
    if (state.kind !== this.#state.kind) {
      const details = { upstream: this.#settings.upstream, state: state.kind, ...(reason !== null && { reason }) };
      const expected = state.kind === 'serving' || event.type === 'stop';
      this.#environment.log[expected ? 'info' : 'warn'](details, `relay: ${state.kind}`);
    } else if (reason !== null) this.#environment.log.info({ reason }, 'upstream cannot be reached');
    this.#state = state;
    this.#components.report.entered(state, reason);
  }

  #run(effect: RelayEffect): void {
    const { clock, random } = this.#environment;
    const { listeners, forwarded, renewal, sessions, publisher } = this.#components;
    switch (effect.type) {
      case 'connect':
        this.#upstream = this.#connect();
        return;
      case 'hang_up':
        this.#upstream?.hangUp('this relay has hung up');
        return this.#detach();
      case 'pause':
        // L-1: with jitter, so that the children of a parent do not come back all at once.
        this.#pause = clock.after(this.#settings.retryMs * (0.5 + random()), () =>
          this.#happens({ type: 'pause_over' }),
        );
        return;
      case 'end_pause':
        return this.#pause?.cancel();
      case 'use_upstream':
        publisher.use(this.#upstream);
        // Before what they have subscribed to goes on.
        renewal?.start();
        return forwarded.use(this.#upstream);
      case 'tell_gap':
        return sessions.gap();
      case 'listen':
        return listeners.open();
      case 'close_listeners':
        listeners.close();
        return;
      case 'cut_clients':
        return this.#cut(effect.cause, effect.reason);
      case 'fail':
        return this.#end(effect.cause, effect.reason);
    }
  }

  #connect(): Upstream {
    const { anonymous, ca, sendMs, upstream: url, virtualHost } = this.#settings;
    const { dispatcher } = this.#components;
    const { clock, transport = sockets } = this.#environment;
    const options = { clock, timeoutMs: sendMs, ...(ca !== undefined && { tls: { ca } }) };
    return new Upstream(
      { ...this.#settings, host: virtualHost, relay: !anonymous },
      { clock, dial: (handlers) => transport.connect(url, options, handlers) },
      {
        ready: () => this.#happens({ type: 'ready' }),
        event: (bytes, start, end, raw) => dispatcher.event(bytes, start, end, raw),
        message: (subscription, raw) => dispatcher.message(subscription, raw),
        refused: (subscription, error) => dispatcher.refused(subscription, error),
        ignored: (command) => dispatcher.ignored(command),
        ended: (end) => {
          this.#detach();
          this.#happens(end);
        },
      },
    );
  }

  #detach(): void {
    const { logins, forwarded, renewal, publisher } = this.#components;
    this.#upstream = null;
    renewal?.stop();
    publisher.use(null);
    forwarded.use(null);
    logins.fail(new MusterError('upstream_failed', { reason: 'it is not connected' }));
  }

  #cut(cause: CutCause, reason: string): void {
    const { listeners, sessions } = this.#components;
    sessions.cutAll(
      cause === 'stopping' ? new MusterError('relay_stopping') : new MusterError('upstream_failed', { reason }),
    );
    if (this.#state.kind !== 'drop') return;
    listeners.close().then(() => this.#happens({ type: 'cleared' }));
  }

  #listening(urls: readonly string[]): void {
    this.#environment.log.info({ listen: urls }, 'clients are taken');
    this.#served(urls);
  }

  #cannotListen(error: unknown): void {
    this.#listenError = error instanceof MusterError ? error : null;
    this.#happens({ type: 'listen_failed', reason: error instanceof Error ? error.message : String(error) });
  }

  #end(cause: FailCause, reason: string): void {
    this.#stopTimers();
    const { listen, upstream: url } = this.#settings;
    if (cause === 'refused') return this.#fail(new MusterError('upstream_refused', { url, reason }));
    this.#fail(this.#listenError ?? new MusterError('address_in_use', { address: listen.join(', '), reason }));
  }

  /** Nothing goes on by itself any more. */
  #stopTimers(): void {
    this.#components.sessions.stop();
    this.#components.report.stop();
  }
}
