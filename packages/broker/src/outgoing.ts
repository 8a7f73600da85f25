import { randomUUID } from 'node:crypto';
import { MusterError } from './errors.js';
import type { Limits } from './limits.js';
import type { Headers, Outgoing } from './types.js';

/** A message as both brokers publish it. */
export interface Checked {
  readonly exchange: string;
  readonly key: string;
  readonly id: string;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** @throws MusterError `message_too_large`; RangeError for a name or header that no broker can carry: a fault in the code */
export function checked(
  { exchange, key, id = randomUUID(), headers = {}, body: given }: Outgoing,
  limits: Limits,
): Checked {
  const body =
    typeof given === 'string' ? Buffer.from(given) : Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  if (body.length > limits.bodyBytes) {
    throw new MusterError('message_too_large', { bytes: body.length, limit: limits.bodyBytes });
  }
  for (const name of [exchange, key, id, ...Object.keys(headers)]) {
    if (Buffer.byteLength(name) > limits.nameBytes)
      throw new RangeError(`longer than ${limits.nameBytes} bytes: ${name}`);
  }
  return { exchange, key, id, headers, body };
}

export function unavailable(reason: string, cause?: unknown): MusterError {
  return new MusterError('broker_unavailable', { reason, seconds: RETRY_SECONDS }, { cause });
}

export function unroutable({ exchange, key }: Pick<Outgoing, 'exchange' | 'key'>): MusterError {
  return new MusterError('message_unroutable', { exchange: exchange === '' ? '(default)' : exchange, key });
}

/** For `Retry-After`: about how long it takes to connect again. */
const RETRY_SECONDS = 5;
