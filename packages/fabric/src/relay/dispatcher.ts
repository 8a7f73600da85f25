import type { MusterError } from '../errors.js';
import type { Hub } from '../hub/hub.js';
import type { Sessions } from '../session/sessions.js';
import { textOf } from '../stomp/bytes.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import type { ForwardedSubscriptions } from './forwarding/forwarded-subscriptions.js';
import type { RelayLog } from './logging.js';
import { readRevoked } from './logins/login-answers.js';
import type { LoginRenewal } from './logins/login-renewal.js';
import { LOGIN_ANSWERS, type UpstreamLogins } from './logins/upstream-logins.js';
import { isMarker, positionOf } from './upstream/event-position.js';
import type { UpstreamHandlers } from './upstream/upstream.js';

export interface DispatcherPorts {
  readonly hub: Hub;
  readonly sessions: Sessions;
  readonly logins: UpstreamLogins;
  readonly renewal: LoginRenewal | null;
  readonly forwarded: ForwardedSubscriptions;
  readonly log: RelayLog;
  /** A frame from upstream was dropped. */
  ignored(): void;
}

/** Hands what comes from upstream to those it is for: events to the hub, answers to whoever has asked. */
export class Dispatcher implements Omit<UpstreamHandlers, 'ready' | 'ended'> {
  readonly #ports: DispatcherPorts;
  /** Position of the latest event of a broker that is not Muster, and numbers its events in another way. */
  #counted = 0;

  constructor(ports: DispatcherPorts) {
    this.#ports = ports;
  }

  /** Delivers an event to all subscriptions of all clients that it matches (B-4). */
  event(bytes: Uint8Array, start: number, end: number, raw: RawFrame | null): void {
    const position = positionOf(bytes, start);
    // A marker: upstream itself was cut off from the root, and events may be missing.
    if (position === null && isMarker(bytes, start)) return this.#ports.sessions.gap();
    this.#counted += 1;
    this.#ports.hub.deliverFromUpstream(bytes, start, end, position ?? this.#counted, raw);
  }

  message(subscription: string, raw: RawFrame): void {
    const { logins, forwarded } = this.#ports;
    if (subscription === LOGIN_ANSWERS) {
      if (raw.header('revoked') !== undefined) return this.#revoked(raw);
      if (raw.header('renew') !== undefined) return this.#ports.renewal?.start();
      if (logins.answer(raw)) return;
    } else if (forwarded.message(subscription, raw)) return;
    this.ignored('MESSAGE');
  }

  refused(subscription: string, error: MusterError): void {
    this.#ports.forwarded.refused(subscription, error);
  }

  /** B-7, O-14: neither answered nor passed on. */
  ignored(command: string): void {
    this.#ports.ignored();
    this.#ports.log.info({ command }, 'a frame from upstream was dropped');
  }

  /** The rights of a login have changed: sessions with it are cut, and relays below are told. */
  #revoked(raw: RawFrame): void {
    const revoked = readRevoked(textOf(raw.bytes, raw.bodyStart, raw.bodyEnd));
    if (revoked === null) return this.ignored('MESSAGE');
    this.#ports.logins.revoke(revoked);
    this.#ports.sessions.revoke(revoked);
  }
}
