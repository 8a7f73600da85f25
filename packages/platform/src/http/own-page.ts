import type { FastifyRequest } from 'fastify';
import { MusterError } from '../errors.js';
import { isOfType } from './body.js';
import { HTTP_LIMITS } from './limits.js';
import { cameByWebSocket } from './web-socket-answers.js';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * For requests with a cookie, which a browser sends whoever wrote the page: those that change anything come from a page of this very
 * origin. `SameSite` alone lets pages of other ports of this host through.
 * @throws MusterError `cross_site_request`, `unsupported_media_type`
 */
export function requireOwnPage(request: FastifyRequest): void {
  // What comes over a WebSocket a page of any origin can read, if the browser opens it.
  if (SAFE.has(request.method) && !cameByWebSocket(request)) return;
  requireOrigin(request, 'a browser that does not say which page has sent it');
  requireJson(request);
}

/**
 * For requests that begin a session: a page of somebody else must not sign a browser in as somebody else. Programs, which are no
 * browsers, say nothing of pages.
 * @throws MusterError `cross_site_request`
 */
export function refuseOtherPages(request: FastifyRequest): void {
  requireOrigin(request, null);
}

/**
 * For requests with a password, which a browser that was given one sends again whoever wrote the page.
 * @throws MusterError `cross_site_request`
 */
export function refuseChangesOfOtherPages(request: FastifyRequest): void {
  if (!SAFE.has(request.method)) refuseOtherPages(request);
}

function requireOrigin(request: FastifyRequest, unsaid: string | null): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (site !== undefined) {
    if (site !== 'same-origin') throw refused(`a page elsewhere (Sec-Fetch-Site: ${String(site)})`);
  } else if (origin !== undefined) {
    if (origin !== originOf(request)) throw refused(`a page of ${origin}`);
  } else if (unsaid !== null) throw refused(unsaid);
}

function refused(from: string): MusterError {
  return new MusterError('cross_site_request', { from: from.slice(0, HTTP_LIMITS.echoedCharacters) });
}

/** Of this server as the browser has reached it, also through a proxy that is trusted. */
function originOf({ protocol, host }: FastifyRequest): string | null {
  const url = `${protocol}://${host}`;
  return URL.canParse(url) ? new URL(url).origin : null;
}

/** A form of any page can send other types, or none. */
function requireJson(request: FastifyRequest): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding, 'content-type': type } = request.headers;
  if (length === '0' && encoding === undefined) return;
  const { streamed } = request.routeOptions.config;
  const taken = isOfType(request, 'application/json') || (streamed !== undefined && isOfType(request, streamed));
  if (type === undefined || !taken) throw new MusterError('unsupported_media_type');
}
