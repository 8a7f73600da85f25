import { MAX_ANSWER_BYTES, REQUEST_TIMEOUT_MS } from './limits.js';

export interface AnswerLimits {
  readonly bytes: number;
  /** For all of it. */
  readonly ms: number;
}

const LIMITS: AnswerLimits = { bytes: MAX_ANSWER_BYTES, ms: REQUEST_TIMEOUT_MS };

/**
 * The text of an answer, of bounded size and within a bounded time: the signal that `fetch` was given no longer ends
 * the body once it was collected as garbage.
 * @throws Error that says which bound it was.
 */
export async function answerText(response: Response, { bytes, ms }: AnswerLimits = LIMITS): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void reader.cancel().catch(() => undefined);
  }, ms);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length;
      if (size > bytes) throw new Error(`the answer is larger than ${bytes} bytes`);
      chunks.push(next.value);
    }
  } finally {
    clearTimeout(timer);
    void reader.cancel().catch(() => undefined);
  }
  if (late) throw new Error(`the answer was not complete after ${ms / 1000} s`);
  return Buffer.concat(chunks).toString('utf8');
}
