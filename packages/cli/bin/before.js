const { setFlagsFromString } = require('node:v8');

/** What must be settled before anything is loaded. */

// An agent is a guest on its machine. Loading its modules would make V8's young generation grow to 32 MiB, and it never
// shrinks again in a process that is idle; before anything is loaded it can still be kept small.
if (process.argv[2] === 'agent') setFlagsFromString('--semi-space-growth-factor=1');

// What loads native modules asks the report of the process for the C library. With all addresses of the machine looked up
// by name in it, that waits for name servers.
process.report.excludeNetwork = true;
