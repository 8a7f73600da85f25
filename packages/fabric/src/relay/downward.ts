import type { MusterError } from '@muster/wire';
import type { Hub } from '../hub/hub.js';
import type { Sessions } from '../session/sessions.js';
import { textOf } from '../stomp/bytes.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import type { RelayLog } from './logging.js';
import { readRevoked } from './login-answers.js';
import { LOGIN_ANSWERS, type Logins } from './logins.js';
import type { PassedUp } from './passed-up.js';
import { isMarker, positionOf } from './position.js';
import type { Renewal } from './renewal.js';
import type { UpstreamHandlers } from './upstream.js';

export interface DownwardPorts {
  readonly hub: Hub;
  readonly sessions: Sessions;
  readonly logins: Logins;
  readonly renewal: Renewal | null;
  readonly passedUp: PassedUp;
  readonly log: RelayLog;
  /** A frame from upstream was dropped. */
  ignored(): void;
}

/** What comes from upstream, on its way to those it is for. */
export class Downward implements Omit<UpstreamHandlers, 'ready' | 'ended'> {
  readonly #ports: DownwardPorts;
  /** Of events of brokers that number theirs in other ways. */
  #counted = 0;

  constructor(ports: DownwardPorts) {
    this.#ports = ports;
  }

  /** B-4: compared with all subscriptions of all clients. */
  event(bytes: Uint8Array, start: number, end: number, raw: RawFrame | null): void {
    const position = positionOf(bytes, start);
    // Upstream itself was cut off from the root.
    if (position === null && isMarker(bytes, start)) return this.#ports.sessions.gap();
    this.#counted += 1;
    this.#ports.hub.deliverTail(bytes, start, end, position ?? this.#counted, raw);
  }

  message(subscription: string, raw: RawFrame): void {
    const { logins, passedUp } = this.#ports;
    if (subscription === LOGIN_ANSWERS) {
      if (raw.header('revoked') !== undefined) return this.#revoked(raw);
      if (raw.header('renew') !== undefined) return this.#ports.renewal?.start();
      if (logins.answer(raw)) return;
    } else if (passedUp.message(subscription, raw)) return;
    this.ignored('MESSAGE');
  }

  refused(subscription: string, error: MusterError): void {
    this.#ports.passedUp.refused(subscription, error);
  }

  /** B-7, O-14: neither answered nor passed on. */
  ignored(command: string): void {
    this.#ports.ignored();
    this.#ports.log.info({ command }, 'a frame from upstream was dropped');
  }

  /** What upstream has told of a login holds no longer; relays below are told, too. */
  #revoked(raw: RawFrame): void {
    const revoked = readRevoked(textOf(raw.bytes, raw.bodyStart, raw.bodyEnd));
    if (revoked === null) return this.ignored('MESSAGE');
    this.#ports.logins.revoke(revoked);
    this.#ports.sessions.revoke(revoked);
  }
}
