import { LIMITS } from '@muster/wire';

/** Limits of a push job request, beyond the body limit of the HTTP layer. */

export const MAX_COMMAND_BYTES = 32_768;
/** Characters of a command that audit and events tell. */
export const COMMAND_TOLD = 200;
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

/** Sizes that a request may give for its batches; the last one counts for all that follow. */
export const MAX_BATCH_SIZES = 100;
/** Longest that nodes are awaited that were up when the server before this one ended. */
export const AWAITED_MS = 60_000;
/** Jobs that wait for one node; the next one is refused there. */
export const MAX_WAITING_JOBS = 100;

/** Files that travel with push jobs. */
export const MAX_SCRIPT_BYTES = LIMITS.scriptBytes;
export const MAX_SCRIPT_ARGUMENTS = LIMITS.scriptArguments;
export const MAX_SCRIPT_ARGUMENT_BYTES = LIMITS.scriptArgumentBytes;
export const MAX_SCRIPT_NAME_BYTES = 128;
export const MAX_UPLOADS = LIMITS.uploads;
export const MAX_PATH_BYTES = LIMITS.pathBytes;
export const MAX_SIGNATURE_BYTES = LIMITS.signatureBytes;

/** Files that the server keeps for nodes. */
export const FILES = {
  /** Most bytes of a file in one request, and so in one row; less where the server takes less in a body. */
  pieceBytes: 524_288,
  /** Files on their way whose hash is counted as they come; others are read again at their end. */
  hashes: 100,
  /** Files of one organization, those that are on their way included. */
  perOrganization: 1000,
  /** Rows deleted in one transaction. */
  piecesCleared: 16,
  /** Between two rounds that delete old ones. */
  pauseMs: 60_000,
} as const;

/** Paging. */
export const DEFAULT_PAGE = 1000;
export const MAX_PAGE = 10_000;
/** Characters of specs in one page of jobs, which hold files and environments; a page over it is cut short. */
export const MAX_PAGE_TEXT = 8_388_608;
/** Jobs read at once for a page. */
export const JOBS_AT_ONCE = 100;
/** Jobs shown to somebody who typed the beginning of an id: enough to see that it is not unambiguous, and why. */
export const JOBS_FOUND = 6;

/** What nodes tell of what they allow. */
export const COMMANDS = {
  /** Different lists of nodes that are kept once; as a rule there are as many as there are roles. */
  shared: 10_000,
  /** In one answer, unless more are asked for, and at most. */
  shown: 1000,
  mostShown: 10_000,
  /** Longest command, and longest pattern, of which it is said beforehand whether they match. */
  judgedCharacters: 1024,
  /** Steps of patterns over the characters of a command, for one preview: some tenths of a second. */
  work: 10_000_000,
  /** What compiling a pattern counts for. */
  compiling: 5_000,
} as const;

export const START_LIMITS = {
  /** Users whose starts are counted. */
  users: 10_000,
  /** Largest limit that an organization sets. */
  most: 1_000_000,
} as const;

/** Groups of identical results. */
export const RESULTS = {
  /** In one answer, unless it is asked for more, and at most. */
  shown: 20,
  mostShown: 100,
  /** Names told of a group. */
  namedNodes: 10,
  /** Of the beginning of each stream. */
  shownBytes: 2048,
} as const;

/** Deleting old jobs: at most this many rows in one transaction, so that the jobs that run are not held up. */
export const RETENTION = {
  jobs: 100,
  nodes: 1000,
  /** Between two rounds. */
  pauseMs: 60_000,
} as const;
