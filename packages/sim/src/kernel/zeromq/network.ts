import type { Random } from '../random.js';
import type { Process, Timeline } from '../timeline.js';
import type { Trace } from '../trace.js';
import { Connection } from './connection.js';
import { arrow, told } from './said.js';
import type { AgentSide, Path, ServerSide } from './sides.js';

/** Where ZeroMQ stops queueing for one peer. */
const HELD_MESSAGES = 64;
const RECONNECT_FIRST_MS = 250;
const RECONNECT_LONGEST_MS = 5_000;
/** Of the agent's pings, in heartbeat intervals. */
const PING_TIMEOUT_INTERVALS = 3;
/** The server has only TCP keepalive. */
const KEEPALIVE_MS = 120_000;
const HANDSHAKE_MS = 10_000;

/** A command socket's wish to be connected, for as long as it is open. */
export interface Dialing {
  send(frames: readonly Uint8Array[]): boolean;
  close(): void;
}

interface Subscriber {
  readonly process: Process;
  readonly path: Path;
  /** Of the heartbeat socket. */
  readonly host: string;
}

/** ZeroMQ between servers and agents as programs see it: messages that are late, lost with their connection, or held. */
export class Network {
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #trace: Trace;
  /** By host. */
  readonly #listening = new Map<string, ServerSide>();
  #identities = 0;
  readonly #connections = new Set<Connection>();
  readonly #subscribers = new Map<(frames: readonly Buffer[]) => void, Subscriber>();
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

  /** Whose sockets are open there. */
  listening(host: string): ServerSide | null {
    return this.#listening.get(host) ?? null;
  }

  /** @returns the addresses of its sockets. */
  listen(server: ServerSide): { readonly heartbeat: string; readonly command: string } {
    const { host } = server;
    if (this.#listening.has(host)) throw new Error(`somebody listens at ${host}`);
    this.#listening.set(host, server);
    return { heartbeat: `tcp://${host}:10000`, command: `tcp://${host}:10001` };
  }

  /** The server's sockets are gone, with or without its process. */
  unlisten(server: ServerSide): void {
    if (this.#listens(server)) this.#listening.delete(server.host);
    for (const connection of this.#connections) {
      if (connection.server !== server) continue;
      connection.serverOpen = false;
      this.#tellAgent(connection);
    }
  }

  /** As the server's own sockets do: it never waits, and says when there is nobody. */
  toNode(server: ServerSide, identity: Uint8Array, frames: readonly Uint8Array[]): 'sent' | 'gone' {
    const connection = this.#find(server, identity);
    if (connection === undefined) return 'gone';
    const { agent } = connection;
    this.spoken(server, agent);
    const copy = frames.map((frame) => Buffer.from(frame));
    this.#carry(connection, 'down', copy, () => {
      if (!connection.agentOpen) return;
      if (this.#arrived.has(copy)) this.repeated(agent.path);
      this.#arrived.add(copy);
      agent.arrived(copy);
    });
    return 'sent';
  }

  /** The server closes a connection, if it still stands. */
  hangUp(server: ServerSide, identity: Uint8Array): void {
    const connection = this.#find(server, identity);
    if (connection !== undefined) this.#breakServerSide(connection);
  }

  /** To whoever is subscribed at this server's heartbeat socket. */
  publish({ host }: ServerSide, frames: readonly Uint8Array[]): void {
    const copy = frames.map((frame) => Buffer.from(frame));
    for (const [arrived, { process, path, host: heard }] of this.#subscribers) {
      if (heard !== host || path.cut || this.#random.chance(path.drop)) continue;
      this.#timeline.after(this.#latency(path), process, () => {
        if (this.#subscribers.has(arrived)) arrived(copy);
      });
    }
  }

  // --- the agents' side

  /** Hears what is published at `address`, whichever server listens there. */
  subscribe(process: Process, path: Path, address: string, arrived: (frames: readonly Buffer[]) => void): () => void {
    this.#subscribers.set(arrived, { process, path, host: hostOf(address) });
    return () => this.#subscribers.delete(arrived);
  }

  /** A request to a host and its answer over HTTP; rejects when there is nobody, or no answer in time. */
  request<T>(
    process: Process,
    path: Path,
    { host, timeoutMs }: { readonly host: string; readonly timeoutMs: number },
    answer: (server: ServerSide) => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const limit = this.#timeline.after(timeoutMs, process, () => reject(new Error('no answer in time')));
      const there = this.#latency(path);
      const server = this.listening(host);
      if (path.cut || this.#random.chance(path.drop)) return;
      this.#timeline.after(there, server?.process ?? process, () => {
        let settle: () => void;
        if (server === null || !this.#listens(server)) settle = () => reject(new Error('connection refused'));
        else {
          try {
            const value = answer(server);
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

  /** Connects to the command socket that the agent's configuration names, again and again until it is closed. */
  dial(agent: AgentSide): Dialing {
    let open = true;
    let connection: Connection | null = null;
    let failures = 0;
    const { path, process } = agent;
    const host = hostOf(agent.configuration.push_jobs.heartbeat.command_addr);
    const waiting: Buffer[][] = [];

    const later = (): void => {
      const longest = Math.min(RECONNECT_FIRST_MS * 2 ** failures, RECONNECT_LONGEST_MS);
      failures = Math.min(failures + 1, 10);
      this.#timeline.after(longest * this.#random.between(0.5, 1), process, attempt);
    };
    const attempt = (): void => {
      if (!open) return;
      const server = this.listening(host);
      if (path.cut || server === null) return later();
      // A server that stands still or dies meanwhile does not answer.
      const limit = this.#timeline.after(HANDSHAKE_MS, process, later);
      this.#timeline.after(this.#latency(path), server.process, () => handshake(server, limit));
    };
    const handshake = (server: ServerSide, limit: { cancelled: boolean; at: number }): void => {
      if (!process.alive || this.#timeline.now >= limit.at) return;
      const sameKey = agent.configuration.curve_public_key === server.key;
      const admitted = this.#listens(server) && !path.cut && sameKey && server.handlers.admits(agent.curveKey);
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
      if (connection.serverOpen && this.#listens(server)) {
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

  #listens(server: ServerSide): boolean {
    return this.#listening.get(server.host) === server;
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

/** Of `tcp://HOST:PORT`. */
function hostOf(address: string): string {
  return new URL(address).hostname;
}
