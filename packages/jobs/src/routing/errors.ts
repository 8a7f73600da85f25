import { declareErrors, MusterError } from '@muster/base/errors';

/** Definitions of job queues (sheet §4.4 and §4.7). */
export const ROUTING_ERRORS = declareErrors({
  job_queue_invalid: {
    status: 400,
    exit: 2,
    message: '{code} {field}: {reason}',
    fix: 'Correct the definition and send it again.',
  },
  job_queue_conflict: {
    status: 409,
    exit: 1,
    message: '{code} {reason}',
    fix: 'See what there is, `muster job-queue list`, and try again.',
  },
  job_queue_unstored: {
    status: 503,
    exit: 5,
    message: '{code} {reason}',
    fix: 'Nothing was changed. Try again in a moment.',
  },
  job_queue_missing: {
    status: 404,
    exit: 4,
    message: "JOBS_QUEUE_NOT_FOUND job queue '{queue}' does not exist",
    fix: 'List what exists: `muster job-queue list`.',
  },
  job_queue_tenant_missing: {
    status: 404,
    exit: 4,
    message: "JOBS_TENANT_NOT_FOUND_FOR_QUEUE there is no organization '{tenant}' for job queue '{queue}'",
    fix: 'Check the organization: it may have been deleted meanwhile.',
  },
});

type Rows = typeof ROUTING_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** What is wrong with a definition. */
export type QueueProblem =
  | 'JOBS_QUEUE_NULL'
  | 'JOBS_QUEUE_MISSING_NAME'
  | 'JOBS_QUEUE_MISSING_TENANT'
  | 'JOBS_QUEUE_MISSING_TENANT_ID'
  | 'JOBS_QUEUE_WRONG_TENANT_ID'
  | 'JOBS_QUEUE_LONG_NAME'
  | 'JOBS_QUEUE_INVALID_NAME'
  | 'JOBS_QUEUE_INVALID_NAME_PREFIX'
  | 'JOBS_QUEUE_RESERVED_NAME_PREFIX'
  | 'JOBS_QUEUE_NAME_NO_SUFFIX'
  | 'JOBS_QUEUE_INVALID_NAME_SUFFIX'
  | 'JOBS_QUEUE_INVALID_PRIORITY'
  | 'JOBS_QUEUE_DUP_PRIORITY'
  | 'JOBS_QUEUE_INVALID_DEFAULT_QUEUE_DEF'
  | 'JOBS_QUEUE_INVALID_NON_DEFAULT_QUEUE_DEF'
  | 'JOBS_QUEUE_MISMATCHED_TENANT'
  | 'JOBS_QUEUE_UPDATE_MISMATCHED_TENANT'
  | 'JOBS_QUEUE_UPDATE_FILTER_EMPTY'
  | 'JOBS_QUEUE_DEFINITIONS_LOAD_ERROR'
  | 'JOBS_QUEUE_FILTER_EMPTY'
  | 'JOBS_QUEUE_FILTER_PARSE_ERROR';

export function invalidQueue(code: QueueProblem, field: string, reason: string): MusterError {
  return new MusterError('job_queue_invalid', { code, field: field.slice(0, 120), reason });
}
