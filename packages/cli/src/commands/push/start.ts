import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { addFileFlags, type FileOptions, luggageFor } from './files.js';
import { addJobFlags } from './job-flags.js';
import { withJobId } from './job-id.js';
import { type LaunchOptions, launch } from './launch.js';
import { type JobOptions, jobRequest, requestWithoutCommand } from './request.js';
import { RERUN_FLAGS, rerun } from './rerun.js';
import { refuseQueryAsName } from './stray-query.js';
import { chooseTarget, rerunOf, type TargetOptions } from './target.js';
import { commandAfterDashes } from './without-dashes.js';

type StartOptions = TargetOptions & JobOptions & LaunchOptions & FileOptions;

const CHOOSING = ['node', 'nodeGroup', 'fromJob', 'rerun'] as const;

export function addStart(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'start [query-and-command...]',
    summary: 'run a command on nodes; waits and shows progress unless --detach',
    examples: [
      "muster push start 'role:web AND env:prod' --quorum 80% --concurrency 25% --max-failures 2 -- chef-client",
      'muster push start role:web --first 1 --then 10% --then rest --confirm -- chef-client',
      'muster push start role:web --batch 25% --pause 30s --max-failures 5% --on-failures hold -- chef-client',
      'muster push start --node web1 web2 -- uname -a',
      'muster push start --node-group canaries --detach -- chef-client',
      'muster push start --from-job JOB --job-status failed,crashed -- chef-client',
      'muster push start --rerun JOB --failed --not-started',
      "muster push start 'name:web*' --dry-run -- chef-client",
      `muster push start '*:*' --file patch.sh --yes -- 'sh "$MUSTER_JOB_FILE"'`,
      'muster push start role:web --script deploy.sh -- --release 42',
      'muster push start role:web --upload app.conf:/srv/app/app.conf -- systemctl reload app',
      'muster push start role:web --fetch /var/log/app.log',
    ],
  });
  command
    .usage('[options] [QUERY] -- COMMAND...')
    .option('--node <name...>', 'run on these nodes')
    .option('--node-group <name>', 'run on the nodes of this group')
    .option('--from-job <id>', 'run on nodes of an earlier job …')
    .option('--job-status <status>', '… that ended so; several separated by commas')
    .option(
      '--rerun <job>',
      'as `push rerun JOB`: an earlier job again, where it did not succeed; its command, concurrency, batches, failures allowed and timeouts unless given',
    )
    .option('--failed', `with --rerun: only ${RERUN_FLAGS.failed}`)
    .option('--not-started', `with --rerun: only ${RERUN_FLAGS.notStarted}`)
    .option('--group <digits>', `with --rerun: only ${RERUN_FLAGS.group}`);
  addFileFlags(command);
  addJobFlags(command);
  // A flag that chooses the nodes stands for the query.
  commandAfterDashes(command, shell, (flags) => (CHOOSING.some((flag) => flags.has(flag)) ? 0 : 1));
  does<StartOptions>(
    command,
    shell,
    async (call) => {
      const earlier = rerunOf(call.options);
      if (earlier !== null) {
        refuseFiles(call.options);
        return rerun(call, earlier, call.args);
      }
      const chosen = await withJobId(call, chooseTarget(call.args, call.words, call.options));
      await refuseQueryAsName(call, call.options.node ?? []);
      const luggage = luggageFor(call, chosen.words);
      if (luggage === null) return launch(call, chosen.target, jobRequest(chosen, call.options, call.world.cwd));
      const body = requestWithoutCommand(chosen.target, call.options, call.world.cwd);
      return launch(call, chosen.target, body, luggage);
    },
    { words: true },
  );
}

/** @throws MusterError `usage` where an earlier job is run again, with the files that it had. */
function refuseFiles(options: FileOptions): void {
  const flag = (['script', 'upload', 'fetch'] as const).find((name) => options[name] !== undefined);
  if (flag === undefined) return;
  throw new MusterError('usage', {
    reason: `--rerun sends the files of the earlier job: for others, --${flag} goes with --from-job JOB --job-status failed`,
  });
}
