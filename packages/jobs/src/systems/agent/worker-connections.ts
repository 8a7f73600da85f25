import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, join, type Timer } from '@muster/base';
import type { RandomBytes } from '@muster/platform/auth';
import type { Way } from '../asking/orders.js';
import { SYSTEM_LIMITS } from '../limits.js';
import { SystemTrouble } from '../types.js';
import type { AgentReach, AgentSystem } from './types.js';

export interface WorkerConnectionsDeps {
  readonly agents: AgentReach;
  readonly clock: Pick<Clock, 'after'>;
  readonly random: RandomBytes;
  /** Where workers reach this server, once it listens. */
  readonly reached: () => Omit<Way, 'ticket'>;
}

/** A connection to a node, for which a worker is on its way. */
interface Waiting {
  readonly system: string;
  readonly connection: Duplex;
  readonly timer: Timer;
}

/** At one time: opened and not come for, and come for. */
const MOST_WAITING = 1000;
const MOST_JOINED = 10_000;
const TICKET_BYTES = 32;
/** A worker whose machine is gone says nothing: its connection is over after some 40 s. */
const KEEPALIVE_MS = 30_000;

/**
 * Connections to nodes for processes beside the server. Agents connect to the server alone, so it opens each as for a worker of its
 * own, keeps it for a moment, and passes bytes on between it and whoever brings the ticket, once. It looks into none of them, and
 * takes no more from one side than the other takes.
 */
export class WorkerConnections {
  readonly #deps: WorkerConnectionsDeps;
  /** By the digest of the ticket: how long a look-up takes tells nothing of tickets. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #joined = new Set<Duplex>();

  constructor(deps: WorkerConnectionsDeps) {
    this.#deps = deps;
  }

  /** Opens one, and says how to get to it. @throws SystemTrouble */
  async open(system: AgentSystem): Promise<Way> {
    const { agents, clock, random, reached } = this.#deps;
    if (this.#waiting.size >= MOST_WAITING || this.#joined.size >= MOST_JOINED) {
      throw new SystemTrouble(system.name, 'CONNECTION_FAILURE', 'too many connections of workers are open at once');
    }
    const connection = await agents.open(system);
    const ticket = Buffer.from(random(TICKET_BYTES)).toString('hex');
    const key = digest(ticket);
    const timer = clock.after(SYSTEM_LIMITS.connectMs, () => connection.destroy());
    this.#waiting.set(key, { system: system.name, connection, timer });
    connection.once('close', () => this.#take(key));
    return { ...reached(), ticket };
  }

  /** The system that a ticket is for; null: it is for none, or for none any more. */
  awaited(ticket: string): string | null {
    return this.#waiting.get(digest(ticket))?.system ?? null;
  }

  /** What whoever brings the ticket says and hears from now on is of the node. False: it is for none any more. */
  connect(ticket: string, worker: Duplex): boolean {
    const connection = this.#take(digest(ticket));
    if (connection === null) return false;
    this.#joined.add(connection);
    connection.once('close', () => this.#joined.delete(connection));
    for (const end of [connection, worker]) if (end instanceof Socket) end.setKeepAlive(true, KEEPALIVE_MS);
    join(connection, worker);
    return true;
  }

  async stop(): Promise<void> {
    for (const { connection } of this.#waiting.values()) connection.destroy();
    for (const connection of this.#joined) connection.destroy();
  }

  #take(key: string): Duplex | null {
    const found = this.#waiting.get(key);
    if (found === undefined) return null;
    found.timer.cancel();
    this.#waiting.delete(key);
    return found.connection;
  }
}

function digest(ticket: string): string {
  return createHash('sha256').update(ticket).digest('base64');
}
