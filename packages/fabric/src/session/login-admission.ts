import type { Clock } from '@muster/base';
import { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { FabricLog } from '../log.js';
import type { FabricMetrics } from '../metrics.js';
import { FairShares } from './fair-shares.js';

export interface LoginAdmissionPorts {
  readonly clock: Clock;
  readonly log: FabricLog;
  readonly metrics: FabricMetrics;
}

/** Refusals are logged at most this often: whoever floods us must not fill the log as well. */
const LOG_EVERY_MS = 10_000;

/**
 * Connections that have not logged in: bounded all together, and no address has more than its share, so that whoever
 * opens many and says nothing does not keep others from logging in.
 */
export class LoginAdmission {
  readonly #ports: LoginAdmissionPorts;
  readonly #shares = new FairShares(FABRIC_LIMITS.unauthenticatedConnections);
  #loggedMs = Number.NEGATIVE_INFINITY;
  /** Connections refused since the last log entry. */
  #refused = 0;

  constructor(ports: LoginAdmissionPorts) {
    this.#ports = ports;
  }

  /** Null: the connection may try to log in, and counts until `release`. */
  admit(remote: string): MusterError | null {
    const from = networkOf(remote);
    if (this.#shares.take(from)) return null;
    const held = this.#shares.heldBy(from);
    this.#reportRefusal(from, held);
    const limit = FABRIC_LIMITS.unauthenticatedConnections;
    return held === 0
      ? new MusterError('too_busy', { what: 'connections that have not logged in', limit })
      : new MusterError('too_busy', { what: `connections from ${from} that have not logged in`, limit: held });
  }

  /** The connection has logged in, or is gone. */
  release(remote: string): void {
    this.#shares.giveBack(networkOf(remote));
  }

  #reportRefusal(from: string, held: number): void {
    const { clock, log, metrics } = this.#ports;
    metrics.refusedBeforeLogin += 1;
    this.#refused += 1;
    const nowMs = clock.monotonic();
    if (nowMs - this.#loggedMs < LOG_EVERY_MS) return;
    const details = { from, held, all: this.#shares.taken, refused: this.#refused };
    log.warn(details, 'connections are refused: too many have not logged in');
    this.#loggedMs = nowMs;
    this.#refused = 0;
  }
}

/** The address; of IPv6 the network of 64 bits, whose addresses are all one customer's. */
export function networkOf(remote: string): string {
  const [, ipv6] = /^\[([0-9a-f:.]+)[^\]]*\]/i.exec(remote) ?? [];
  if (ipv6 === undefined) return remote.replace(/:\d+$/, '');
  const [before = '', after] = ipv6.split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0');
  return `${[...head, ...zeros, ...tail].slice(0, 4).join(':')}::/64`;
}
