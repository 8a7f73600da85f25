import type { FastifyRequest } from 'fastify';

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * The server as the caller has reached it, without a slash at the end: the scheme a trusted proxy was asked with, the host of
 * the request, and no port where it is the usual one.
 */
export function baseUrl(request: FastifyRequest): string {
  const scheme = request.protocol === 'https' ? 'https' : 'http';
  const given = request.headers.host ?? '';
  const host = HOST.test(given) ? given : 'localhost';
  return `${scheme}://${host.replace(/:(?:80|443)$/, '')}`;
}
