/** Every bound of the contracts by name. Lengths are bytes unless the name says otherwise. */

/** Largest response file that is read: two outputs that Disbatch keeps, and their escapes, fit. */
export const RESPONSE_BYTES = 128 * 1024 * 1024;
/** How deep lists and objects of a response may be in each other; deeper ones cannot be written as text again. */
export const RESPONSE_DEPTH = 1_000;
/** Greatest status: that of a column, and of a 32-bit number (sheet §3.5: "handoff status must be int32"). */
export const STATUS_MOST = 2 ** 31 - 1;
/** Longest line that can tell progress; a longer one is passed over. */
export const PROGRESS_LINE = 4_096;
/** Characters of the text of one report of progress. */
export const PROGRESS_TEXT = 200;
/** Longest argument that Linux takes (MAX_ARG_STRLEN), its end not counted. */
export const ARGUMENT_BYTES = 128 * 1024 - 1;
/** Most arguments of a program in the node's configuration. */
export const ARGUMENTS = 1_000;
