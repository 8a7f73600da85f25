import { BEGUN, STOPPED } from '../wrapper.js';

/**
 * `DIRECTORY`, for a shell: makes the marks of a start, so that nothing of the job begins any more. What had begun has said who it is. It fails where
 * that is not certain, as on a full disk.
 */
export const STOP = `test -d "$1" || exit 0
mkdir "$1/.muster-started" 2>/dev/null && echo ${STOPPED} >"$1/.muster-started/by"
mkdir "$1/.muster-started/${BEGUN}" 2>/dev/null || test -d "$1/.muster-started/${BEGUN}"`;
