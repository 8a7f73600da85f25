import { MusterError } from '../errors.js';

/** Characters of what somebody sent that a message repeats. */
const MOST_ECHO = 120;

/**
 * A request that cannot be accepted, by its code of the Aloe catalogue (sheet §1.3) and the path of the field.
 */
export function refused(code: RefusalCode, field: string, reason: string): MusterError {
  return new MusterError('job_invalid', { code, field: echo(field), reason });
}

/** What somebody sent, as a message may repeat it. */
export function echo(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return text.length > MOST_ECHO ? `${text.slice(0, MOST_ECHO)}…` : text;
}

export type RefusalCode =
  | 'NET_INVALID_JSON_INPUT'
  | 'NET_POST_PAYLOAD_ACCESS'
  | 'ALOE_JSON_PARSE_ERROR'
  | 'ALOE_JSON_VALIDATION_ERROR'
  | 'ALOE_NULL_PARAMETER'
  | 'ALOE_INVALID_PARAMETER'
  | 'ALOE_INVALID_PARAMETER_LEN'
  | 'JOBS_INVALID_APPID'
  | 'JOBS_SUBMIT_ERROR'
  | 'JOBS_INVALID_PROCESSORS_PER_NODE'
  | 'JOBS_UNKNOWN_REMOTE_QUEUE'
  | 'JOBS_INVALID_REMOTE_QUEUE_ASSIGNMENT'
  | 'JOBS_NO_REMOTE_QUEUE';
