import { type Command, Option } from 'commander';
import { duration } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { type Call, collect } from '../../shell.js';
import { addBroughtFlags, type FileOptions, luggageFor } from '../push/files.js';
import { addRequestFlags } from '../push/job-flags.js';
import { type JobOptions, jobOptions, secretNames } from '../push/request.js';
import { type Target, targetOfFlags } from '../push/target.js';
import { count } from '../queue/settings.js';
import { integer } from '../task/add.js';
import { paramsOf } from '../task/values.js';
import type { ScheduleDetail } from './api.js';

/** Flags that say what a schedule runs. */
export interface WorkFlags extends JobOptions, Pick<FileOptions, 'script' | 'upload'> {
  /** Of the script. */
  readonly arg?: readonly string[];
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
  addBroughtFlags(command, 'each --arg as an argument').option(
    '--arg <text>',
    '… which the script has as an argument; may be repeated',
    collect,
  );
  return (
    addRequestFlags(command)
      .addOption(new Option('--available', 'no quorum: the nodes that are up and accept run it').conflicts('quorum'))
      // The default, which scripts may still say; before the other, so that neither is said unless it is given.
      .addOption(new Option('--capture').hideHelp())
      .option('--no-capture', 'keep no output of the nodes')
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** What is to be run: `task` or `push` of a schedule, with what of it is given. @throws MusterError `usage` */
export interface GivenWork {
  readonly task: Fields | null;
  readonly push: Fields | null;
}

export async function givenWork(call: Call<WorkFlags>): Promise<GivenWork> {
  const { options: flags, world } = call;
  const { queue, param, text = false, priority, retries, timeout } = flags;
  const params = param === undefined ? undefined : paramsOf(param, text);
  const { secret, ...ofPush } = flags;
  // Of the one or of the other, whose flags it goes with.
  const secrets = queue === undefined || secret === undefined ? undefined : secretNames(secret);
  const task = defined({ queue, params, priority, retries, timeout, secrets });
  const push = {
    ...defined({ command: flags.push }),
    ...(targetOf(flags) ?? {}),
    ...jobOptions(queue === undefined ? flags : ofPush, world.cwd),
    ...defined({ quorum: flags.available === true ? 1 : flags.quorum, capture_output: flags.capture }),
  };
  const given = (fields: Fields) => (Object.keys(fields).length === 0 ? null : fields);
  if (given(task) !== null && given(push) !== null) {
    throw usage('a schedule adds tasks (--queue) or starts push jobs (--push): these flags are of both');
  }
  const brought = given(task) === null ? await luggageIn(call) : {};
  return { task: given(task), push: given({ ...push, ...brought }) };
}

/** Files are brought to the server, which keeps them for as long as the schedule names them. */
async function luggageIn(call: Call<WorkFlags>): Promise<Fields> {
  const { script, push, arg = [] } = call.options;
  if (script === undefined && arg.length > 0) throw usage('--arg is of a script: --script FILE');
  if (script !== undefined && push !== undefined) throw usage('give either --push or --script');
  const luggage = luggageFor(call, script === undefined ? (push === undefined ? [] : [push]) : arg);
  return (await luggage?.bring()) ?? {};
}

/** For a new schedule. @throws MusterError `usage` */
export function wholeWork({ task, push }: GivenWork): Fields {
  if (task === null && push === null) {
    throw usage('say what is to be run: --queue QUEUE, --push COMMAND or --script FILE');
  }
  if (task !== null && task.queue === undefined) throw usage('say to which queue tasks are added: --queue QUEUE');
  if (push === null) return { task };
  if (!WHATS.some((what) => what in push)) throw usage("say what is run on the nodes: --push 'COMMAND'");
  if (!TARGETS.some((way) => way in push)) throw usage('no nodes chosen: give --target QUERY, --node or --node-group');
  return { push: { quorum: 'default', capture_output: true, ...push } };
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
  const other = COMMANDS.some((what) => what in push);
  const others = Object.entries(kept).filter(
    ([name]) => !(anew && isOneOf(TARGETS, name)) && !(other && isOneOf(COMMANDS, name)),
  );
  return { push: { ...Object.fromEntries(others), ...push } };
}

const TARGETS = ['search', 'nodes', 'node_group', 'from_job'];
/** What a push job does. */
const WHATS = ['command', 'script', 'uploads', 'fetch'];
/** Of these, those that are in the place of each other. */
const COMMANDS = ['command', 'script', 'fetch'];

const isOneOf = (names: readonly string[], name: string): boolean => names.includes(name);

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
