import type { KeyObject } from 'node:crypto';
import type { Clock } from '@muster/base';
import {
  type AgentMessage,
  type DropCause,
  Dropped,
  decryptSessionKey,
  dialects,
  type Frames,
  type NodeConfiguration,
  type OpenedServerHeartbeat,
  openServerHeartbeat,
  type ServerMessage,
  type Session,
} from '@muster/wire';
import type { AgentLog } from '../logging.js';
import type { CommandSocket, CurveKeys, ReceivingSocket, SocketEvent, Sockets } from './sockets.js';

/** What a connection tells, as it happens. */
export interface ConnectionEvents {
  heartbeat(beat: OpenedServerHeartbeat): void;
  message(message: ServerMessage): void;
  channel(event: SocketEvent | 'stuck'): void;
  /** A received message that was not accepted. */
  dropped(cause: DropCause): void;
}

/** Where the messages to send come from. */
export interface MessageSource {
  take(): AgentMessage | null;
  putBack(message: AgentMessage): void;
}

export interface ConnectionSetup {
  readonly configuration: NodeConfiguration;
  readonly sockets: Sockets;
  readonly curve: CurveKeys;
  readonly privateKey: KeyObject;
  /** By which the server's heartbeats may be signed: the present one, and the one that is to replace it. */
  readonly serverKeys: readonly KeyObject[];
  readonly incarnation: string;
  readonly clock: Clock;
  readonly logger: AgentLog;
}

const codec = dialects.native;

/**
 * The two sockets to one server under one configuration (sheet §3.1): SUB for its heartbeats, DEALER for everything
 * else. One writer sends what the source holds; nobody waits for it.
 */
export class Connection {
  readonly configuration: NodeConfiguration;
  readonly #setup: ConnectionSetup;
  readonly #session: Session;
  #serverKeys: readonly KeyObject[];
  readonly #source: MessageSource;
  readonly #events: ConnectionEvents;
  #subscriber: ReceivingSocket | null = null;
  #dealer: CommandSocket | null = null;
  #closed = false;
  #wake: (() => void) | null = null;
  #idle: (() => void)[] = [];
  #lastBeat: OpenedServerHeartbeat | undefined;

  /** Throws when the session key cannot be used; opens nothing yet. */
  constructor(setup: ConnectionSetup, source: MessageSource, events: ConnectionEvents) {
    this.configuration = setup.configuration;
    this.#setup = setup;
    this.#source = source;
    this.#events = events;
    const key = decryptSessionKey(setup.configuration.encoded_session_key.key, setup.privateKey);
    this.#session = { key, sent: 0, received: 0 };
    this.#serverKeys = setup.serverKeys;
  }

  /** Opens the sockets; ZeroMQ connects them by and by, and again whenever a connection breaks. */
  open(): void {
    this.#subscriber = this.#subscribe();
    this.#dealer = this.#deal();
    void this.#write();
  }

  #subscribe(): ReceivingSocket {
    const subscriber = this.#setup.sockets.subscribe(this.configuration);
    void this.#receive(subscriber, (frames) => this.#hearBeat(frames));
    return subscriber;
  }

  #deal(): CommandSocket {
    const { sockets, curve } = this.#setup;
    const dealer = sockets.deal(this.configuration, curve, (event) => {
      if (!this.#closed && this.#dealer === dealer) this.#events.channel(event);
    });
    void this.#receive(dealer, (frames) => this.#hearMessage(frames));
    return dealer;
  }

  async #receive(socket: ReceivingSocket, take: (frames: readonly Buffer[]) => void): Promise<void> {
    try {
      for await (const frames of socket) {
        if (this.#closed) return;
        this.#guard(() => take(frames));
      }
    } catch (error) {
      if (!this.#closed && !socket.closed) this.#setup.logger.error({ err: error }, 'cannot receive any more');
    }
  }

  /** Nothing a peer sends ends the receiving. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof Dropped) this.#events.dropped(error.why);
      else this.#setup.logger.error({ err: error }, 'cannot handle a message');
    }
  }

  #limits() {
    return { now: this.#setup.clock.now(), maxSkewMs: this.configuration.max_message_skew * 1000 };
  }

  #hearBeat(frames: readonly Buffer[]): void {
    const beat = this.#openBeat(twoFrames(frames), this.#serverKeys);
    this.#lastBeat = beat;
    this.#events.heartbeat(beat);
  }

  /** What the next key has signed ends what the one before it signs. */
  #openBeat(frames: Frames, [key, ...later]: readonly KeyObject[]): OpenedServerHeartbeat {
    if (key === undefined) throw new Dropped('bad_sig');
    try {
      const beat = openServerHeartbeat(frames, key, {
        ...this.#limits(),
        dialect: 'native',
        ...(this.#lastBeat === undefined ? {} : { after: this.#lastBeat }),
      });
      this.#serverKeys = [key, ...later];
      return beat;
    } catch (error) {
      if (!(error instanceof Dropped) || error.why !== 'bad_sig') throw error;
      return this.#openBeat(frames, later);
    }
  }

  #hearMessage(frames: readonly Buffer[]): void {
    const [header, body] = twoFrames(frames);
    this.#events.message(codec.openServer(header, body, this.#session, this.#limits()));
  }

  /** The source has something. */
  kick(): void {
    this.#wake?.();
  }

  /** Frames are sealed when the socket takes them, so sequence and timestamp are those of the sending. */
  async #write(): Promise<void> {
    while (!this.#closed) {
      const message = this.#source.take();
      if (message === null) {
        for (const idle of this.#idle.splice(0)) idle();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
        continue;
      }
      const { organization: org, node } = this.configuration;
      const { incarnation, clock } = this.#setup;
      const frames = codec.encodeAgent(message, { org, node, incarnation, now: clock.now() }, this.#session);
      if (frames === null) continue;
      await this.#send(message, frames);
    }
  }

  async #send(message: AgentMessage, frames: Frames): Promise<void> {
    if (frames[1].byteLength > this.configuration.max_body_size) return this.#events.dropped('body_too_big');
    const dealer = this.#dealer;
    if (dealer === null) return this.#source.putBack(message);
    try {
      await dealer.send(frames);
    } catch {
      // Full for too long, or closed meanwhile.
      this.#source.putBack(message);
      if (!this.#closed && this.#dealer === dealer) this.#events.channel('stuck');
    }
  }

  /** New sockets under the same configuration, as when the server was lost (sheet §5.3). */
  reopen(): void {
    if (this.#closed) return;
    const old = this.#subscriber;
    this.#subscriber = this.#subscribe();
    old?.close();
    this.reopenChannel();
  }

  /** A new command socket; whatever the old one had queued is gone. */
  reopenChannel(): void {
    if (this.#closed) return;
    const old = this.#dealer;
    this.#dealer = this.#deal();
    old?.close();
  }

  /** No command socket until `reopenChannel`. */
  closeChannel(): void {
    const old = this.#dealer;
    this.#dealer = null;
    old?.close();
  }

  /** Resolves when all there was to send was handed to the socket, or after `limitMs`. */
  flush(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const limit = this.#setup.clock.after(limitMs, resolve);
      this.#idle.push(() => {
        limit.cancel();
        resolve();
      });
      this.kick();
    });
  }

  /** Gives what was sent last `flushMs` to leave. */
  close(flushMs = 0): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#dealer !== null) this.#dealer.linger = flushMs;
    this.#subscriber?.close();
    this.#dealer?.close();
    this.kick();
    for (const idle of this.#idle.splice(0)) idle();
  }
}

function twoFrames(frames: readonly Buffer[]): Frames {
  const [header, body] = frames;
  if (frames.length !== 2 || header === undefined || body === undefined) throw new Dropped('frames');
  return [header, body];
}
