import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { MusterError } from '../errors.js';
import { HTTP_LIMITS } from './limits.js';

/**
 * Reads a whole body. One that is too large is still read, up to a limit, and thrown away: answering while the sender
 * is sending resets the connection, and the sender would never see why.
 * @throws MusterError `body_too_large`; `invalid_json` when the sender hangs up before its end.
 */
export async function readBody(payload: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of payload) {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else chunks.length = 0;
      if (length > limit + HTTP_LIMITS.drainBytes) break;
    }
  } catch (cause) {
    throw new MusterError('invalid_json', { reason: 'it ended early' }, { cause });
  }
  if (length > limit) throw new MusterError('body_too_large', { limit });
  return Buffer.concat(chunks);
}

/**
 * A body piece by piece. Who stops reading may still answer: what is left is thrown away afterwards.
 * @throws MusterError `invalid_json` when the sender hangs up before its end.
 */
export async function* piecesOf(payload: Readable): AsyncGenerator<Buffer> {
  try {
    yield* payload.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw new MusterError('invalid_json', { reason: 'it ended early' }, { cause });
  }
}

function typeOf({ headers }: FastifyRequest): string {
  return (headers['content-type'] ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function isOfType(request: FastifyRequest, type: string): boolean {
  return typeOf(request) === type;
}

/** A body without a type is taken for JSON; any other type is refused, last of all checks (sheet §7.2). */
export function parseJsonBody(request: FastifyRequest): unknown {
  if (request.rawBody.length === 0) return undefined;
  const type = typeOf(request);
  if (type !== 'application/json' && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new MusterError('unsupported_media_type');
  }
  return parseJson(request.rawBody);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws MusterError `invalid_json`, also for bytes that are not UTF-8. */
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(body), withoutPrototypes);
  } catch (cause) {
    const reason = (cause instanceof Error ? cause.message : 'unreadable').slice(0, HTTP_LIMITS.echoedCharacters);
    throw new MusterError('invalid_json', { reason }, { cause });
  }
}

/**
 * The same, quick for the many lines of a long body. Unlike `parseJson` it takes values of any depth: whoever uses them
 * checks that first.
 */
export function parseJsonLine(line: Uint8Array): unknown {
  try {
    const text = utf8.decode(line);
    // Only where the key may be, also written with escapes.
    if (!text.includes('__proto__') && !text.includes('\\u')) return JSON.parse(text);
  } catch {
    // It is told below what is wrong with it.
  }
  return parseJson(line);
}

/** A key `__proto__` would become a prototype as soon as somebody copies the object. */
function withoutPrototypes(this: unknown, key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError('the key __proto__ is not allowed');
  return value;
}
