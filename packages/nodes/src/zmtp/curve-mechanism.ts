import { randomBytes, timingSafeEqual } from 'node:crypto';
import { type BoxKeys, KEY_BYTES, MAC_BYTES, NONCE_BYTES, newBoxKeys, open, seal, sharedKey } from './box.js';
import { COMMAND, commandData, encodeCommand, headerSize, MORE, writeHeader } from './frame.js';
import type { Handshake, Mechanism } from './mechanism.js';
import { encodeMetadata, socketType } from './metadata.js';
import { ProtocolError } from './protocol-error.js';

/*
 * The server's end of CURVE (CurveZMQ, RFC 26; sheet §3.1). In the words of the RFC: S, s are this server's long-term
 * keys and S', s' those of the connection; C and C' are the client's.
 */

const COUNTER_BYTES = 8;
const LONG_NONCE_BYTES = 16;
/** Counter, then a box of 64 zeros; before them version, padding and C'. */
const HELLO_BYTES = 194;
const HELLO_CLIENT_AT = 74;
const COOKIE_BYTES = LONG_NONCE_BYTES + 2 * KEY_BYTES + MAC_BYTES;
const VOUCH_BYTES = LONG_NONCE_BYTES + 2 * KEY_BYTES + MAC_BYTES;
const STATUS_REFUSED = '400';

/** What stands before the payload of an encrypted frame: the name of the command, a counter, a MAC, and the flags. */
const MESSAGE_NAME = Buffer.from('\x07MESSAGE', 'latin1');
const BOX_AT = MESSAGE_NAME.length + COUNTER_BYTES;
const OVERHEAD = BOX_AT + MAC_BYTES + 1;
const INNER_MORE = 1;
const INNER_COMMAND = 2;

/** What half a counter counts to. */
const HALF = 2 ** 32;
/** Nonces of messages, of which there are many: each is used before the next one is made. */
const FROM_CLIENT = nonceOf('CurveZMQMESSAGEC', Buffer.alloc(COUNTER_BYTES));
const FROM_SERVER = nonceOf('CurveZMQMESSAGES', Buffer.alloc(COUNTER_BYTES));
const COUNTER_AT = NONCE_BYTES - COUNTER_BYTES;

/** Bytes by which an encrypted frame is longer than what is in it. */
export const CURVE_OVERHEAD = OVERHEAD;

type State =
  | { readonly expects: 'HELLO' }
  /** The client comes back with the cookie, so nothing of it need be believed until then. */
  | { readonly expects: 'INITIATE'; readonly cookieKey: Buffer }
  | { readonly expects: 'MESSAGE'; readonly key: Buffer };

export class CurveMechanism implements Mechanism {
  readonly #keys: BoxKeys;
  readonly #socketType: string;
  #state: State = { expects: 'HELLO' };
  /** The last counter. They must rise, so that nothing is heard twice. */
  readonly #heard = Buffer.alloc(COUNTER_BYTES);
  #sent = 0;

  constructor(keys: BoxKeys, ownSocketType: string) {
    this.#keys = keys;
    this.#socketType = ownSocketType;
  }

  handshake(command: Buffer): Handshake {
    switch (this.#state.expects) {
      case 'HELLO':
        return { do: 'reply', reply: this.#hello(command) };
      case 'INITIATE':
        return this.#initiate(command, this.#state.cookieKey);
      case 'MESSAGE':
        throw new ProtocolError('a command after INITIATE, before it was answered');
    }
  }

  #hello(command: Buffer): Buffer {
    const hello = commandData(command, 'HELLO');
    if (hello === null || hello.length !== HELLO_BYTES) throw new ProtocolError('expected HELLO');
    if (hello[0] !== 1 || hello[1] !== 0) throw new ProtocolError('another version of CURVE');
    const client = hello.subarray(HELLO_CLIENT_AT, HELLO_CLIENT_AT + KEY_BYTES);
    const counter = hello.subarray(HELLO_CLIENT_AT + KEY_BYTES, HELLO_CLIENT_AT + KEY_BYTES + COUNTER_BYTES);
    const key = sharedKey(client, this.#keys.secretKey);
    const box = hello.subarray(HELLO_CLIENT_AT + KEY_BYTES + COUNTER_BYTES);
    if (key === null || open(box, nonceOf('CurveZMQHELLO---', counter), key) === null) {
      throw new ProtocolError('HELLO is not for this server');
    }
    this.#rises(counter, 0);

    const own = newBoxKeys();
    const cookieKey = randomBytes(KEY_BYTES);
    const cookie = sealed('COOKIE--', Buffer.concat([client, own.secretKey]), cookieKey);
    const welcome = sealed('WELCOME-', Buffer.concat([own.publicKey, cookie]), key);
    this.#state = { expects: 'INITIATE', cookieKey };
    return encodeCommand('WELCOME', welcome);
  }

  #initiate(command: Buffer, cookieKey: Buffer): Handshake {
    const initiate = commandData(command, 'INITIATE');
    const counterAt = COOKIE_BYTES;
    const boxAt = counterAt + COUNTER_BYTES;
    if (initiate === null || initiate.length < boxAt + KEY_BYTES + VOUCH_BYTES + MAC_BYTES) {
      throw new ProtocolError('expected INITIATE');
    }
    const cookie = unsealed('COOKIE--', initiate.subarray(0, COOKIE_BYTES), cookieKey);
    if (cookie === null) throw new ProtocolError('INITIATE has another cookie');
    const client = cookie.subarray(0, KEY_BYTES);
    const ownSecret = cookie.subarray(KEY_BYTES);
    const key = sharedKey(client, ownSecret);
    const counter = initiate.subarray(counterAt, boxAt);
    const content = key && open(initiate.subarray(boxAt), nonceOf('CurveZMQINITIATE', counter), key);
    if (key === null || content === null) throw new ProtocolError('INITIATE cannot be decrypted');
    this.#rises(counter, 0);

    const longTerm = content.subarray(0, KEY_BYTES);
    const vouchKey = sharedKey(longTerm, ownSecret);
    const vouch = vouchKey && unsealed('VOUCH---', content.subarray(KEY_BYTES, KEY_BYTES + VOUCH_BYTES), vouchKey);
    // Who holds C says that C' is its own, and that it means this server: nobody can pass it on to another one.
    if (vouch === null || !timingSafeEqual(vouch, Buffer.concat([client, this.#keys.publicKey]))) {
      throw new ProtocolError('INITIATE proves no key');
    }
    this.#state = { expects: 'MESSAGE', key };
    const metadata = content.subarray(KEY_BYTES + VOUCH_BYTES);
    return { do: 'admit', key: Buffer.from(longTerm), socketType: socketType(metadata) };
  }

  welcome(): Buffer {
    const counter = Buffer.alloc(COUNTER_BYTES);
    this.#count(counter, 0);
    const metadata = encodeMetadata({ 'Socket-Type': this.#socketType, Identity: '' });
    const box = Buffer.alloc(metadata.length + MAC_BYTES);
    seal(box, metadata, nonceOf('CurveZMQREADY---', counter), this.#key());
    return encodeCommand('READY', counter, box);
  }

  refusal(): Buffer {
    return encodeCommand('ERROR', Buffer.from([STATUS_REFUSED.length]), Buffer.from(STATUS_REFUSED));
  }

  open(_flags: number, body: Buffer): { flags: number; body: Buffer } {
    if (body.length < OVERHEAD || body.compare(MESSAGE_NAME, 0, MESSAGE_NAME.length, 0, MESSAGE_NAME.length) !== 0) {
      throw new ProtocolError('expected an encrypted frame');
    }
    body.copy(FROM_CLIENT, COUNTER_AT, MESSAGE_NAME.length, BOX_AT);
    const plain = open(body.subarray(BOX_AT), FROM_CLIENT, this.#key());
    if (plain === null) throw new ProtocolError('a frame cannot be decrypted');
    this.#rises(FROM_CLIENT, COUNTER_AT);
    const inner = plain[0] ?? 0;
    const flags = ((inner & INNER_MORE) === 0 ? 0 : MORE) | ((inner & INNER_COMMAND) === 0 ? 0 : COMMAND);
    return { flags, body: plain.subarray(1) };
  }

  sealedSize(bodyLength: number): number {
    return headerSize(bodyLength + OVERHEAD) + bodyLength + OVERHEAD;
  }

  seal(out: Buffer, at: number, flags: number, body: Uint8Array): number {
    const nameAt = writeHeader(out, at, 0, body.length + OVERHEAD);
    out.set(MESSAGE_NAME, nameAt);
    this.#count(FROM_SERVER, COUNTER_AT);
    FROM_SERVER.copy(out, nameAt + MESSAGE_NAME.length, COUNTER_AT);
    const plain = Buffer.allocUnsafe(1 + body.length);
    plain[0] = ((flags & MORE) === 0 ? 0 : INNER_MORE) | ((flags & COMMAND) === 0 ? 0 : INNER_COMMAND);
    plain.set(body, 1);
    const end = nameAt + OVERHEAD + body.length;
    seal(out.subarray(nameAt + BOX_AT, end), plain, FROM_SERVER, this.#key());
    return end;
  }

  #key(): Buffer {
    if (this.#state.expects !== 'MESSAGE') throw new ProtocolError('the handshake is not over');
    return this.#state.key;
  }

  /** Writes the next one. */
  #count(out: Buffer, at: number): void {
    this.#sent += 1;
    out.writeUInt32BE(Math.floor(this.#sent / HALF), at);
    out.writeUInt32BE(this.#sent % HALF, at + COUNTER_BYTES / 2);
  }

  #rises(from: Buffer, at: number): void {
    if (from.compare(this.#heard, 0, COUNTER_BYTES, at, at + COUNTER_BYTES) <= 0) {
      throw new ProtocolError('a counter that was used before');
    }
    from.copy(this.#heard, 0, at, at + COUNTER_BYTES);
  }
}

function nonceOf(prefix: string, rest: Buffer): Buffer {
  const nonce = Buffer.allocUnsafe(NONCE_BYTES);
  nonce.write(prefix, 'latin1');
  nonce.set(rest, prefix.length);
  return nonce;
}

/** The random half of the nonce, then the box. */
function sealed(prefix: string, message: Buffer, key: Buffer): Buffer {
  const random = randomBytes(LONG_NONCE_BYTES);
  const box = Buffer.alloc(message.length + MAC_BYTES);
  seal(box, message, nonceOf(prefix, random), key);
  return Buffer.concat([random, box]);
}

function unsealed(prefix: string, text: Buffer, key: Buffer): Buffer | null {
  return open(text.subarray(LONG_NONCE_BYTES), nonceOf(prefix, text.subarray(0, LONG_NONCE_BYTES)), key);
}
