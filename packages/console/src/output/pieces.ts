import { open } from '../api/client.js';
import { apiError } from '../api/errors.js';

/** A stream of bytes as it comes, and what its answer says of it. */
export interface Pieces {
  readonly headers: Headers;
  readonly bytes: AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** They are not wanted. */
  readonly drop: () => void;
}

/** Output that the server sends on as it is written. @throws ApiError */
export async function streamed(path: string, goesOn: boolean): Promise<Pieces> {
  const response = await open(goesOn ? `${path}${path.includes('?') ? '&' : '?'}follow=true` : path);
  return { headers: response.headers, bytes: bodyOf(response), drop: () => dropped(response) };
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
