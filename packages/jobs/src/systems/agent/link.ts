import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import { type Clock, every, type Timer } from '@muster/base';
import { Slots } from '@muster/platform/ssh';
import { SYSTEM_LIMITS } from '../limits.js';
import { SystemTrouble } from '../types.js';
import { AGENT_LIMITS } from './protocol.js';
import type { AgentReach, AgentSystem } from './types.js';

export interface AgentLinkOptions {
  readonly clock: Clock;
  readonly idleMs?: number;
}

/** The one connection to a helper: made when it is needed, made again when it broke, closed when nobody used it for a while. */
export class AgentLink {
  /** Commands at once. */
  readonly slots = new Slots(SYSTEM_LIMITS.channels);
  readonly #system: AgentSystem;
  readonly #reach: AgentReach;
  readonly #options: AgentLinkOptions;
  #session: Promise<ClientHttp2Session> | null = null;
  #uses = 0;
  #idle: Timer | null = null;
  #closed = false;

  constructor(system: AgentSystem, reach: AgentReach, options: AgentLinkOptions) {
    this.#system = system;
    this.#reach = reach;
    this.#options = options;
  }

  /** Nobody uses it, and nothing is open. */
  get resting(): boolean {
    return this.#uses === 0 && this.#session === null;
  }

  /** A request; the link stays open until its stream has closed. @throws SystemTrouble */
  async request(path: string, headers: OutgoingHttpHeaders = {}, waitForTrailers = false): Promise<ClientHttp2Stream> {
    const release = this.#use();
    try {
      const session = await this.#connected();
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers }, { waitForTrailers });
      // Who reads it is told by its iterator, or by its closing.
      stream.on('error', () => undefined);
      stream.once('close', release);
      return stream;
    } catch (error) {
      release();
      throw error instanceof SystemTrouble ? error : this.lost(error);
    }
  }

  /** What a request that ended without an answer means. */
  lost(cause?: unknown): SystemTrouble {
    const { name, node } = this.#system;
    const text = `the connection to system ${name}, by the agent of node ${node}, was lost`;
    return new SystemTrouble(name, 'CONNECTION_FAILURE', text, { cause });
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  #use(): () => void {
    this.#idle?.cancel();
    this.#idle = null;
    this.#uses++;
    let used = true;
    return () => {
      if (!used) return;
      used = false;
      this.#uses--;
      if (this.#uses > 0 || this.#session === null) return;
      const { clock, idleMs = SYSTEM_LIMITS.idleMs } = this.#options;
      this.#idle = clock.after(idleMs, () => this.#drop());
    };
  }

  #connected(): Promise<ClientHttp2Session> {
    if (this.#closed) throw new SystemTrouble(this.#system.name, 'CONNECTION_FAILURE', 'the connection was closed');
    if (this.#session !== null) return this.#session;
    const made = this.#open(() => {
      if (this.#session === made) this.#session = null;
    });
    this.#session = made;
    return made;
  }

  async #open(gone: () => void): Promise<ClientHttp2Session> {
    try {
      const connection = await this.#reach.open(this.#system);
      const session = await this.#greeted(connection);
      session.once('close', gone);
      this.#watch(session);
      if (this.#closed) session.destroy();
      return session;
    } catch (error) {
      gone();
      throw error;
    }
  }

  /** The helper has said something of HTTP/2. */
  #greeted(connection: Duplex): Promise<ClientHttp2Session> {
    const { clock } = this.#options;
    // Of an HTTP server it stays open for what is written when the other side has ended.
    connection.once('end', () => connection.destroy());
    const session = connect('http://helper', {
      createConnection: () => connection,
      settings: { enablePush: false, initialWindowSize: AGENT_LIMITS.window },
      maxSessionMemory: AGENT_LIMITS.memory,
    });
    return new Promise((resolve, reject) => {
      const timer = clock.after(SYSTEM_LIMITS.connectMs, () => session.destroy());
      session.on('error', () => undefined);
      session.once('close', () => {
        timer.cancel();
        reject(this.lost());
      });
      session.once('remoteSettings', () => {
        timer.cancel();
        // What is told is told later: it may be gone by then, and says so by closing.
        if (session.destroyed) return;
        session.setLocalWindowSize(AGENT_LIMITS.allWindows);
        resolve(session);
      });
    });
  }

  /** A helper that does not answer any more may be behind a connection that broke without a sign. */
  #watch(session: ClientHttp2Session): void {
    let unanswered = 0;
    const timer = every(this.#options.clock, SYSTEM_LIMITS.keepaliveMs, () => {
      if (session.destroyed) return;
      if (unanswered >= SYSTEM_LIMITS.keepalives) return session.destroy();
      unanswered += 1;
      session.ping((error) => {
        if (error === null) unanswered = 0;
      });
    });
    session.once('close', () => timer.cancel());
  }

  #drop(): void {
    this.#idle?.cancel();
    this.#idle = null;
    this.#session?.then((session) => session.destroy()).catch(() => undefined);
    this.#session = null;
  }
}
