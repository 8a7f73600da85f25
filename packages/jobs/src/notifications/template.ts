import { BASE_URL } from '@muster/platform/outbound';
import type { Job } from '../types.js';
import { timeText } from './body.js';

/** Variables of the URL of a subscription (sheet §1.2). What is not set is the empty text. */
const VARIABLES: Readonly<Record<string, (job: Job, event: string) => string | null>> = {
  JOB_STATUS: ({ status }) => status,
  JOB_URL: ({ uuid }) => `${BASE_URL}/jobs/v2/${uuid}`,
  JOB_ID: ({ uuid }) => uuid,
  JOB_SYSTEM: ({ systemId }) => systemId,
  JOB_NAME: ({ name }) => name,
  JOB_START_TIME: ({ remoteStarted }) => timeText(remoteStarted),
  JOB_END_TIME: ({ ended }) => timeText(ended),
  JOB_SUBMIT_TIME: ({ remoteSubmitted }) => timeText(remoteSubmitted),
  JOB_ARCHIVE_PATH: ({ archivePath }) => archivePath,
  JOB_ARCHIVE_URL: ({ uuid }) => `${BASE_URL}/jobs/v2/${uuid}/outputs/listings`,
  JOB_ERROR: ({ lastMessage }) => lastMessage,
  UUID: ({ uuid }) => uuid,
  EVENT: (_, event) => event,
};

export const ADDRESS_VARIABLES: readonly string[] = Object.keys(VARIABLES);

const VARIABLE = /\$\{([A-Z_]+)\}/g;

/** The address with its variables replaced, each value as it may stand in a URL. What is no variable stays. */
export function resolveAddress(address: string, job: Job, event: string): string {
  return address.replace(VARIABLE, (whole, name: string) => {
    const value = Object.hasOwn(VARIABLES, name) ? VARIABLES[name]?.(job, event) : undefined;
    if (value === undefined) return whole;
    const encoded = encodeURIComponent(value ?? '');
    return encoded.replaceAll(encodeURIComponent(BASE_URL), BASE_URL);
  });
}
