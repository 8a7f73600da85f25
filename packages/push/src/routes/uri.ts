import { baseUrl } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';

/** The address of a job as the caller may use it (sheet §7.5). */
export function jobUri(request: FastifyRequest, org: string, jobId: string): string {
  return `${baseUrl(request)}/organizations/${encodeURIComponent(org)}/pushy/jobs/${jobId}`;
}
