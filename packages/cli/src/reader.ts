import type { EventEmitter } from 'node:events';

/** 128 plus the number of SIGPIPE, as shells report it: what Node.js ignores ends other programs. */
const EXIT_READER_GONE = 141;

/**
 * A reader that went away (`muster push list | head`) is no mistake, and there is nobody to tell. How the work would have ended is not known: that
 * is no success.
 */
export function endWithReader(
  streams: readonly Pick<EventEmitter, 'on'>[],
  exit: (code: typeof EXIT_READER_GONE) => void,
): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      exit(EXIT_READER_GONE);
    });
  }
}
