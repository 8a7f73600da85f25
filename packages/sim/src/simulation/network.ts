import type { SocketEvent } from '@muster/agent';
import type { Handlers } from '@muster/server';
import type { NodeConfiguration } from '@muster/wire';
import type { Random } from './random.js';
import type { Process, Timeline } from './timeline.js';
import type { Trace } from './trace.js';

/** The way between one node and the server. */
export interface Path {
  readonly node: string;
  /** Packets that arrive at all, arrive after this; the rest of the conditions come on top. */
  readonly latencyMs: readonly [number, number];
  /** Nothing passes; what was sent is held, as TCP does, and lost when the connection is given up. */
  cut: boolean;
  /** Shares of messages. ZeroMQ over TCP does neither by itself, so only dialects that must bear it get them. */
  drop: number;
  duplicate: number;
  reorder: number;
  /** Added to the latency. */
  delayMs: number;
  /** Messages that were given to the network at the node. */
  sent: number;
}

export interface ServerSide {
  readonly process: Process;
  readonly handlers: Handlers;
  /** Its CURVE key: a new one at every start. */
  readonly key: string;
}

/** What an agent's command socket is to the network. */
export interface AgentSide {
  readonly process: Process;
  readonly path: Path;
  readonly curveKey: Uint8Array;
  readonly configuration: NodeConfiguration;
  arrived(frames: readonly Buffer[]): void;
  tell(event: SocketEvent): void;
}

/** Where ZeroMQ stops queueing for one peer. */
const HELD_MESSAGES = 64;
const RECONNECT_FIRST_MS = 250;
const RECONNECT_LONGEST_MS = 5_000;
/** Of the agent's pings, in heartbeat intervals. */
const PING_TIMEOUT_INTERVALS = 3;
/** The server has only TCP keepalive. */
const KEEPALIVE_MS = 120_000;
const HANDSHAKE_MS = 10_000;

/** One established connection: ordered both ways unless the path says otherwise. */
class Connection {
  readonly identity: Buffer;
  readonly server: ServerSide;
  readonly agent: AgentSide;
  /** Each side knows by itself whether it is still there. */
  serverOpen = true;
  agentOpen = true;
  upAt = 0;
  downAt = 0;
  held: (() => void)[] = [];

  constructor(identity: Buffer, server: ServerSide, agent: AgentSide) {
    this.identity = identity;
    this.server = server;
    this.agent = agent;
  }
}

/** A command socket's wish to be connected, for as long as it is open. */
export interface Dialing {
  send(frames: readonly Uint8Array[]): boolean;
  close(): void;
}

export class Network {
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #trace: Trace;
  #server: ServerSide | null = null;
  #identities = 0;
  readonly #connections = new Set<Connection>();
  readonly #subscribers = new Map<(frames: readonly Buffer[]) => void, { process: Process; path: Path }>();
  readonly #arrived = new WeakSet<readonly Buffer[]>();
  /** A message to a node arrives for the second time. */
  repeated: (path: Path) => void = () => undefined;
  /** The server sends something to this agent. */
  spoken: (server: ServerSide, agent: AgentSide) => void = () => undefined;

  constructor(timeline: Timeline, random: Random, trace: Trace) {
    this.#timeline = timeline;
    this.#random = random;
    this.#trace = trace;
  }

  // --- the server's side

  get server(): ServerSide | null {
    return this.#server;
  }

  listen(server: ServerSide): void {
    this.#server = server;
  }

  /** The server's sockets are gone, with or without its process. */
  unlisten(server: ServerSide): void {
    if (this.#server === server) this.#server = null;
    for (const connection of this.#connections) {
      if (connection.server !== server) continue;
      connection.serverOpen = false;
      this.#tellAgent(connection);
    }
  }

  /** As ROUTER with `mandatory`: throws the codes of ZeroMQ. */
  toNode(server: ServerSide, identity: Uint8Array, frames: readonly Uint8Array[]): void {
    const connection = this.#find(server, identity);
    if (connection === undefined) throw Object.assign(new Error('host unreachable'), { code: 'EHOSTUNREACH' });
    const { agent } = connection;
    this.spoken(server, agent);
    const copy = frames.map((frame) => Buffer.from(frame));
    this.#carry(connection, 'down', copy, () => {
      if (!connection.agentOpen) return;
      if (this.#arrived.has(copy)) this.repeated(agent.path);
      this.#arrived.add(copy);
      agent.arrived(copy);
    });
  }

  publish(frames: readonly Uint8Array[]): void {
    const copy = frames.map((frame) => Buffer.from(frame));
    for (const [arrived, { process, path }] of this.#subscribers) {
      if (path.cut || this.#random.chance(path.drop)) continue;
      this.#timeline.after(this.#latency(path), process, () => {
        if (this.#subscribers.has(arrived)) arrived(copy);
      });
    }
  }

  // --- the agents' side

  subscribe(process: Process, path: Path, arrived: (frames: readonly Buffer[]) => void): () => void {
    this.#subscribers.set(arrived, { process, path });
    return () => this.#subscribers.delete(arrived);
  }

  /** A request and its answer over HTTP; rejects when there is nobody, or no answer in time. */
  request<T>(process: Process, path: Path, timeoutMs: number, answer: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const limit = this.#timeline.after(timeoutMs, process, () => reject(new Error('no answer in time')));
      const there = this.#latency(path);
      const server = this.#server;
      if (path.cut || this.#random.chance(path.drop)) return;
      this.#timeline.after(there, server?.process ?? process, () => {
        let settle: () => void;
        if (server === null || server !== this.#server) settle = () => reject(new Error('connection refused'));
        else {
          try {
            const value = answer();
            settle = () => resolve(value);
          } catch (error) {
            settle = () => reject(error);
          }
        }
        if (path.cut || this.#random.chance(path.drop)) return;
        this.#timeline.after(this.#latency(path), process, () => {
          limit.cancelled = true;
          settle();
        });
      });
    });
  }

  dial(agent: AgentSide): Dialing {
    let open = true;
    let connection: Connection | null = null;
    let failures = 0;
    const { path, process } = agent;
    const waiting: Buffer[][] = [];

    const later = (): void => {
      const longest = Math.min(RECONNECT_FIRST_MS * 2 ** failures, RECONNECT_LONGEST_MS);
      failures = Math.min(failures + 1, 10);
      this.#timeline.after(longest * this.#random.between(0.5, 1), process, attempt);
    };
    const attempt = (): void => {
      if (!open) return;
      const server = this.#server;
      if (path.cut || server === null) return later();
      // A server that stands still or dies meanwhile does not answer.
      const limit = this.#timeline.after(HANDSHAKE_MS, process, later);
      this.#timeline.after(this.#latency(path), server.process, () => handshake(server, limit));
    };
    const handshake = (server: ServerSide, limit: { cancelled: boolean; at: number }): void => {
      if (!process.alive || this.#timeline.now >= limit.at) return;
      const sameKey = agent.configuration.curve_public_key === server.key;
      const admitted = this.#server === server && !path.cut && sameKey && server.handlers.admits(agent.curveKey);
      const made = admitted ? new Connection(this.#identity(), server, agent) : null;
      if (made !== null) this.#connections.add(made);
      this.#timeline.after(this.#latency(path), process, () => {
        limit.cancelled = true;
        if (!open) {
          if (made !== null) this.#agentLeft(made);
          return;
        }
        if (made === null) {
          later();
          if (!sameKey || !path.cut) agent.tell('refused');
          return;
        }
        if (!made.serverOpen) return later();
        failures = 0;
        connection = made;
        this.#trace.say(() => `${path.node} is connected as ${made.identity.readUInt32BE(1)}`);
        agent.tell('connected');
        for (const frames of waiting.splice(0)) this.#fromNode(made, frames);
      });
    };
    this.#broken.set(agent, () => {
      if (!open) return;
      connection = null;
      agent.tell('disconnected');
      later();
    });
    attempt();
    return {
      send: (frames) => {
        const copy = frames.map((frame) => Buffer.from(frame));
        if (connection !== null) {
          this.#fromNode(connection, copy);
          return true;
        }
        if (waiting.length >= HELD_MESSAGES) return false;
        waiting.push(copy);
        return true;
      },
      close: () => {
        open = false;
        this.#broken.delete(agent);
        if (connection !== null) this.#agentLeft(connection);
        connection = null;
      },
    };
  }

  /** How an agent's socket learns that its connection broke. */
  readonly #broken = new Map<AgentSide, () => void>();

  // --- faults

  cut(path: Path, intervalMs: number): void {
    path.cut = true;
    for (const connection of this.#connections) {
      if (connection.agent.path !== path) continue;
      const { agent } = connection;
      const still = (): boolean => path.cut && this.#connections.has(connection);
      this.#timeline.after(PING_TIMEOUT_INTERVALS * intervalMs, agent.process, () => {
        if (still() && connection.agentOpen) this.#breakAgentSide(connection);
      });
      this.#timeline.after(KEEPALIVE_MS, null, () => {
        if (still()) this.#breakServerSide(connection);
      });
    }
  }

  heal(path: Path): void {
    path.cut = false;
    for (const connection of this.#connections) {
      if (connection.agent.path !== path) continue;
      for (const send of connection.held.splice(0)) send();
      if (!connection.agentOpen)
        this.#timeline.after(this.#latency(path), null, () => this.#breakServerSide(connection));
      if (!connection.serverOpen) this.#tellAgent(connection);
    }
  }

  /** The process of an agent is gone; its machine closes what it had open. */
  agentDied(process: Process): void {
    for (const [arrived, subscriber] of this.#subscribers) {
      if (subscriber.process === process) this.#subscribers.delete(arrived);
    }
    for (const agent of this.#broken.keys()) if (agent.process === process) this.#broken.delete(agent);
    for (const connection of this.#connections) if (connection.agent.process === process) this.#agentLeft(connection);
  }

  // --- parts

  #fromNode(connection: Connection, frames: readonly Buffer[]): void {
    const { server, agent } = connection;
    agent.path.sent += 1;
    this.#carry(connection, 'up', frames, () => {
      if (connection.serverOpen && this.#server === server) {
        server.handlers.received('curve', [connection.identity, ...frames]);
      }
    });
  }

  #carry(connection: Connection, way: 'up' | 'down', frames: readonly Buffer[], arrive: () => void): void {
    const { path } = connection.agent;
    if (path.cut) {
      if (connection.held.length < HELD_MESSAGES)
        connection.held.push(() => this.#carry(connection, way, frames, arrive));
      return;
    }
    if (this.#random.chance(path.drop)) {
      this.#trace.say(() => `lost, ${arrow(way, path)}: ${told(frames)}`);
      return;
    }
    this.#deliver(connection, way, frames, arrive);
    if (this.#random.chance(path.duplicate)) this.#deliver(connection, way, frames, arrive);
  }

  #deliver(connection: Connection, way: 'up' | 'down', frames: readonly Buffer[], arrive: () => void): void {
    const { path, process } = connection.agent;
    let at = this.#timeline.now + this.#latency(path);
    if (this.#random.chance(path.reorder)) at += this.#random.around(500);
    else if (way === 'up') at = connection.upAt = Math.max(at, connection.upAt);
    else at = connection.downAt = Math.max(at, connection.downAt);
    const receiver = way === 'up' ? connection.server.process : process;
    this.#timeline.after(at - this.#timeline.now, receiver, () => {
      this.#trace.say(() => `${arrow(way, path)}: ${told(frames)}`);
      arrive();
    });
  }

  #latency(path: Path): number {
    return this.#random.between(path.latencyMs[0], path.latencyMs[1]) + path.delayMs;
  }

  #tellAgent(connection: Connection): void {
    const { agent } = connection;
    if (agent.path.cut) return;
    this.#timeline.after(this.#latency(agent.path), agent.process, () => {
      if (connection.agentOpen) this.#breakAgentSide(connection);
    });
  }

  #breakAgentSide(connection: Connection): void {
    connection.agentOpen = false;
    connection.held = [];
    this.#forget(connection);
    this.#broken.get(connection.agent)?.();
  }

  #breakServerSide(connection: Connection): void {
    connection.serverOpen = false;
    connection.held = [];
    this.#forget(connection);
    if (connection.agentOpen) this.#tellAgent(connection);
  }

  #agentLeft(connection: Connection): void {
    if (!connection.agentOpen) return;
    connection.agentOpen = false;
    const { path } = connection.agent;
    if (path.cut) {
      this.#timeline.after(KEEPALIVE_MS, null, () => this.#breakServerSide(connection));
      return;
    }
    // Behind what was sent before.
    const at = Math.max(this.#timeline.now + this.#latency(path), connection.upAt);
    this.#timeline.after(at - this.#timeline.now, null, () => this.#breakServerSide(connection));
  }

  #forget(connection: Connection): void {
    if (!connection.serverOpen && !connection.agentOpen) this.#connections.delete(connection);
  }

  #find(server: ServerSide, identity: Uint8Array): Connection | undefined {
    for (const connection of this.#connections) {
      if (connection.serverOpen && connection.server === server && connection.identity.equals(identity))
        return connection;
    }
    return undefined;
  }

  /** Five bytes, the first zero, as ZeroMQ makes them. */
  #identity(): Buffer {
    const identity = Buffer.alloc(5);
    identity.writeUInt32BE(++this.#identities, 1);
    return identity;
  }
}

function arrow(way: 'up' | 'down', path: Path): string {
  return way === 'up' ? `${path.node} -> server` : `server -> ${path.node}`;
}

const SHOWN = ['type', 'job_id', 'state', 'job_state', 'outcome', 'start', 'reason', 'from', 'settled', 'offset'];

/** A message in a line. */
function told(frames: readonly Buffer[]): string {
  const fields: unknown = JSON.parse(frames.at(-1)?.toString() ?? '{}');
  if (typeof fields !== 'object' || fields === null) return '?';
  const shown = Object.entries(fields).filter(([name, value]) => SHOWN.includes(name) && value !== null);
  return shown.map(([name, value]) => (name === 'type' ? value : `${name}=${brief(name, value)}`)).join(' ');
}

function brief(name: string, value: unknown): string {
  return name === 'job_id' ? String(value).slice(-4) : String(value);
}
