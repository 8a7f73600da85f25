import { type Command, Option } from 'commander';
import { duration } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { parseQuorum, parseShare, parseSize } from '../../share.js';
import { collect } from '../../shell.js';
import { type BatchSize, batchSize } from './batches.js';

/** Flags that `push start` and `push rerun` share. */
export function addJobFlags(command: Command): Command {
  return (
    addOutputFlag(addRequestFlags(command))
      .addOption(
        new Option(
          '--available',
          'no quorum: the nodes that are up and accept run it, the others are told at the end',
        ).conflicts('quorum'),
      )
      .option('--no-capture', 'take no output from the nodes: it is neither shown nor kept')
      // The default, which scripts may still say.
      .addOption(new Option('--capture').hideHelp())
      .option('--no-confirm', 'of a job that is run again: do not wait after each batch')
      .option('--detach', 'do not wait for the end')
      .addOption(
        new Option(
          '--dry-run',
          'show which nodes would run it, which would refuse and why, and start nothing',
        ).conflicts('detach'),
      )
      .option('-y, --yes', 'do not ask, however many nodes it is')
  );
}

/** Also of `push watch`. */
export function addOutputFlag(command: Command): Command {
  return command.addOption(
    new Option(
      '--output <how>',
      'of the nodes: live, every line as it comes; grouped, at the end, identical results together; none (default: live, but on a terminal only counts and the newest failure of more than ten nodes)',
    ).choices(['live', 'grouped', 'none']),
  );
}

/** Those that say how a push job is run. */
export function addRequestFlags(command: Command): Command {
  return addStagingFlags(command)
    .option('--user <name>', 'run as this user of the node')
    .option('--dir <path>', 'run in this directory of the node')
    .option('--env <name=value>', 'set a variable for the command; may be repeated', collect)
    .option(
      '--secret <name[=variable]>',
      'a secret that the command finds as the file $MUSTER_SECRETS/NAME; VARIABLE names that file, too; may be repeated',
      collect,
    )
    .option('--file <file>', 'send this file; the command finds it at $MUSTER_JOB_FILE');
}

/** Of them those that say when which nodes start, and what counts as enough or as too much. */
export function addStagingFlags(command: Command): Command {
  const size = (flag: string) => (text: string) => parseSize(flag, text);
  return command
    .option(
      '--quorum <share>',
      'nodes that must commit before any starts: 3, 0.8, 80% or all (default: what the organization has set, else all)',
      parseQuorum,
    )
    .option('--concurrency <share>', 'run on at most this many nodes at once: 10 or 25%', size('--concurrency'))
    .option('--start-rate <n>', 'start at most this many nodes per second', positive('--start-rate'))
    .option('--max-failures <share>', 'more failures than this start no more nodes: 2 or 5%', (text: string) =>
      parseShare('--max-failures', text),
    )
    .addOption(
      new Option(
        '--on-failures <how>',
        'with --max-failures: end the nodes that were not started, hold them until push continue, or abort also those that run (default: end)',
      ).choices(['end', 'hold', 'abort']),
    )
    .option('--batch <share>', 'start in batches of this size, each when the one before has ended', size('--batch'))
    .option(
      '--first <share>',
      'the size of the first batch; all others follow it, unless --then or --batch',
      size('--first'),
    )
    .option(
      '--then <share>',
      'with --first: the size of the next batch, or rest; may be repeated',
      (text, before?: BatchSize[]) => [...(before ?? []), batchSize(text)],
    )
    .option('--pause <duration>', 'between two batches', duration('--pause'))
    .addOption(
      new Option('--confirm', 'after each batch, wait for push continue; within the run timeout').conflicts('pause'),
    )
    .option('--run-timeout <duration>', 'end the job after this long', duration('--run-timeout'))
    .option('--node-timeout <duration>', 'end the command on a node after this long', duration('--node-timeout'))
    .option('--voting-timeout <duration>', 'wait this long for nodes to commit', duration('--voting-timeout'))
    .option('--ack-timeout <duration>', 'give up on a silent node after this long', duration('--ack-timeout'))
    .addOption(
      new Option(
        '--when-busy <how>',
        'nodes that run another push job: skip them, or wait until they are free (default: skip)',
      ).choices(['skip', 'wait']),
    )
    .option(
      '--wait-timeout <duration>',
      'with --when-busy wait: skip what is not free after this long (default: 1h, unless the server has another)',
      duration('--wait-timeout'),
    );
}

function positive(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text.trim()) && value > 0) return value;
    throw new MusterError('usage', { reason: `${flag} takes a number above 0, not '${text}'` });
  };
}
