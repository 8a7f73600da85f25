import { endWithReader } from './reader.js';
import { run } from './run.js';
import { processWorld } from './world.js';

const FAILED_LINGER_MS = 2000;

endWithReader([process.stdout, process.stderr], (code) => process.exit(code));

// No `await` outside of a function, here and in the other programs: the single executable cannot run it.
void run(process.argv.slice(2), processWorld()).then((code) => {
  // Exits when the event loop is empty, so that everything written reaches its reader.
  process.exitCode = code;
  // What failed may have left something open, which must not hold the process: nobody would start it again.
  if (code !== 0) setTimeout(() => process.exit(), FAILED_LINGER_MS).unref();
});
