import { declareErrors } from '@muster/base/errors';
import type { APP_ERRORS } from './apps/errors.js';
import './apps/errors.js';
import './routing/errors.js';
import '@muster/broker/errors';
import '@muster/platform/errors';

/** The errors of jobs: each text begins with its code of the Aloe catalogue, which clients look for. */
export const JOB_ERRORS = declareErrors({
  job_not_found: {
    status: 404,
    exit: 4,
    message: 'JOBS_JOB_NOT_FOUND No job found with job id {job} in tenant {tenant}.',
    fix: 'List your jobs: `muster job list`.',
  },
  job_forbidden: {
    status: 403,
    exit: 3,
    message: 'JOBS_JOB_ACTION_NOT_AUTHORIZED User {user} is not authorized to {action} job {job}.',
    fix: 'Ask its owner, or an administrator of jobs. To look at it: `muster job share {job} --user {user} --permission READ`.',
  },
  job_invalid: {
    status: 400,
    exit: 2,
    message: '{code} {field}: {reason}',
    fix: 'Correct the field and send the request again.',
  },
  job_app_forbidden: {
    status: 403,
    exit: 3,
    message: 'JOBS_SUBMIT_ERROR appId: user {user} may not run app {app}, which is private.',
    fix: 'Ask its owner to publish it.',
  },
  job_key_reused: {
    status: 409,
    exit: 1,
    message: 'JOBS_SUBMIT_ERROR Idempotency-Key: it was sent before with another request, which became job {job}.',
    fix: 'Send each new request with a new key.',
  },
  job_ended: {
    status: 409,
    exit: 1,
    message: 'JOBS_JOB_IN_TERMINAL_STATE Job {job} has ended already: it is {status}.',
    fix: 'There is nothing to do. To run it again: `muster job resubmit {job}`.',
  },
  job_not_ended: {
    status: 409,
    exit: 1,
    message: 'JOBS_JOB_NOT_IN_TERMINAL_STATE Job {job} has not ended: it is {status}.',
    fix: 'Wait until it has, or cancel it: `muster job cancel {job}`.',
  },
  job_not_paused: {
    status: 409,
    exit: 1,
    message: 'JOBS_JOB_NOT_PAUSED Job {job} is not paused: it is {status}.',
    fix: 'Only a paused job can be resumed.',
  },
  job_not_resubmittable: {
    status: 409,
    exit: 1,
    message: 'JOBS_JOB_INVALID_RESUBMIT_STATE Job {job} cannot be submitted again: {reason}.',
    fix: 'Wait until it has begun, or submit its request anew.',
  },
  job_request_not_found: {
    status: 404,
    exit: 4,
    message: 'JOBS_JOBRESUBMIT_NOT_FOUND The request of job {job} is not known: another system ran it.',
    fix: 'Submit it anew.',
  },
  job_output_not_found: {
    status: 404,
    exit: 4,
    message: 'JOBS_OUTPUT_NOT_FOUND Job {job} has no output {path}{why}.',
    fix: 'List what there is: `muster job output {job}`.',
  },
  job_output_unavailable: {
    status: 504,
    exit: 5,
    message:
      'JOBS_OUTPUT_UNAVAILABLE The outputs of job {job} are on system {system}, which cannot be used now: {reason}',
    fix: 'Try again later, or have its administrator look at it.',
  },
  job_permission_not_found: {
    status: 404,
    exit: 4,
    message: 'No permissions found for user {user} on job {job}',
    fix: 'List who has some: GET /jobs/v2/{job}/pems.',
  },
  job_user_not_found: {
    status: 404,
    exit: 4,
    message: 'No user found with username {user}',
    fix: 'Check the name; `world` stands for everybody.',
  },
  job_search_too_wide: {
    status: 400,
    exit: 2,
    message: 'ALOE_INVALID_PARAMETER {field}: more than {limit} rows would have to be looked at, one by one',
    fix: 'Narrow the search by what is indexed, such as owner, status, appId, systemId or created.',
  },
  job_queue_unavailable: {
    status: 503,
    exit: 5,
    message: 'JOBS_QUEUE_POST_ERROR the message broker does not take the job: {reason}',
    fix: 'Nothing was accepted. Send it again in a moment.',
  },
  invalid_worker: {
    status: 400,
    exit: 2,
    message: '{code} a worker cannot be started: {problem}',
    fix: 'Give {expected}.',
  },
});

type Rows = typeof JOB_ERRORS & typeof APP_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
