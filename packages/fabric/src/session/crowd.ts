import { type Clock, MusterError } from '@muster/wire';
import { FABRIC_LIMITS } from '../limits.js';
import type { FabricMetrics } from '../metrics.js';
import { Shares } from '../shares.js';
import type { FabricLog } from './context.js';

export interface CrowdPorts {
  readonly clock: Clock;
  readonly log: FabricLog;
  readonly metrics: FabricMetrics;
}

/** Who floods us must not fill the log as well. */
const LOG_EVERY_MS = 10_000;

/**
 * Connections that have not logged in: bounded all together, and no address has more than its share, so that whoever
 * opens many and says nothing does not keep others from logging in.
 */
export class Crowd {
  readonly #ports: CrowdPorts;
  readonly #shares = new Shares(FABRIC_LIMITS.openingConnections);
  #loggedMs = Number.NEGATIVE_INFINITY;
  /** Since then. */
  #refused = 0;

  constructor(ports: CrowdPorts) {
    this.#ports = ports;
  }

  /** Null: it may try to log in, until `leave`. */
  enter(remote: string): MusterError | null {
    const from = networkOf(remote);
    if (this.#shares.take(from)) return null;
    const held = this.#shares.held(from);
    this.#tell(from, held);
    const limit = FABRIC_LIMITS.openingConnections;
    return held === 0
      ? new MusterError('too_busy', { what: 'connections that have not logged in', limit })
      : new MusterError('too_busy', { what: `connections from ${from} that have not logged in`, limit: held });
  }

  /** It has logged in, or is gone. */
  leave(remote: string): void {
    this.#shares.give(networkOf(remote));
  }

  #tell(from: string, held: number): void {
    const { clock, log, metrics } = this.#ports;
    metrics.crowded += 1;
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
