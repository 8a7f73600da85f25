/** Every bound of the CLI, by name. */

/** A request that has not answered by then failed. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** How often a GET is tried again after a connection failure or a 503; other methods are never repeated. */
export const GET_RETRIES = 2;

/** A server that says when to come again (`Retry-After`) is waited for once, when it is no longer than this. */
export const RETRY_AFTER_MOST_MS = 15_000;

/** First pause before a repeated GET; doubles. */
export const RETRY_PAUSE_MS = 250;

/** Largest JSON answer that is read into memory. */
export const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** Nodes shown or fetched per page of a list. */
export const PAGE_SIZE = 1000;

/** The status line is redrawn at most ten times a second. */
export const REDRAW_MS = 100;

/** So long output of a node waits for what its job tells. */
export const TURN_PATIENCE_MS = 1000;

/** Jobs on more nodes than this need --yes, unless the settings say otherwise. */
export const CONFIRM_ABOVE = 100;

/** Longest single event of a feed; the summary of 20,000 nodes fits. */
export const MAX_EVENT_CHARS = 16 * 1024 * 1024;

/** First and longest pause before an event stream is opened again. */
export const RECONNECT_MIN_MS = 250;
export const RECONNECT_MAX_MS = 5_000;

/** How long watching goes on while the server cannot be reached. The job itself is not affected by giving up. */
export const RECONNECT_PATIENCE_MS = 15 * 60_000;

/** Largest configuration or key file that is read. */
export const MAX_FILE_BYTES = 1024 * 1024;

/** Most bytes of a file sent with a job (sheet §0.3). */
export const MAX_JOB_FILE_BYTES = 100_000;

/** Longest text that says what is signed of a release, as agents take it. */
export const MAX_SIGNED_BYTES = 65_536;

/** Most bytes of a script (the server takes no more), and how much of a file is read at once. */
export const MAX_SCRIPT_BYTES = 1_048_576;
export const READ_BYTES = 524_288;

/** How often in a row bringing a piece of a file is tried again, and the first pause before; it doubles. */
export const PIECE_RETRIES = 6;

/** When watching first looks how many busy nodes a job waits for, and how often from then on. */
export const BUSY_LOOK_FIRST_MS = 1_000;
export const BUSY_LOOK_MS = 5_000;

/** Between looks at the nodes that still kill the command of an aborted job. */
export const STOPPING_LOOK_MS = 500;

/** How long an abort waits for them; an agent kills for good after its `grace`. */
export const STOPPING_PATIENCE_MS = 5 * 60_000;

/** Streams of output that one command follows at once; a server lets one principal follow 500. */
export const MOST_FOLLOWED = 200;

/** Tasks of one request, and their bytes: below what a server takes in a body unless it is told otherwise. */
export const TASKS_PER_REQUEST = 10_000;
export const TASK_REQUEST_BYTES = 800_000;

/** Longest line, or record of CSV, of a file of tasks; a server takes less. */
export const MAX_TASK_LINE_CHARS = 2 * 1024 * 1024;
/** Longest document that is read whole from a file or standard input. */
export const MAX_DOCUMENT_BYTES = 4_194_304;

/** Largest answer of an OpenID provider, and how long each is waited for. */
export const MAX_PROVIDER_BYTES = 1_048_576;
export const PROVIDER_TIMEOUT_SECONDS = 30;

/** Of a password that is typed. */
export const MAX_PASSWORD_CHARACTERS = 1024;
