import { type AgentMessage, isTaskReport } from '@muster/wire';
import { OUTBOX_MESSAGES } from '../limits.js';

/** Told again even if the server was away when they happened; all else the server asks for again (N12). */
const LASTING = new Set<AgentMessage['type']>(['finished', 'crashed']);

/**
 * What waits for the command socket. Nothing waits for the outbox: it is bounded, heartbeats take no room in it (only
 * that one is due is known, and it is written when it is taken), and output is pulled from where it is kept.
 * Job messages leave before heartbeats, so that a heartbeat never tells what its own message has not.
 */
export class Outbox {
  #queue: AgentMessage[] = [];
  #heartbeatDue = false;
  #online = true;
  readonly #heartbeat: () => AgentMessage;
  readonly #pulled: () => AgentMessage | null;
  /** Called when there is something to take. */
  onReadable: () => void = () => undefined;

  constructor(heartbeat: () => AgentMessage, pulled: () => AgentMessage | null) {
    this.#heartbeat = heartbeat;
    this.#pulled = pulled;
  }

  /** Returns false when the message was dropped: the outbox is full, or the server is away (§4.3). */
  push(message: AgentMessage): boolean {
    if (!this.#online && !LASTING.has(message.type)) return false;
    if (this.#queue.length >= OUTBOX_MESSAGES) return false;
    this.#queue.push(message);
    this.onReadable();
    return true;
  }

  /**
   * The first word on a new connection: a server that took this node for down drops everything before a heartbeat
   * (Push Jobs §5.5.3). Only a result that was kept comes before it: the heartbeat tells the result as well, and a
   * server that has not heard it would ask for it a second time.
   */
  greet(): void {
    if (!this.#online) return;
    const kept = this.#queue.filter(({ type }) => LASTING.has(type));
    const rest = this.#queue.filter(({ type }) => !LASTING.has(type) && type !== 'heartbeat');
    this.#queue = [...kept, this.#heartbeat(), ...rest];
    this.onReadable();
  }

  /** Due every interval; dropped first of all. */
  heartbeat(): void {
    if (!this.#online) return;
    this.#heartbeatDue = true;
    this.onReadable();
  }

  take(): AgentMessage | null {
    if (!this.#online) return null;
    const first = this.#queue.shift();
    if (first !== undefined) return first;
    if (this.#heartbeatDue) {
      this.#heartbeatDue = false;
      return this.#heartbeat();
    }
    return this.#pulled();
  }

  /** A message the socket did not take goes to the front again. Heartbeats are dropped; what was pulled is still kept. */
  putBack(message: AgentMessage): void {
    if (message.type === 'heartbeat' || message.type === 'output' || isTaskReport(message)) return;
    if (this.#online || LASTING.has(message.type)) this.#queue.unshift(message);
  }

  get empty(): boolean {
    return this.#queue.length === 0;
  }

  /** The server went away: nothing is sent, and only what nobody would ask for is kept. */
  pause(): void {
    this.#online = false;
    this.#heartbeatDue = false;
    this.#queue = this.#queue.filter((message) => LASTING.has(message.type));
  }

  resume(): void {
    this.#online = true;
    this.onReadable();
  }
}
