import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { isLoopback } from '../config/address.js';
import { encodingsTaken } from './encodings.js';
import { HTTP_LIMITS } from './limits.js';
import { passageOf } from './passage.js';
import type { App } from './route.js';

const gzipped = promisify(gzip);

/** Lists of thousands are a tenth as long then; more effort would shorten them by little. */
const EFFORT = { level: constants.Z_BEST_SPEED };

/**
 * Compresses JSON that is long, for those who take it so and are elsewhere: on the same host bytes cost less than the time. In another
 * thread, so that nobody else waits.
 */
export function compressAnswers(app: App): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || payload.length < HTTP_LIMITS.compressedBytes) return payload;
    // Strangers are given no work.
    if (passageOf(request).caller === undefined) return payload;
    const type = String(reply.getHeader('content-type') ?? '');
    if (!type.startsWith('application/json') || reply.hasHeader('content-encoding')) return payload;
    reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', '));
    if (isLoopback(request.ip) || !encodingsTaken(request.headers['accept-encoding'])('gzip')) return payload;
    const body = await gzipped(payload, EFFORT);
    reply.header('content-encoding', 'gzip').header('content-length', String(body.length));
    return body;
  });
}
