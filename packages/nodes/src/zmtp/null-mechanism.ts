import { commandData, encodeCommand, headerSize, writeHeader } from './frame.js';
import type { Handshake, Mechanism } from './mechanism.js';
import { encodeMetadata, socketType } from './metadata.js';
import { ProtocolError } from './protocol-error.js';

/** ZMTP without security: one READY from each side (RFC 23). */
export class NullMechanism implements Mechanism {
  readonly #socketType: string;

  constructor(ownSocketType: string) {
    this.#socketType = ownSocketType;
  }

  handshake(command: Buffer): Handshake {
    const metadata = commandData(command, 'READY');
    if (metadata === null) throw new ProtocolError('expected READY');
    return { do: 'admit', key: null, socketType: socketType(metadata) };
  }

  welcome(): Buffer {
    return encodeCommand('READY', encodeMetadata({ 'Socket-Type': this.#socketType, Identity: '' }));
  }

  refusal(): null {
    return null;
  }

  open(flags: number, body: Buffer): { flags: number; body: Buffer } {
    // What the frame reader gives is overwritten by what arrives next.
    return { flags, body: Buffer.from(body) };
  }

  sealedSize(bodyLength: number): number {
    return headerSize(bodyLength) + bodyLength;
  }

  seal(out: Buffer, at: number, flags: number, body: Uint8Array): number {
    const bodyAt = writeHeader(out, at, flags, body.length);
    out.set(body, bodyAt);
    return bodyAt + body.length;
  }
}
