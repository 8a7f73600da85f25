import type { FastifyReply } from 'fastify';
import type { Dialect } from '../dialect.js';
import type { DisbatchAnswer } from '../interface.js';

/** What clients look for: exactly this type, without a charset. */
export function writeAnswer(reply: FastifyReply, dialect: Dialect, { status, body, pretty }: DisbatchAnswer) {
  return reply
    .code(status)
    .header('content-type', 'application/json')
    .serializer((text: unknown) => String(text))
    .send(JSON.stringify(dialect === '4.4' ? sorted(body ?? null) : (body ?? null), null, pretty ? 3 : 0));
}

/** 4.4 writes the keys of objects in their order. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
