import { type Command, Option } from 'commander';
import { duration } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { parseShare } from '../../share.js';
import { collect } from '../../shell.js';

/** Flags that `push start` and `push rerun` share. */
export function addJobFlags(command: Command): Command {
  return addRequestFlags(command)
    .option('--detach', 'do not wait for the end')
    .addOption(
      new Option('--dry-run', 'show which nodes would be asked to run it, and start nothing').conflicts('detach'),
    )
    .option('-y, --yes', 'do not ask, however many nodes it is');
}

/** Those that say how a push job is run. */
export function addRequestFlags(command: Command): Command {
  const share = (flag: string) => (text: string) => parseShare(flag, text);
  return command
    .option(
      '--quorum <share>',
      'nodes that must commit before any starts: 3, 0.8 or 80% (default: all)',
      share('--quorum'),
    )
    .option('--concurrency <share>', 'run on at most this many nodes at once: 10 or 25%', share('--concurrency'))
    .option('--start-rate <n>', 'start at most this many nodes per second', positive('--start-rate'))
    .option('--max-failures <share>', 'more failures than this start no more nodes: 2 or 5%', share('--max-failures'))
    .option('--run-timeout <duration>', 'end the job after this long', duration('--run-timeout'))
    .option('--node-timeout <duration>', 'end the command on a node after this long', duration('--node-timeout'))
    .option('--voting-timeout <duration>', 'wait this long for nodes to commit', duration('--voting-timeout'))
    .option('--ack-timeout <duration>', 'give up on a silent node after this long', duration('--ack-timeout'))
    .option('--user <name>', 'run as this user of the node')
    .option('--dir <path>', 'run in this directory of the node')
    .option('--env <name=value>', 'set a variable for the command; may be repeated', collect)
    .option('--file <file>', 'send this file; the command finds it at $MUSTER_JOB_FILE')
    .option('--capture', 'keep stdout and stderr of every node');
}

function positive(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text.trim()) && value > 0) return value;
    throw new MusterError('usage', { reason: `${flag} takes a number above 0, not '${text}'` });
  };
}
