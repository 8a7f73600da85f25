import type { FastifyRequest } from 'fastify';
import { baseUrl } from '../http/base-url.js';

/** The address of a job as the caller may use it (sheet §7.5). */
export function jobUri(request: FastifyRequest, org: string, jobId: string): string {
  return `${baseUrl(request)}/organizations/${encodeURIComponent(org)}/pushy/jobs/${jobId}`;
}
