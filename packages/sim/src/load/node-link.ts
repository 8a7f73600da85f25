import {
  type AgentMessage,
  type AgentState,
  dialects,
  type Frames,
  isTaskOrder,
  type ServerMessage,
  type Session,
} from '@muster/wire';
import { Dealer } from 'zeromq';
import { type NoOpState, noOp, READY, succeeded } from './no-op.js';
import { OutputLoad, type OutputLoadOptions } from './output-load.js';
import type { TaskLoad } from './task-load.js';

/** Where and as whom a simulated node connects. */
export interface LinkOptions {
  readonly org: string;
  readonly node: string;
  readonly incarnation: string;
  readonly address: string;
  readonly curveServerKey: string;
  readonly curve: { readonly publicKey: string; readonly secretKey: string };
  readonly sessionKey: Uint8Array;
  readonly maxSkewMs: number;
  /** The tasks of the node; null: it takes none. */
  readonly tasks: TaskLoad | null;
  /** What its commands write before they succeed; null: nothing, at once. */
  readonly output: OutputLoadOptions | null;
}

/** Messages kept while the socket is not writable; a real agent bounds them, too. */
const OUTBOX_LIMIT = 64;

/** Between attempts of ZeroMQ to connect again, as a real agent sets them. */
const RECONNECT_FIRST_MS = 250;
const RECONNECT_LONGEST_MS = 5_000;

/** One simulated node on its own CURVE connection, speaking the native dialect. */
export class NodeLink {
  readonly node: string;
  /** Messages dropped because they did not verify, or because the outbox was full. */
  dropped = 0;
  #state: NoOpState = READY;
  readonly #options: LinkOptions;
  readonly #session: Session;
  readonly #dealer: Dealer;
  readonly #outbox: Frames[] = [];
  #sending = false;
  /** Of the command that writes now. */
  #writing: OutputLoad | null = null;

  constructor(options: LinkOptions) {
    this.node = options.node;
    this.#options = options;
    this.#session = { key: options.sessionKey, sent: 0, received: 0 };
    this.#dealer = new Dealer({
      linger: 0,
      receiveHighWaterMark: 0,
      reconnectInterval: RECONNECT_FIRST_MS,
      reconnectMaxInterval: RECONNECT_LONGEST_MS,
      curveServerKey: options.curveServerKey,
      curvePublicKey: options.curve.publicKey,
      curveSecretKey: options.curve.secretKey,
    });
    this.#dealer.connect(options.address);
    void this.#receive();
  }

  get state(): AgentState {
    return this.#state.state;
  }

  beat(): void {
    const state = this.#writing === null ? this.#state.state : 'running';
    this.send({ type: 'heartbeat', state, jobId: this.#state.jobId, last: null });
    this.#options.tasks?.beat();
  }

  send(message: AgentMessage): void {
    const { org, node, incarnation } = this.#options;
    const frames = dialects.native.encodeAgent(message, { org, node, incarnation, now: Date.now() }, this.#session);
    if (frames === null) return;
    if (this.#outbox.length >= OUTBOX_LIMIT) this.dropped += 1;
    else this.#outbox.push(frames);
    if (!this.#sending) void this.#drain();
  }

  close(): void {
    this.#writing?.stop();
    this.#dealer.close();
  }

  async #drain(): Promise<void> {
    this.#sending = true;
    try {
      for (let frames = this.#outbox.shift(); frames !== undefined; frames = this.#outbox.shift()) {
        await this.#dealer.send([Buffer.from(frames[0]), Buffer.from(frames[1])]);
      }
    } catch {
      this.#outbox.length = 0;
    }
    this.#sending = false;
  }

  async #receive(): Promise<void> {
    try {
      for await (const [header, body] of this.#dealer) {
        if (header !== undefined && body !== undefined) this.#react(header, body);
      }
    } catch {
      // closed
    }
  }

  #react(header: Uint8Array, body: Uint8Array): void {
    try {
      const limits = { now: Date.now(), maxSkewMs: this.#options.maxSkewMs };
      const message = dialects.native.openServer(header, body, this.#session, limits);
      if (isTaskOrder(message)) return this.#options.tasks?.receive(message);
      if (this.#options.output !== null && this.#writes(message, this.#options.output)) return;
      const step = noOp(this.#state, message);
      this.#state = step.state;
      for (const reply of step.replies) this.send(reply);
    } catch {
      this.dropped += 1;
    }
  }

  /** A command that writes first. False: the message is none of its. */
  #writes(message: ServerMessage, options: OutputLoadOptions): boolean {
    if (message.type === 'output_stored') {
      this.#writing?.stored(message);
      return true;
    }
    if (message.type === 'abort') this.#stopWriting();
    if (message.type !== 'start' || this.#state.state !== 'waiting' || message.jobId !== this.#state.jobId)
      return false;
    const { jobId } = message;
    this.send({ type: 'started', jobId });
    // A start that comes again finds it at work.
    if (this.#writing !== null) return true;
    const ended = (): void => {
      const bytes = load.bytes;
      this.#stopWriting();
      this.#state = READY;
      this.send(succeeded(jobId, bytes));
    };
    const load: OutputLoad = new OutputLoad(jobId, options, { send: (piece) => this.send(piece), ended });
    this.#writing = load;
    return true;
  }

  #stopWriting(): void {
    this.#writing?.stop();
    this.#writing = null;
  }
}
