import type { IncomingMessage } from 'node:http';
import { MusterError } from '../errors.js';
import { HTTP_LIMITS } from './limits.js';

/** What was asked for, without its query. */
export function pathOf({ url = '' }: Pick<IncomingMessage, 'url'>): string {
  return url.split('?', 1)[0] ?? '';
}

/** There is nothing at the path. */
export function routeNotFound(request: Pick<IncomingMessage, 'url'>): MusterError {
  return new MusterError('route_not_found', { path: pathOf(request).slice(0, HTTP_LIMITS.echoedCharacters) });
}
