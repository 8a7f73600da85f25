import type { Socket } from 'node:net';
import { Budget } from '@muster/platform/upkeep';
import { NODE_LIMITS } from '../limits.js';
import { COMMAND, commandData, MORE } from './frame.js';
import { FrameReader } from './frame-reader.js';
import { checkGreeting, checkSignature, GREETING_BYTES, type MechanismName, serverGreeting } from './greeting.js';
import type { Intake } from './intake.js';
import type { Mechanism } from './mechanism.js';
import { ProtocolError } from './protocol-error.js';
import type { Unfinished } from './unfinished.js';

/** What the kind of socket does with the frames of one connection. */
export interface FrameSink {
  /** One frame after the handshake. @throws ProtocolError */
  take(flags: number, body: Buffer): void;
  /** Memory taken by what is not complete. */
  readonly held: number;
  /** Something more has to come soon. */
  readonly waiting: boolean;
}

export interface ConnectionPorts {
  readonly security: MechanismName;
  readonly mechanism: Mechanism;
  /** Kinds of sockets that may connect to this one. */
  readonly peers: readonly string[];
  /** Bytes of the largest frame after the handshake, as it is on the wire. */
  readonly frameLimit: number;
  readonly unfinished: Unfinished;
  readonly intake: Intake;
  readonly now: () => number;
  /** Whether a peer with this CURVE key may come in; null without CURVE. */
  readonly admits: (key: Buffer | null) => boolean;
  /** The handshake is over. */
  readonly opened: (connection: Connection) => FrameSink;
  readonly closed: (connection: Connection, why: string | null) => void;
}

export type SendResult = 'sent' | 'busy' | 'gone';

type State =
  | { readonly at: 'greeting'; readonly heard: Buffer }
  | { readonly at: 'handshake' }
  | { readonly at: 'open'; readonly sink: FrameSink }
  | { readonly at: 'closed' };

const NOTHING = Buffer.alloc(0);
const PONG = Buffer.from('\x04PONG', 'latin1');
const PING_TTL_BYTES = 2;
const PING_CONTEXT_BYTES = 16;

/**
 * One connection that was accepted: greeting, handshake, then frames both ways. Until the handshake is over it may send
 * a greeting and a few small commands, and nothing else is kept of it. Whatever is not ZMTP closes it.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #ports: ConnectionPorts;
  readonly #reader = new FrameReader(NODE_LIMITS.handshakeBytes);
  readonly #commands: Budget;
  #state: State = { at: 'greeting', heard: NOTHING };
  #why: string | null = null;
  #held = 0;
  /** Since when it has been waited for: for the handshake, or for the rest of a message; null while nothing is. */
  #waitingSince: number | null;

  constructor(socket: Socket, ports: ConnectionPorts) {
    this.#socket = socket;
    this.#ports = ports;
    this.#waitingSince = ports.now();
    this.#commands = new Budget(NODE_LIMITS.commands, ports.now());
    socket.setNoDelay(true);
    // TCP keepalive rather than ZMTP's ping: deployed agents on libzmq 4.0 would receive a ping as a message.
    socket.setKeepAlive(true, NODE_LIMITS.keepAliveMs);
    socket.on('data', (chunk: Buffer) => ports.intake.take(socket, chunk.length, () => this.#read(chunk)));
    socket.on('error', (error) => {
      this.#why ??= error.message;
    });
    // Not before what it brought was taken.
    socket.on('close', () => ports.intake.take(socket, 0, () => this.#ended()));
    socket.write(serverGreeting(ports.security));
  }

  get open(): boolean {
    return this.#state.at === 'open';
  }

  /** Closed when what is waited for does not come. */
  overdue(now: number): void {
    if (this.#waitingSince === null) return;
    const limit = this.open ? NODE_LIMITS.unfinishedMs : NODE_LIMITS.handshakeMs;
    if (now - this.#waitingSince >= limit) this.close(this.open ? 'a message was not finished' : 'no handshake');
  }

  /** A message of several frames, unless more than `most` bytes wait for the peer already. */
  send(parts: readonly Uint8Array[], most: number): SendResult {
    if (this.#state.at !== 'open') return 'gone';
    if (this.#socket.writableLength > most) return 'busy';
    const { mechanism } = this.#ports;
    const out = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + mechanism.sealedSize(part.length), 0));
    let at = 0;
    parts.forEach((part, index) => {
      at = mechanism.seal(out, at, index < parts.length - 1 ? MORE : 0, part);
    });
    this.#socket.write(out);
    return 'sent';
  }

  /** What is in frames already, the same for many. */
  sendFrames(bytes: Buffer, most: number): SendResult {
    if (this.#state.at !== 'open') return 'gone';
    if (this.#socket.writableLength > most) return 'busy';
    this.#socket.write(bytes);
    return 'sent';
  }

  close(why: string | null): void {
    this.#why ??= why;
    this.#socket.destroy();
    this.#ended();
  }

  #ended(): void {
    if (this.#state.at === 'closed') return;
    this.#state = { at: 'closed' };
    this.#waitingSince = null;
    this.#ports.unfinished.change(this.#held, 0);
    this.#held = 0;
    this.#ports.closed(this, this.#why);
  }

  #read(chunk: Buffer): void {
    if (this.#state.at === 'closed') return;
    try {
      const rest = this.#state.at === 'greeting' ? this.#greeted(this.#state.heard, chunk) : chunk;
      if (rest.length > 0) this.#reader.read(rest, (flags, body) => this.#frame(flags, body));
      if (this.#state.at === 'open') this.#account(this.#state.sink);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.close(error.message);
    }
  }

  /** What came after the greeting. */
  #greeted(before: Buffer, chunk: Buffer): Buffer {
    const missing = GREETING_BYTES - before.length;
    const heard = Buffer.concat([before, chunk.subarray(0, missing)]);
    if (heard.length < GREETING_BYTES) {
      checkSignature(heard);
      this.#state = { at: 'greeting', heard };
      return NOTHING;
    }
    checkGreeting(heard, this.#ports.security);
    this.#state = { at: 'handshake' };
    return chunk.subarray(missing);
  }

  #frame(flags: number, body: Buffer): boolean {
    switch (this.#state.at) {
      case 'handshake':
        this.#handshake(flags, body);
        break;
      case 'open': {
        const frame = this.#ports.mechanism.open(flags, body);
        if ((frame.flags & COMMAND) === 0 || !this.#command(frame.body)) {
          this.#state.sink.take(frame.flags, frame.body);
        }
        break;
      }
    }
    return this.#state.at !== 'closed';
  }

  #handshake(flags: number, body: Buffer): void {
    if ((flags & COMMAND) === 0) throw new ProtocolError('expected a command');
    const { mechanism, peers, admits } = this.#ports;
    const step = mechanism.handshake(body);
    if (step.do === 'reply') {
      this.#socket.write(step.reply);
      return;
    }
    if (!peers.includes(step.socketType)) throw new ProtocolError(`a socket of type ${step.socketType}`);
    if (!admits(step.key)) {
      this.#refuse(mechanism.refusal());
      return;
    }
    this.#socket.write(mechanism.welcome());
    this.#waitingSince = null;
    this.#reader.limit = this.#ports.frameLimit;
    this.#state = { at: 'open', sink: this.#ports.opened(this) };
  }

  /** The peer is told why, so that it can tell this from a broken connection. */
  #refuse(told: Buffer | null): void {
    this.#why = 'not admitted';
    if (told !== null) this.#socket.write(told);
    this.#socket.destroySoon();
    this.#ended();
  }

  /** True when it was for the connection itself. */
  #command(body: Buffer): boolean {
    if (!this.#commands.spend(1, this.#ports.now())) throw new ProtocolError('too many commands');
    const ping = commandData(body, 'PING');
    if (ping === null) return false;
    // Two bytes say for how long the peer may be silent; the rest is to be sent back.
    const pong = Buffer.concat([PONG, ping.subarray(PING_TTL_BYTES, PING_TTL_BYTES + PING_CONTEXT_BYTES)]);
    const { mechanism } = this.#ports;
    const out = Buffer.allocUnsafe(mechanism.sealedSize(pong.length));
    mechanism.seal(out, 0, COMMAND, pong);
    this.#socket.write(out);
    return true;
  }

  #account(sink: FrameSink): void {
    const held = this.#reader.held + sink.held;
    const before = this.#held;
    this.#held = held;
    this.#ports.unfinished.change(before, held);
    if (this.#reader.held === 0 && !sink.waiting) this.#waitingSince = null;
    else this.#waitingSince ??= this.#ports.now();
  }
}
