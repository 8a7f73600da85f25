import { NODE_LIMITS } from '../limits.js';
import type { Connection, FrameSink, SendResult } from './connection.js';
import { COMMAND, MORE } from './frame.js';
import { ProtocolError } from './protocol-error.js';

const IDENTITY_BYTES = 8;

/**
 * The ROUTER end: messages of a few frames from each connection, and to it. The identity of a connection is a number
 * given here and never used again; what a peer calls itself is of no account.
 */
export class Router {
  readonly #received: (frames: readonly Uint8Array[]) => void;
  readonly #byIdentity = new Map<string, Connection>();
  readonly #identities = new Map<Connection, string>();
  #last = 0n;

  /** `received`: a message, the identity first. */
  constructor(received: (frames: readonly Uint8Array[]) => void) {
    this.#received = received;
  }

  opened(connection: Connection): FrameSink {
    const identity = Buffer.alloc(IDENTITY_BYTES);
    this.#last += 1n;
    identity.writeBigUInt64BE(this.#last);
    const key = identity.toString('latin1');
    this.#byIdentity.set(key, connection);
    this.#identities.set(connection, key);

    let parts: Buffer[] = [];
    let held = 0;
    const received = this.#received;
    return {
      take(flags, body) {
        // No command but PING has a meaning here.
        if ((flags & COMMAND) !== 0) return;
        parts.push(body);
        if ((flags & MORE) === 0) {
          const message = [identity, ...parts];
          parts = [];
          held = 0;
          received(message);
        } else {
          held += body.length;
          if (parts.length >= NODE_LIMITS.messageFrames) throw new ProtocolError('a message of too many frames');
        }
      },
      get held() {
        return held;
      },
      get waiting() {
        return parts.length > 0;
      },
    };
  }

  closed(connection: Connection): void {
    const key = this.#identities.get(connection);
    if (key === undefined) return;
    this.#identities.delete(connection);
    this.#byIdentity.delete(key);
  }

  send(identity: Uint8Array, frames: readonly Uint8Array[]): SendResult {
    return this.#byIdentity.get(keyOf(identity))?.send(frames, NODE_LIMITS.unsentBytes) ?? 'gone';
  }

  /** Closes the connection, if it still stands. */
  hangUp(identity: Uint8Array): void {
    this.#byIdentity.get(keyOf(identity))?.close(null);
  }
}

function keyOf(identity: Uint8Array): string {
  return Buffer.from(identity.buffer, identity.byteOffset, identity.byteLength).toString('latin1');
}
