import { open } from '../api/client.js';
import { ApiError, apiError, passes } from '../api/errors.js';
import { BrokenOff, overSocket, type SocketAnswer } from './socket.js';

/** A stream of bytes as it comes, and what its answer says of it. */
export interface Pieces {
  /** What is missing is known when all has come. */
  readonly headers: () => Headers;
  readonly bytes: AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** Between attempts to go on, doubled up to the longest. */
const AGAIN_FIRST_MS = 500;
const AGAIN_LONGEST_MS = 10_000;
/** Attempts without a byte after which it is said what keeps it: more than two minutes. */
const MOST_TRIES = 17;

/** Output that the server sends on as it is written; after an interruption, such as a restart of the server, from where it broke off. @throws ApiError */
export async function streamed(path: string, goesOn: boolean): Promise<Pieces> {
  if (!goesOn) {
    const response = await open(path);
    return { headers: () => response.headers, bytes: bodyOf(response) };
  }
  const first = await followed(path, 0);
  let { headers } = first;
  async function* bytes(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let at = 0;
    let tries = 0;
    for (let answer: SocketAnswer | null = first; ; answer = null) {
      try {
        for await (const piece of (answer ?? (await followed(path, at))).bytes) {
          at += piece.length;
          tries = 0;
          yield piece;
        }
        const stands = await standing(path);
        ({ headers } = stands);
        if (stands.ended) return;
      } catch (thrown) {
        tries += 1;
        const again = thrown instanceof BrokenOff || (thrown instanceof ApiError && passes(thrown));
        if (!again || tries > MOST_TRIES) throw thrown;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(AGAIN_FIRST_MS * 2 ** tries, AGAIN_LONGEST_MS)));
    }
  }
  return { headers: () => headers, bytes: bytes() };
}

interface Standing {
  readonly headers: Headers;
  readonly ended: boolean;
  readonly dropped: boolean;
}

/** A server that stops ends in good order what it sends: whether there will be more it says with what is there. */
async function standing(path: string): Promise<Standing> {
  const answer = await open(withQuery(path, `from=${Number.MAX_SAFE_INTEGER}`));
  const { headers } = answer;
  // Nothing is there: to read it to its end leaves the connection whole, and no request that looks broken off.
  await answer.arrayBuffer().catch(() => undefined);
  const ended = headers.get('x-muster-complete') !== 'false' || headers.has('x-muster-missing');
  return { headers, ended, dropped: Number(headers.get('x-muster-dropped-bytes') ?? 0) > 0 };
}

const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;

/** As an answer would say it: that place is none any more. */
const GONE = 416;

/** @param from Bytes that have come: a place in what the command wrote as long as none were left out before it. */
async function followed(path: string, from: number): Promise<SocketAnswer> {
  if (from > 0 && (await standing(path)).dropped) {
    throw new ApiError(
      GONE,
      'output_position_lost',
      'more was written than is kept',
      'It is shown whole when it has ended.',
    );
  }
  const asked = withQuery(path, `follow=true&from=${from}`);
  try {
    return await overSocket(asked);
  } catch (thrown) {
    if (!(thrown instanceof BrokenOff) || !thrown.before) throw thrown;
  }
  // Something between here and the server may let no WebSocket through to there; if nothing is let through, this says so.
  const response = await open(asked);
  return { headers: response.headers, bytes: bodyOf(response) };
}

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
  return { headers: () => first.headers, bytes: bytes() };
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
    const read = await reader?.read().catch(() => {
      throw new ApiError(0, 'unreachable', 'the connection broke off');
    });
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
