/** Bounds of the kit. */

/** Most bytes kept of each stream of a plugin. */
export const OUTPUT_BYTES = 64 * 1024 * 1024;
/** Reports of progress that are kept; of more, the latest. */
export const PROGRESS_KEPT = 1_000;
/** Between asking a plugin to end and killing it. */
export const GRACE_MS = 5_000;
/** After the plugin itself has ended, how long what it left behind may hold its output open. */
export const PIPE_GRACE_MS = 1_000;
/** Longest task that is read. */
export const TASK_BYTES = 64 * 1024 * 1024;
