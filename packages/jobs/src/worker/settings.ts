import { LIMITS as BROKER_LIMITS, namesOf } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import { MusterError } from '../errors.js';

export interface WorkerSettings {
  readonly organization: Pick<Organization, 'id' | 'name'>;
  /** Among the workers of the organization. */
  readonly name: string;
  /** The submission queue that it serves, whole. */
  readonly queue: string;
  /** How many jobs it works on at once. */
  readonly slots: number;
  readonly host: string;
  readonly version: string;
}

const NAME = /^[A-Za-z0-9_.-]{1,16}$/;
const MOST_QUEUE = 255;

/** What a worker is started with (sheet §6.1). @throws MusterError `invalid_worker` */
export function checkWorker({ organization, name, queue, slots }: WorkerSettings): void {
  if (!NAME.test(name)) {
    const code = name.length > 16 ? 'JOBS_WORKER_PARM_LENGTH' : 'JOBS_WORKER_INVALID_CHAR';
    throw invalid(code, `its name is '${name}'`, '1 to 16 letters, digits, _, - and .');
  }
  const { submitPrefix } = namesOf(organization.name);
  const suffix = queue.startsWith(submitPrefix) ? queue.slice(submitPrefix.length) : '';
  if (queue.length > MOST_QUEUE || suffix === '' || suffix.includes('.')) {
    throw invalid('JOBS_WORKER_START_ERROR', `its queue is '${queue}'`, `${submitPrefix}NAME, without a point in NAME`);
  }
  if (!Number.isInteger(slots) || slots < 1 || slots > BROKER_LIMITS.slots) {
    throw invalid('JOBS_WORKER_NUMBER_WORKERS', `it has ${slots} slots`, `1 to ${BROKER_LIMITS.slots}`);
  }
}

function invalid(code: string, problem: string, expected: string): MusterError {
  return new MusterError('invalid_worker', { code, problem, expected });
}
