import type { FastifyRequest } from 'fastify';

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * The address of a job as the caller may use it (sheet §7.5): the scheme a proxy was asked with, the host of the
 * request, and no port where it is the usual one.
 */
export function jobUri(request: FastifyRequest, org: string, jobId: string): string {
  const forwarded = String(request.headers['x-forwarded-proto'] ?? '')
    .split(',', 1)[0]
    ?.trim();
  const scheme = forwarded === 'https' || forwarded === 'http' ? forwarded : request.protocol;
  const given = request.headers.host ?? '';
  const host = HOST.test(given) ? given : 'localhost';
  return `${scheme}://${host.replace(/:(?:80|443)$/, '')}/organizations/${encodeURIComponent(org)}/pushy/jobs/${jobId}`;
}
