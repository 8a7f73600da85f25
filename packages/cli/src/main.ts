import { run } from './run.js';
import { processWorld } from './world.js';

const FAILED_LINGER_MS = 2000;

// A reader that went away (`muster push list | head`) is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

// No `await` outside of a function, here and in the other programs: the single executable cannot run it.
void run(process.argv.slice(2), processWorld()).then((code) => {
  // Exits when the event loop is empty, so that everything written reaches its reader.
  process.exitCode = code;
  // What failed may have left something open, which must not hold the process: nobody would start it again.
  if (code !== 0) setTimeout(() => process.exit(), FAILED_LINGER_MS).unref();
});
