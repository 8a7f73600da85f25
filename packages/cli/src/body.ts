import type { Readable } from 'node:stream';
import { MusterError } from './errors.js';
import { MAX_ANSWER_BYTES, REQUEST_TIMEOUT_MS } from './limits.js';

/**
 * The pieces of a body, to its end or until `signal` aborts, which is no error.
 * @throws MusterError `connection_broke`
 */
export async function* bodyPieces(body: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const leave = () => void body.destroy();
  signal.addEventListener('abort', leave, { once: true });
  try {
    for await (const piece of body) yield piece;
  } catch (cause) {
    // Node.js calls an answer that breaks off `aborted`, too, as if somebody had aborted it.
    if (!signal.aborted) throw new MusterError('connection_broke', {}, { cause });
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
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
export async function answerText(body: Readable, { bytes, ms }: AnswerLimits = LIMITS): Promise<string> {
  const late = AbortSignal.timeout(ms);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bodyPieces(body, late)) {
    size += piece.length;
    if (size > bytes) throw new Error(`the answer is larger than ${bytes} bytes`);
    pieces.push(piece);
  }
  if (late.aborted) throw new Error(`the answer was not complete after ${ms / 1000} s`);
  return Buffer.concat(pieces).toString('utf8');
}
