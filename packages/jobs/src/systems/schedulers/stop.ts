import { STOPPED } from '../wrapper.js';

/** `DIRECTORY`, for a shell: makes the mark of a start, so that nothing of the job starts any more. */
export const STOP = `test -d "$1" || exit 0
mkdir "$1/.muster-started" 2>/dev/null && echo ${STOPPED} >"$1/.muster-started/by"
exit 0`;
