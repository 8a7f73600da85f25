const INSIDE = '/proc/self/exe/';
const COMMAND_LINE = 'cli/bin/muster.js';

/**
 * Node.js gives a single executable `[muster, muster, …words]`. Made here what a program expects, `[muster, program, …words]`: the
 * program is the first word when that is one of ours (`muster /proc/self/exe/…`, as our own processes are started, cluster's with
 * them), in a thread the last, and otherwise the command line.
 */
const [executable, , first, ...rest] = process.argv;
process.argv = first?.startsWith(INSIDE)
  ? [executable, first, ...rest]
  : [executable, INSIDE + COMMAND_LINE, ...process.argv.slice(2)];
