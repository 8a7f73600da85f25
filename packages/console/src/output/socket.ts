import { refusal } from '../api/errors.js';

/** An answer that came over a WebSocket: as HTTP/1.1 sends it, head first, in messages whose limits mean nothing. */
export interface SocketAnswer {
  readonly headers: Headers;
  /** Ends where the server has ended it. @throws BrokenOff */
  readonly bytes: AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** The connection is gone before the end of the answer. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
  /** Nothing of the answer had come: there may be no way here for WebSockets. */
  readonly before: boolean;

  constructor(before: boolean, code: number) {
    super(`the connection broke off (${code})`);
    this.before = before;
  }
}

/** Closed with it, an answer has not broken off. */
const NORMAL = 1000;
const HEAD_BYTES = 64 * 1024;
const END = '\r\n\r\n';

/**
 * Asks for what goes on for long: unlike connections of HTTP/1.1, of which there are six to a server in all tabs together, WebSockets keep
 * nobody else from asking. @throws ApiError when it is refused; BrokenOff
 */
export async function overSocket(path: string): Promise<SocketAnswer> {
  const socket = new WebSocket(new URL(path, location.origin).href.replace(/^http/, 'ws'));
  socket.binaryType = 'arraybuffer';
  try {
    return await answerOf(messagesOf(socket));
  } catch (thrown) {
    socket.close();
    throw thrown;
  }
}

async function answerOf(messages: AsyncGenerator<Uint8Array<ArrayBuffer>>): Promise<SocketAnswer> {
  // One character for each byte: where the head ends among them is where it ends in the text.
  let head = '';
  for (;;) {
    const next = await messages.next();
    if (next.done === true) throw new Error('the answer ended before its head');
    head += latin1(next.value);
    const end = head.indexOf(END);
    if (end < 0) {
      if (head.length > HEAD_BYTES) throw new Error('the head of the answer does not end');
      continue;
    }
    const { status, headers } = readHead(head.slice(0, end));
    const body = next.value.length - (head.length - end - END.length);
    const bytes = following(next.value.subarray(body), messages);
    if (status === 200) return { headers, bytes };
    const pieces: BlobPart[] = [];
    for await (const piece of bytes) pieces.push(piece);
    throw await refusal(new Response(new Blob(pieces), { status, headers }));
  }
}

async function* following(
  first: Uint8Array<ArrayBuffer>,
  rest: AsyncIterable<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (first.length > 0) yield first;
  yield* rest;
}

/** What has come and was not taken waits here. */
async function* messagesOf(socket: WebSocket): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let come: Uint8Array<ArrayBuffer>[] = [];
  let closed: number | null = null;
  let before = true;
  let wake: () => void = () => {};
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    come.push(new Uint8Array(data));
    before = false;
    wake();
  };
  socket.onclose = ({ code }) => {
    closed = code;
    wake();
  };
  try {
    for (;;) {
      const taken = come;
      come = [];
      yield* taken;
      if (come.length > 0) continue;
      if (closed === NORMAL) return;
      if (closed !== null) throw new BrokenOff(before, closed);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    socket.close();
  }
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

function readHead(text: string): { readonly status: number; readonly headers: Headers } {
  const [first = '', ...lines] = text.split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) throw new Error('the answer has no head');
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return { status, headers };
}
