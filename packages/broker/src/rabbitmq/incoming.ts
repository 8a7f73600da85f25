import { randomUUID } from 'node:crypto';
import type { AsyncMessage } from 'rabbitmq-client';
import type { Checked } from '../outgoing.js';
import type { Death, Headers, Incoming } from '../types.js';

/** Of a copy: where the message was published first. */
const EXCHANGE = 'muster-exchange';
const KEY = 'muster-key';
/** Of a copy that is a dead letter: the queue where it was rejected. */
const DIED_IN = 'muster-died-in';

const OURS = new Set([EXCHANGE, KEY, DIED_IN]);

/** What the broker notes when it moves a message to another queue, newest first. */
interface Moved {
  readonly queue: string;
  readonly reason: string;
  readonly exchange: string;
  readonly 'routing-keys': readonly string[];
}

export interface Received extends Incoming {
  readonly redelivered: boolean;
  readonly death: Death | null;
}

/** A message as it was published, whatever ways it came. */
export function received(message: AsyncMessage): Received {
  const given: Record<string, unknown> = message.headers ?? {};
  const moved = (Array.isArray(given['x-death']) ? given['x-death'] : []) as readonly Moved[];
  // From the queue of holds of a process that is gone, back to where it was: nothing died.
  const died = moved
    .filter(({ queue }) => !queue.includes('.hold.'))
    .map(({ queue, reason }) => ({ queue, reason }))[0];
  const diedIn = text(given[DIED_IN]);
  const first = moved.at(-1);
  const own = Object.entries(given).filter(([name]) => !OURS.has(name) && !name.startsWith('x-'));
  const headers: Headers = Object.fromEntries(own.map(([name, value]) => [name, String(value)]));
  return {
    id: message.messageId ?? randomUUID(),
    exchange: text(given[EXCHANGE]) ?? first?.exchange ?? message.exchange,
    key: text(given[KEY]) ?? first?.['routing-keys'][0] ?? message.routingKey,
    headers,
    body: bytesOf(message.body),
    redelivered: message.redelivered || moved.length > 0 || EXCHANGE in given,
    death: diedIn !== undefined ? { queue: diedIn, reason: 'rejected' } : (died ?? null),
  };
}

/** The same message once more, for a queue of holds. */
export function copyFor(queue: string, message: Incoming): Checked {
  return copy(message, '', queue, {});
}

/** The same message for the dead letters, where the broker cannot send it itself. */
export function deadLetterOf(message: Incoming, diedIn: string, exchange: string): Checked {
  return copy(message, exchange, message.key, { [DIED_IN]: diedIn });
}

function copy({ id, exchange, key, headers, body }: Incoming, to: string, by: string, also: Headers): Checked {
  return { exchange: to, key: by, id, headers: { ...headers, [EXCHANGE]: exchange, [KEY]: key, ...also }, body };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The library decodes what other programs publish as JSON or text. */
function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
