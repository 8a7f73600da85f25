import { expect, test } from 'vitest';
import { answerText } from '../src/body.js';

const LIMITS = { bytes: 10, ms: 20 };

/** An answer that sends these pieces, and then, unless it is `endless`, ends. */
function answer(pieces: readonly string[], endless = false): { response: Response; cancelled: () => boolean } {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(Buffer.from(piece));
      if (!endless) controller.close();
    },
    cancel() {
      cancelled = true;
    },
  });
  return { response: new Response(body), cancelled: () => cancelled };
}

test('an answer is put together of its pieces, wherever they were cut', async () => {
  const whole = Buffer.from('déjà');
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of whole) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  expect(await answerText(new Response(body), LIMITS)).toBe('déjà');
  expect(await answerText(new Response(null, { status: 204 }), LIMITS)).toBe('');
});

test('an answer that stalls after its head is given up, and left', async () => {
  const { response, cancelled } = answer(['{"a"'], true);
  await expect(answerText(response, LIMITS)).rejects.toThrow('the answer was not complete after 0.02 s');
  expect(cancelled()).toBe(true);
});

test('an answer without end is left when it is too large', async () => {
  const { response, cancelled } = answer(['12345', '67890', '1'], true);
  await expect(answerText(response, { ...LIMITS, ms: 10_000 })).rejects.toThrow('the answer is larger than 10 bytes');
  expect(cancelled()).toBe(true);
});
