import type { Command } from 'commander';
import { duration } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { collect } from '../../shell.js';
import { addRequestFlags } from '../push/job-flags.js';
import { type JobOptions, jobOptions } from '../push/request.js';
import { type Target, targetOfFlags } from '../push/target.js';
import { count } from '../queue/settings.js';
import { integer } from '../task/add.js';
import { paramsOf } from '../task/values.js';
import type { ScheduleDetail } from './api.js';

/** Flags that say what a schedule runs. */
export interface WorkFlags extends JobOptions {
  readonly queue?: string;
  readonly param?: readonly string[];
  readonly text?: boolean;
  readonly priority?: number;
  readonly retries?: number;
  readonly timeout?: number;
  readonly push?: string;
  readonly target?: string;
  readonly node?: readonly string[];
  readonly nodeGroup?: string;
}

export function addWorkFlags(command: Command): Command {
  command
    .option('--queue <queue>', 'add a task to this queue …')
    .option('--param <name=value>', '… with this parameter, as `task add` has it; may be repeated', collect)
    .option('--text', '… whose values are text, whatever they look like')
    .option('--priority <n>', '… before those with less', integer('--priority'))
    .option('--retries <n>', '… run again when it fails, so often', count('--retries', 0))
    .option('--timeout <duration>', '… one run of which may take so long', duration('--timeout'))
    .option('--push <command>', 'or start a push job with this command …')
    .option('--target <query>', '… on the nodes that match then, as `push start` has it')
    .option('--node <name...>', '… on these nodes')
    .option('--node-group <name>', '… on the nodes of this group');
  return addRequestFlags(command).option('--capture', 'keep stdout and stderr of every node');
}

type Fields = Readonly<Record<string, unknown>>;

/** What is to be run: `task` or `push` of a schedule, with what of it is given. @throws MusterError `usage` */
export interface GivenWork {
  readonly task: Fields | null;
  readonly push: Fields | null;
}

export function givenWork(flags: WorkFlags, cwd: string): GivenWork {
  const { queue, param, text = false, priority, retries, timeout } = flags;
  const params = param === undefined ? undefined : paramsOf(param, text);
  const task = defined({ queue, params, priority, retries, timeout });
  const push = { ...defined({ command: flags.push }), ...(targetOf(flags) ?? {}), ...jobOptions(flags, cwd) };
  const given = (fields: Fields) => (Object.keys(fields).length === 0 ? null : fields);
  if (given(task) !== null && given(push) !== null) {
    throw usage('a schedule adds tasks (--queue) or starts push jobs (--push): these flags are of both');
  }
  return { task: given(task), push: given(push) };
}

/** For a new schedule. @throws MusterError `usage` */
export function wholeWork({ task, push }: GivenWork): Fields {
  if (task === null && push === null) throw usage('say what is to be run: --queue QUEUE, or --push COMMAND');
  if (task !== null && task.queue === undefined) throw usage('say to which queue tasks are added: --queue QUEUE');
  if (push === null) return { task };
  if (push.command === undefined) throw usage("say what is run on the nodes: --push 'COMMAND'");
  if (!TARGETS.some((way) => way in push)) throw usage('no nodes chosen: give --target QUERY, --node or --node-group');
  return { push };
}

/** For a schedule that there is: what was not given stays. @throws MusterError `usage` */
export function changedWork({ task, push }: GivenWork, before: ScheduleDetail): Fields {
  if (task !== null) return before.task === null ? wholeWork({ task, push }) : { task: { ...before.task, ...task } };
  if (push === null) return {};
  if (before.push === null) return wholeWork({ task, push });
  const { file_specified: hadFile, ...kept } = before.push;
  if (hadFile === true && push.file === undefined) {
    throw usage('its file is not shown by the server: give it again with --file');
  }
  const anew = TARGETS.some((way) => way in push);
  const others = Object.entries(kept).filter(([name]) => !(anew && TARGETS.some((way) => way === name)));
  return { push: { ...Object.fromEntries(others), ...push } };
}

const TARGETS = ['search', 'nodes', 'node_group', 'from_job'] as const;

function targetOf({ target, node, nodeGroup }: WorkFlags): Target | null {
  const flagged = targetOfFlags({ ...(node && { node }), ...(nodeGroup !== undefined && { nodeGroup }) });
  if (target === undefined) return flagged;
  if (flagged !== null) throw usage('choose nodes in one way: --target, --node or --node-group');
  return { search: target };
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function usage(reason: string): MusterError {
  return new MusterError('usage', { reason });
}
