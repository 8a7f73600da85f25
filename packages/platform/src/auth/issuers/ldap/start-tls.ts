import type { Socket } from 'node:net';

/** LDAPMessage 1, extendedReq 1.3.6.1.4.1.1466.20037 (RFC 4511 §4.14). */
const REQUEST = Buffer.concat([Buffer.from('301d02010177188016', 'hex'), Buffer.from('1.3.6.1.4.1.1466.20037')]);
const ANSWER_BYTES = 4096;
const MESSAGE = 0x30;
const INTEGER = 0x02;
const EXTENDED_RESPONSE = 0x78;
const ENUMERATED = 0x0a;

/**
 * Asks a directory to go on over TLS. Nothing may come after its answer: what somebody on the way has added in the clear would be
 * taken for what is said under TLS.
 * @throws Error
 */
export async function startTls(socket: Socket): Promise<void> {
  socket.write(REQUEST);
  let answer = Buffer.alloc(0);
  for (;;) {
    const code = readAnswer(answer);
    if (code === 0) return;
    if (code !== null) throw new Error(`it does not go on over TLS (StartTLS is answered with ${code})`);
    if (answer.length > ANSWER_BYTES) throw new Error('it answers StartTLS with what is no answer');
    answer = Buffer.concat([answer, await piece(socket)]);
  }
}

/** The result of a whole answer, and nothing besides; null: more is to come. @throws Error when it is none */
export function readAnswer(bytes: Buffer): number | null {
  const wrong = new Error('it answers StartTLS with what is no answer');
  if (bytes.length < 2) return null;
  if (bytes[0] !== MESSAGE) throw wrong;
  const message = lengthAt(bytes, 1);
  if (message === null || bytes.length < message.from + message.length) return null;
  if (bytes.length > message.from + message.length) throw wrong;
  // messageID 1, then the response with its resultCode.
  const { from } = message;
  if (bytes[from] !== INTEGER || bytes[from + 1] !== 1 || bytes[from + 2] !== 1) throw wrong;
  if (bytes[from + 3] !== EXTENDED_RESPONSE) throw wrong;
  const response = lengthAt(bytes, from + 4);
  if (response === null) throw wrong;
  const code = bytes[response.from + 2];
  if (bytes[response.from] !== ENUMERATED || bytes[response.from + 1] !== 1 || code === undefined) throw wrong;
  return code;
}

/** Of BER, definite; null: it is cut off. */
function lengthAt(bytes: Buffer, at: number): { readonly length: number; readonly from: number } | null {
  const first = bytes[at];
  if (first === undefined) return null;
  if (first < 0x80) return { length: first, from: at + 1 };
  const size = first & 0x7f;
  if (size === 0 || size > 4) throw new Error('it answers StartTLS with what is no answer');
  if (bytes.length < at + 1 + size) return null;
  return { length: bytes.readUIntBE(at + 1, size), from: at + 1 + size };
}

function piece(socket: Socket): Promise<Buffer> {
  return new Promise((done, failed) => {
    const settle = (): void => {
      socket.pause();
      socket.off('data', onData).off('error', onError).off('close', onClose);
    };
    const onData = (data: Buffer): void => {
      settle();
      done(data);
    };
    const onError = (error: Error): void => {
      settle();
      failed(error);
    };
    const onClose = (): void => {
      settle();
      failed(new Error('it closes the connection'));
    };
    socket.on('data', onData).on('error', onError).on('close', onClose);
    socket.resume();
  });
}
