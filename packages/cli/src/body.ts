import { MusterError } from './errors.js';
import { MAX_ANSWER_BYTES, REQUEST_TIMEOUT_MS } from './limits.js';

/**
 * The pieces of a body, to its end or until `signal` aborts, which is no error.
 * @throws MusterError `connection_broke`
 */
export async function* bodyPieces(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const leave = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', leave, { once: true });
  try {
    const read = () => reader.read().catch(broke);
    for (let next = await read(); !next.done; next = await read()) yield next.value;
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}

/** Node.js calls an answer that breaks off `aborted`, as if somebody had aborted it. */
function broke(cause: unknown): never {
  throw new MusterError('connection_broke', {}, { cause });
}

export interface AnswerLimits {
  readonly bytes: number;
  /** For all of it. */
  readonly ms: number;
}

const LIMITS: AnswerLimits = { bytes: MAX_ANSWER_BYTES, ms: REQUEST_TIMEOUT_MS };

/**
 * The text of an answer, of bounded size and within a bounded time.
 * @throws Error that says which bound it was.
 */
export async function answerText(response: Response, { bytes, ms }: AnswerLimits = LIMITS): Promise<string> {
  const late = AbortSignal.timeout(ms);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bodyPieces(response, late)) {
    size += piece.length;
    if (size > bytes) throw new Error(`the answer is larger than ${bytes} bytes`);
    pieces.push(piece);
  }
  if (late.aborted) throw new Error(`the answer was not complete after ${ms / 1000} s`);
  return Buffer.concat(pieces).toString('utf8');
}
