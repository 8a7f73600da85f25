import type { Command } from 'commander';
import type { Job } from '../../api.js';
import { MusterError } from '../../errors.js';
import { nodeStatusNamed } from '../../node-words.js';
import { isInteractive } from '../../prompt.js';
import { type Call, clientCommand, collect, does, type Shell } from '../../shell.js';
import { joinWords } from '../../words.js';
import { addPlaceFlag, type FileOptions, luggageOf, uploadsText } from './files.js';
import { addJobFlags } from './job-flags.js';
import { jobId, takesJob } from './job-id.js';
import { hadNoTurn, jobNodes } from './job-nodes.js';
import { keptOf, keptText, keptUnless, refuseUnshown, withKept } from './kept.js';
import { type LaunchOptions, launch } from './launch.js';
import { FAILED, NOT_STARTED } from './outcome.js';
import { readJob } from './read-job.js';
import { type JobOptions, jobOptions, requestOf } from './request.js';
import { nodesOfGroup } from './results/index.js';
import { refuseStrayQuery } from './stray-query.js';
import type { Target } from './target.js';
import { commandAfterDashes } from './without-dashes.js';

/** Which nodes of the earlier job. */
export interface RerunChoice {
  readonly failed?: boolean;
  readonly notStarted?: boolean;
  readonly status?: readonly string[];
  /** Those with one result, see `push results`. */
  readonly group?: string;
}

type RerunOptions = RerunChoice & JobOptions & LaunchOptions & Pick<FileOptions, 'to' | 'detach'>;

export const RERUN_FLAGS = {
  failed: 'nodes that failed, crashed, timed out or were aborted',
  notStarted:
    'nodes that refused, were unavailable, or were ready and never started, also before the job timed out or they went down',
  group: 'nodes with this result, as `push results` names it',
} as const;

export function addRerun(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'rerun <job> [command...]',
    summary:
      'run the command of an earlier job again on its nodes that failed or were not started; as its user, with its directory, variables, secrets, file, uploads, concurrency, batches, failures allowed and timeouts (shares as the counts that they were), unless flags say otherwise',
    examples: [
      'muster push rerun JOB --failed',
      'muster push rerun JOB --failed --not-started --quorum 50%',
      'muster push rerun JOB --group 3f2a9c01',
      'muster push rerun JOB --status timed_out -- chef-client --once',
    ],
  });
  takesJob(command);
  command
    .usage('[options] JOB [-- COMMAND...]')
    .option('--failed', RERUN_FLAGS.failed)
    .option('--not-started', RERUN_FLAGS.notStarted)
    .option('--status <status>', 'nodes with this status; may be repeated', collect)
    .option('--group <digits>', RERUN_FLAGS.group);
  addPlaceFlag(command, 'of a job with --fetch');
  addJobFlags(command);
  commandAfterDashes(command, shell, () => 1);
  does<RerunOptions>(
    command,
    shell,
    async (call) => {
      const [id = '', ...others] = call.args;
      return rerun(call, id, others);
    },
    { words: true },
  );
}

/** The earlier job's own command, unless another follows, with or without `--`. `push rerun JOB` and `push start --rerun JOB`. */
export async function rerun(call: Call<RerunOptions>, id: string, operands: readonly string[]): Promise<number> {
  const [stray] = operands;
  if (call.words !== undefined && stray !== undefined) {
    throw new MusterError('usage', { reason: `'${stray}' is neither the earlier job nor, after --, its command` });
  }
  if (call.words === undefined) refuseStrayQuery(operands, 'nodes of the earlier job');
  const words = call.words ?? operands;
  const statuses = rerunStatuses(call.options);
  const earlier = await readJob(call, await jobId(call, id), { include_file: true });
  if (words.length === 0) refuseUnshown(earlier);
  const { group } = call.options;
  const target: Target =
    group === undefined
      ? await nodesThatEnded(call, earlier, statuses)
      : { nodes: await nodesOfGroup(call, earlier.id, checkedGroup(call.options)) };
  const kept = keptOf(earlier);
  const given = jobOptions(call.options, call.world.cwd);
  const body = requestOf(target, call.options, withKept(kept, given));
  const same = keptUnless(kept, given);
  if ('batch_confirm' in same && !isInteractive(call.world)) {
    throw new MusterError('usage', {
      reason: `after each batch job ${earlier.id} waited for push continue, and there is no terminal to ask here: say --no-confirm, or --confirm for the same again`,
    });
  }
  const other = words.length > 0 ? joinWords(words) : null;
  const brought = luggageOf(call, earlier, other);
  const text = [keptText(same), uploadsText(earlier)].filter((part) => part !== '').join(' ');
  // Before anything starts: whoever wants it faster, or slower, sees the flags.
  if (text !== '') call.out.note(`As job ${earlier.id}: ${text}`);
  return brought === null
    ? launch(call, target, { command: other ?? earlier.command, ...body })
    : launch(call, target, body, brought);
}

/**
 * Those that went down, or whose job timed out, before their turn have the status of those that failed at their work: where they are wanted
 * without these, they are named.
 */
async function nodesThatEnded(call: Call<RerunChoice>, earlier: Job, statuses: readonly string[]): Promise<Target> {
  const target = { from_job: { id: earlier.id, statuses } };
  const alike = ['timed_out', 'crashed'] as const;
  const some = alike.some((status) => !statuses.includes(status) && (earlier.nodes?.[status] ?? []).length > 0);
  if (call.options.notStarted !== true || !some) return target;
  const all = await jobNodes(call, earlier.id);
  if (!all.some(hadNoTurn)) return target;
  const chosen = all.filter((node) => statuses.includes(node.status) || hadNoTurn(node));
  return { nodes: chosen.map(({ node_name }) => node_name) };
}

/** @throws MusterError `usage` beside another choice. */
function checkedGroup({ group = '', failed, notStarted, status }: RerunChoice): string {
  if (failed === undefined && notStarted === undefined && status === undefined) return group;
  throw new MusterError('usage', {
    reason: 'choose nodes in one way: --group, or --failed, --not-started and --status',
  });
}

/** Without a choice, everything that did not succeed. */
export function rerunStatuses(options: RerunChoice): string[] {
  const chosen = [
    ...(options.failed === true ? FAILED : []),
    ...(options.notStarted === true ? NOT_STARTED : []),
    ...(options.status ?? []).flatMap((text) => text.split(',')).map((status) => nodeStatusNamed('--status', status)),
  ];
  return [...new Set(chosen.length > 0 ? chosen : [...FAILED, ...NOT_STARTED])];
}
