import { LIMITS } from '@muster/wire';

/** Limits of a push job request, beyond the body limit of the HTTP layer. */

export const MAX_COMMAND_BYTES = 32_768;
export const MAX_NODE_NAME_BYTES = LIMITS.nameBytes;
/** The deployed server stores 32 characters (sheet §7.5). */
export const MAX_USER_LENGTH = 32;
export const MAX_DIR_BYTES = 4096;
export const MAX_ENV_ENTRIES = LIMITS.envEntries;
export const MAX_ENV_BYTES = 131_072;
/** Decoded size of `file` (sheet §7.5). */
export const MAX_FILE_BYTES = LIMITS.fileBytes;
export const MAX_SECONDS = 31_536_000;
export const MAX_START_RATE = 1_000_000;
export const MAX_GROUP_NAME_LENGTH = 255;
export const MAX_SEARCH_LENGTH = 16_384;

/** Paging. */
export const DEFAULT_PAGE = 1000;
export const MAX_PAGE = 10_000;
/** Characters of specs in one page of jobs, which hold files and environments; a page over it is cut short. */
export const MAX_PAGE_TEXT = 8_388_608;
/** Jobs read at once for a page. */
export const JOBS_AT_ONCE = 100;
/** Jobs shown to somebody who typed the beginning of an id: enough to see that it is not unambiguous, and why. */
export const JOBS_FOUND = 6;

/** Deleting old jobs: at most this many rows in one transaction, so that the jobs that run are not held up. */
export const RETENTION = {
  jobs: 100,
  nodes: 1000,
  /** Between two rounds. */
  pauseMs: 60_000,
} as const;
