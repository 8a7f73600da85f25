import { open } from '../api/client.js';
import { apiError, passes } from '../api/errors.js';
import { overSocket, type SocketAnswer } from './socket.js';

/** A stream of bytes as it comes, and what its answer says of it. */
export interface Pieces {
  readonly headers: Headers;
  readonly bytes: AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** They are not wanted. */
  readonly drop: () => void;
}

/** Between attempts to go on, doubled up to the longest. */
const AGAIN_FIRST_MS = 500;
const AGAIN_LONGEST_MS = 10_000;

/** Output that the server sends on as it is written; after an interruption, such as a restart of the server, from where it broke off. @throws ApiError */
export async function streamed(path: string, goesOn: boolean): Promise<Pieces> {
  if (!goesOn) {
    const response = await open(path);
    return { headers: response.headers, bytes: bodyOf(response), drop: () => dropped(response) };
  }
  let now = await followed(path, 0);
  const { headers } = now;
  async function* bytes(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let at = 0;
    let pauseMs = AGAIN_FIRST_MS;
    for (let answer: SocketAnswer | null = now; ; answer = null) {
      try {
        // While a command runs what it wrote is stored in order, and without gaps but where too much was dropped.
        now = answer ?? (await followed(path, at));
        for await (const piece of now.bytes) {
          at += piece.length;
          pauseMs = AGAIN_FIRST_MS;
          yield piece;
        }
        if (await hasEnded(path)) return;
      } catch (thrown) {
        if (!passes(apiError(thrown))) throw thrown;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      pauseMs = Math.min(2 * pauseMs, AGAIN_LONGEST_MS);
    }
  }
  return { headers, bytes: bytes(), drop: () => now.drop() };
}

/** A server that stops ends in good order what it sends: whether there will be more it says with what is there. */
async function hasEnded(path: string): Promise<boolean> {
  const { headers, body } = await open(withQuery(path, `from=${Number.MAX_SAFE_INTEGER}`));
  await body?.cancel();
  return headers.get('x-muster-complete') !== 'false' || headers.has('x-muster-missing');
}

const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;

const followed = (path: string, from: number): Promise<SocketAnswer> =>
  overSocket(withQuery(path, `follow=true&from=${from}`));

/** Between two looks at a file that grows. */
const LOOK_MS = 1500;

/** A file that may grow: what was added to it is fetched from where the last piece ended, and once more when it has ended. @throws ApiError */
export async function grown(path: string, goesOn: boolean, ended: AbortSignal): Promise<Pieces> {
  const first = await open(path);
  async function* bytes(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let at = 0;
    let response: Response | null = first;
    for (let last = !goesOn; ; ) {
      if (response !== null) {
        for await (const piece of bodyOf(response)) {
          at += piece.length;
          yield piece;
        }
      }
      if (last) return;
      last = ended.aborted;
      if (!last) await pause(LOOK_MS, ended);
      response = await more(path, at);
    }
  }
  return { headers: first.headers, bytes: bytes(), drop: () => dropped(first) };
}

/** Null: nothing was added, or the server is away for a while. */
async function more(path: string, from: number): Promise<Response | null> {
  try {
    return await open(path, { range: `bytes=${from}-` });
  } catch (thrown) {
    const { status } = apiError(thrown);
    if (status === 416 || status === 0 || status >= 500) return null;
    throw thrown;
  }
}

async function* bodyOf(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  for (;;) {
    const read = await reader?.read();
    if (read === undefined || read.done) return;
    yield read.value;
  }
}

function pause(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    ended.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function dropped({ body }: Response): void {
  // Whoever sends it may have ended already.
  body?.cancel().catch(() => {});
}
