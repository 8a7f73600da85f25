import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { answerText, bodyPieces } from '../src/body.js';

const LIMITS = { bytes: 10, ms: 20 };

/** A body of these pieces, after which nothing comes, nor the end. */
function endless(pieces: readonly string[]): Readable {
  const body = new Readable({ read() {} });
  for (const piece of pieces) body.push(piece);
  return body;
}

test('an answer is put together of its pieces, wherever they were cut', async () => {
  const whole = Buffer.from('déjà');
  const body = Readable.from([...whole].map((byte) => Buffer.of(byte)));
  expect(await answerText(body, LIMITS)).toBe('déjà');
  expect(await answerText(Readable.from([]), LIMITS)).toBe('');
});

test('an answer that stalls after its head is given up, and left', async () => {
  const body = endless(['{"a"']);
  await expect(answerText(body, LIMITS)).rejects.toThrow('the answer was not complete after 0.02 s');
  expect(body.destroyed).toBe(true);
});

test('an answer without end is left when it is too large', async () => {
  const body = endless(['12345', '67890', '1']);
  await expect(answerText(body, { ...LIMITS, ms: 10_000 })).rejects.toThrow('the answer is larger than 10 bytes');
  expect(body.destroyed).toBe(true);
});

test('an answer that breaks off is told as that, also when it did before anybody read it', async () => {
  const never = new AbortController().signal;
  const early = endless(['1']);
  early.destroy();
  await expect(bodyPieces(early, never).next()).rejects.toMatchObject({ code: 'connection_broke' });
  const body = endless(['1']);
  const late = bodyPieces(body, never);
  expect(Buffer.from((await late.next()).value ?? []).toString()).toBe('1');
  body.destroy();
  await expect(late.next()).rejects.toMatchObject({ code: 'connection_broke' });
});

test('an answer that is not wanted any more just ends', async () => {
  const leaving = new AbortController();
  const body = endless(['1']);
  const pieces: string[] = [];
  for await (const piece of bodyPieces(body, leaving.signal)) {
    pieces.push(Buffer.from(piece).toString());
    leaving.abort();
  }
  expect(pieces).toEqual(['1']);
  expect(body.destroyed).toBe(true);
});
