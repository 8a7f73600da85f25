import { ProtocolError } from './protocol-error.js';

/** Properties in a READY or INITIATE command: a short name, then a value of up to 2^31 bytes (RFC 23). */
export function encodeMetadata(properties: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(properties)) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    parts.push(Buffer.from([name.length]), Buffer.from(name, 'latin1'), length, Buffer.from(value, 'latin1'));
  }
  return Buffer.concat(parts);
}

/** The peer's kind of socket, such as `DEALER`. @throws ProtocolError when the metadata cannot be read. */
export function socketType(metadata: Buffer): string {
  let found = '';
  let at = 0;
  while (at < metadata.length) {
    const nameEnd = at + 1 + (metadata[at] ?? 0);
    if (nameEnd + 4 > metadata.length) throw new ProtocolError('unreadable metadata');
    const name = metadata.toString('latin1', at + 1, nameEnd).toLowerCase();
    const end = nameEnd + 4 + metadata.readUInt32BE(nameEnd);
    if (end > metadata.length) throw new ProtocolError('unreadable metadata');
    if (name === 'socket-type') found = metadata.toString('latin1', nameEnd + 4, end);
    at = end;
  }
  return found;
}
