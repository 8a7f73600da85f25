import type { Frames } from '@muster/wire';

/**
 * What a follower that takes connections of nodes and the leader say to each other: over one stream, each message a length (4 bytes), a
 * kind (1 byte) and what belongs to it.
 */
export type LinkMessage =
  /** The follower, first: where nodes reach it. */
  | { readonly kind: 'hello'; readonly hello: Hello }
  /** The leader: this CURVE key may connect there, for so long from now on. */
  | { readonly kind: 'admit'; readonly number: number; readonly forMs: number; readonly curveKey: Uint8Array }
  /** The follower: it is so. */
  | { readonly kind: 'admitted'; readonly number: number }
  /** The follower: what arrived on a connection. The leader: what is to be sent over it. */
  | { readonly kind: 'message'; readonly identity: Uint8Array; readonly frames: Frames }
  /** The leader: to all who have subscribed. */
  | { readonly kind: 'publish'; readonly frames: Frames }
  | { readonly kind: 'hang up'; readonly identity: Uint8Array };

export interface Hello {
  readonly protocol: typeof LINK_PROTOCOL;
  /** Of the process that listens: connections have their numbers from it. */
  readonly incarnation: string;
  readonly name: string;
  readonly heartbeat: string;
  readonly command: string;
  /** Z85. */
  readonly curvePublicKey: string;
  /** How many nodes it is to have, relative to other servers; a version that does not say so has 1. */
  readonly weight?: number;
}

/** Changes with what is said here: servers of versions that do not understand each other have no link. */
export const LINK_PROTOCOL = 1;

export const LINK_LIMITS = {
  /** Largest message: one of a node, with what is around it. */
  messageBytes: 4 * 1024 * 1024,
  /** Unsent, in either direction: beyond it the leader drops what it would send, and a follower begins the link anew. */
  unsentBytes: 64 * 1024 * 1024,
  /** For the first message, and for an answer to `admit`. */
  answerMs: 2_000,
  /** Followers with a link at one time. */
  links: 64,
} as const;

export const IDENTITY_BYTES = 8;
const KINDS = ['hello', 'admit', 'admitted', 'message', 'publish', 'hang up'] as const;
const HEAD_BYTES = 5;

export function encodeLink(message: LinkMessage): Buffer {
  const parts = partsOf(message);
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const out = Buffer.allocUnsafe(HEAD_BYTES + size);
  out.writeUInt32BE(size + 1, 0);
  out[4] = KINDS.indexOf(message.kind);
  let at = HEAD_BYTES;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function partsOf(message: LinkMessage): readonly Uint8Array[] {
  switch (message.kind) {
    case 'hello':
      return [Buffer.from(JSON.stringify(message.hello))];
    case 'admit':
      return [word(message.number), word(message.forMs), message.curveKey];
    case 'admitted':
      return [word(message.number)];
    case 'message':
      return [message.identity, ...framed(message.frames)];
    case 'publish':
      return framed(message.frames);
    case 'hang up':
      return [message.identity];
  }
}

function word(value: number): Buffer {
  const out = Buffer.allocUnsafe(4);
  out.writeUInt32BE(value);
  return out;
}

function framed(frames: Frames): Uint8Array[] {
  return frames.flatMap((frame) => [word(frame.length), frame]);
}

/** What was sent is not what servers of this version say: the link ends. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
}

/** Cuts a stream into messages. */
export class LinkReader {
  #rest: Buffer = Buffer.alloc(0);

  /** @throws LinkError */
  *read(chunk: Buffer): Generator<LinkMessage> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= HEAD_BYTES) {
      const size = this.#rest.readUInt32BE(0);
      if (size < 1 || size > LINK_LIMITS.messageBytes) throw new LinkError('a message of a length that there is not');
      if (this.#rest.length < 4 + size) return;
      const kind = KINDS[this.#rest[4] ?? KINDS.length];
      const body = this.#rest.subarray(HEAD_BYTES, 4 + size);
      this.#rest = this.#rest.subarray(4 + size);
      yield decode(kind, body);
    }
  }
}

function decode(kind: (typeof KINDS)[number] | undefined, body: Buffer): LinkMessage {
  switch (kind) {
    case 'hello':
      return { kind, hello: helloIn(body) };
    case 'admit':
      return { kind, number: wordAt(body, 0), forMs: wordAt(body, 4), curveKey: body.subarray(8) };
    case 'admitted':
      return { kind, number: wordAt(body, 0) };
    case 'message':
      return { kind, identity: identityIn(body), frames: framesIn(body.subarray(IDENTITY_BYTES)) };
    case 'publish':
      return { kind, frames: framesIn(body) };
    case 'hang up':
      return { kind, identity: identityIn(body) };
    case undefined:
      throw new LinkError('a message of a kind that there is not');
  }
}

function wordAt(body: Buffer, at: number): number {
  if (body.length < at + 4) throw new LinkError('a message that is too short');
  return body.readUInt32BE(at);
}

function identityIn(body: Buffer): Buffer {
  if (body.length < IDENTITY_BYTES) throw new LinkError('a message that is too short');
  return body.subarray(0, IDENTITY_BYTES);
}

/** Header and body of a message of a node; more or fewer frames are dropped where they are understood. */
function framesIn(body: Buffer): Frames {
  const frames: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const size = wordAt(body, at);
    if (at + 4 + size > body.length) throw new LinkError('a frame that is longer than its message');
    frames.push(body.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return frames as unknown as Frames;
}

function helloIn(body: Buffer): Hello {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new LinkError('a first message that is not JSON', { cause });
  }
  const hello = value as Partial<Record<keyof Hello, unknown>> | null;
  if (hello?.protocol !== LINK_PROTOCOL) throw new LinkError('it speaks another version of this protocol');
  for (const field of ['incarnation', 'name', 'heartbeat', 'command', 'curvePublicKey'] as const) {
    if (typeof hello[field] !== 'string' || hello[field] === '')
      throw new LinkError(`a first message without ${field}`);
  }
  const { weight = 1 } = hello;
  if (typeof weight !== 'number' || !(weight >= 0)) throw new LinkError('a first message with a weight that is none');
  return value as Hello;
}
