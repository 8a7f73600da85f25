import { connect, type Socket } from 'node:net';

/** ZMTP 3 written by hand, to say what no ZeroMQ library lets one say. */

export const MORE = 1;
export const COMMAND = 4;

const LONG = 2;

/** What stands before a frame's body; `announced` instead of its length. */
export function frame(flags: number, body: Uint8Array, announced = body.length): Buffer {
  if (announced < 256) return Buffer.concat([Buffer.from([flags, announced]), body]);
  const header = Buffer.alloc(9);
  header[0] = flags | LONG;
  header.writeBigUInt64BE(BigInt(announced), 1);
  return Buffer.concat([header, body]);
}

export function greeting(mechanism: 'NULL' | 'CURVE'): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1]);
  bytes.write(mechanism, 12, 'latin1');
  return bytes;
}

/** READY of a socket of this type, without security. */
export function ready(type: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(type.length);
  const body = Buffer.concat([Buffer.from('\x05READY\x0bSocket-Type', 'latin1'), length, Buffer.from(type)]);
  return frame(COMMAND, body);
}

/** A connection that says what it is told to, and reads whatever comes. */
export class RawConnection {
  readonly socket: Socket;
  received = 0;
  closed = false;
  /** Resolves when it is closed. */
  readonly ended: Promise<void>;

  constructor(port: number, from = '127.0.0.1') {
    this.socket = connect({ host: '127.0.0.1', port, localAddress: from });
    this.socket.on('data', (chunk: Buffer) => {
      this.received += chunk.length;
    });
    // That it is closed is what tests look for.
    this.socket.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.closed = true;
        resolve();
      });
    });
  }

  /** A subscriber after its handshake. */
  static async subscriber(port: number, from?: string): Promise<RawConnection> {
    const connection = new RawConnection(port, from);
    await connection.send(Buffer.concat([greeting('NULL'), ready('SUB')]));
    return connection;
  }

  /** Resolves when the system has taken it, or the connection is closed. */
  async send(bytes: Uint8Array): Promise<void> {
    if (this.closed) return;
    const taken = new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
    await Promise.race([taken, this.ended]);
  }

  close(): void {
    this.socket.destroy();
  }
}
