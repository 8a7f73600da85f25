import { parseSize } from '@muster/base';
import { type Command, Option } from 'commander';
import { durationOf } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { clientCommand, collect, does, type Shell } from '../../shell.js';
import { secretNames } from '../push/request.js';
import { tellItem } from '../resource.js';
import type { QueueInfo } from './api.js';
import { tell } from './show.js';

/** What the flags say, in the fields of the API. */
interface SettingFlags {
  readonly plugin?: string;
  readonly name?: string;
  readonly paused?: boolean;
  readonly threads?: number | None;
  readonly sort?: string;
  readonly nodes?: string;
  readonly ignoreNodes?: string;
  readonly weight?: number;
  readonly key?: NonNullable<QueueInfo['key']> | None;
  readonly rate?: NonNullable<QueueInfo['rate']> | None;
  readonly retries?: number;
  readonly retryFirst?: number;
  readonly retryLongest?: number;
  readonly orphanRetries?: number;
  readonly timeout?: number | None;
  readonly outputLimit?: number;
  readonly keep?: number | None;
  readonly secret?: readonly string[];
  readonly writer?: readonly string[];
  readonly reader?: readonly string[];
}

export function addCreate(queue: Command, shell: Shell): void {
  const command = clientCommand(queue, {
    usage: 'create <queue>',
    summary: 'make a queue; its tasks are run by a plugin that nodes have',
    examples: [
      'muster queue create resize --plugin thumbnail --threads 8',
      "muster queue create resize --plugin thumbnail --nodes 'role:media' --sort lifo",
      'muster queue create mail --plugin sendmail --rate 100/1m --retries 5 --timeout 30s --key domain=2',
    ],
  });
  command.requiredOption('--plugin <name>', 'what runs its tasks, as agents call it');
  withSettings(command).option('--paused', 'begin paused: nothing is assigned until it is resumed');
  does<SettingFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const body = { name, ...settings(call.options) };
    tellItem(call, await call.client.post<QueueInfo>(call.client.inOrg('queues'), body), ({ out }, made) =>
      out.line(`created queue ${made.name}${made.state === 'paused' ? ', paused' : ''}`),
    );
  });
}

export function addSet(queue: Command, shell: Shell): void {
  const command = clientCommand(queue, {
    usage: 'set <queue>',
    summary: 'change what is given of a queue; everything else stays',
    examples: [
      'muster queue set resize --threads 16',
      'muster queue set resize --threads none --timeout none',
      'muster queue set resize --writer alice --writer group:media',
    ],
  });
  command.option('--plugin <name>', 'what runs its tasks').option('--name <name>', 'another name');
  withSettings(command);
  does<SettingFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const body = settings(call.options);
    if (Object.keys(body).length === 0) throw new MusterError('usage', { reason: 'say what is to be changed' });
    tellItem(call, await call.client.patch<QueueInfo>(call.client.inOrg('queues', name), body), tell);
  });
}

function withSettings(command: Command): Command {
  return command
    .option('--threads <n>', 'tasks at one time, on all nodes together; none: no limit', orNone(count('--threads', 0)))
    .addOption(new Option('--sort <order>', 'which waiting task comes first').choices(['fifo', 'lifo', 'default']))
    .option(
      '--nodes <selector>',
      'only on nodes like these; none: on all',
      orNone((text) => text),
    )
    .option(
      '--ignore-nodes <selector>',
      'not on nodes like these; none: on all',
      orNone((text) => text),
    )
    .option('--weight <n>', 'its share of the slots of a node beside other queues (default: 1)', Number)
    .option('--key <param=limit>', 'at most so many tasks at one time that have the same value there', orNone(key))
    .option('--rate <tasks/duration>', 'assign at most so many in a time: 100/1m', orNone(rate))
    .option('--retries <n>', 'run a task that failed again, so often', count('--retries', 0))
    .option(
      '--retry-first <duration>',
      'wait so long before the first; each time twice as long',
      seconds('--retry-first'),
    )
    .option('--retry-longest <duration>', 'but never longer', seconds('--retry-longest'))
    .option('--orphan-retries <n>', 'queue a task again whose node was lost, so often', count('--orphan-retries', 0))
    .option('--timeout <duration>', 'how long one run may take; none: no limit', orNone(seconds('--timeout')))
    .option('--output-limit <size>', 'most bytes kept of stdout and of stderr: 10MiB', size)
    .option('--keep <duration>', 'how long ended tasks are kept; forever, or none: as the server says', orNone(keep))
    .option(
      '--secret <secret>',
      'a secret that its plugin finds as the file $MUSTER_SECRETS/NAME, as SECRET or NAME=SECRET; may be repeated; none: no more',
      collect,
    )
    .option(
      '--writer <name>',
      'may add tasks and act on them: a user, group:NAME, client:NAME; may be repeated; none: nobody else',
      collect,
    )
    .option('--reader <name>', 'may look, as --writer', collect);
}

function settings(flags: SettingFlags): Readonly<Record<string, unknown>> {
  const { ignoreNodes, retries, retryFirst, retryLongest, orphanRetries, outputLimit, writer, reader, secret, paused } =
    flags;
  const { plugin, name, threads, sort, nodes, weight, key, rate, timeout, keep } = flags;
  const retry = defined({ limit: retries, first: retryFirst, longest: retryLongest });
  return {
    ...(name !== undefined && { name }),
    ...(plugin !== undefined && { plugin }),
    ...defined({
      ...{ threads, sort, nodes, weight, key, rate, timeout, keep },
      state: paused === true ? 'paused' : undefined,
      ignore_nodes: ignoreNodes,
      retry: Object.keys(retry).length === 0 ? undefined : retry,
      orphan_retries: orphanRetries,
      output_limit: outputLimit,
      secrets: secret === undefined ? undefined : secret[0] === NONE ? NONE : secretNames(secret),
      writers: members(writer),
      readers: members(reader),
    }),
  };
}

/** Those that were given; `none` takes away what there is. */
function defined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === NONE ? null : value]));
}

/** `--writer none` takes all away. */
function members(names: readonly string[] | undefined): readonly string[] | undefined {
  return names?.length === 1 && names[0] === 'none' ? [] : names;
}

function usage(reason: string): MusterError {
  return new MusterError('usage', { reason });
}

/** Commander takes null for a value that is missing. */
const NONE = 'none';
type None = typeof NONE;

function orNone<T>(parse: (text: string) => T): (text: string) => T | None {
  return (text) => (text === NONE ? NONE : parse(text));
}

export function count(flag: string, least: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
    throw usage(`${flag} takes a whole number from ${least} on, not '${text}'`);
  };
}

function seconds(flag: string): (text: string) => number {
  return (text) => durationOf(flag, text);
}

function keep(text: string): number {
  return text === 'forever' ? 0 : durationOf('--keep', text);
}

function size(text: string): number {
  const bytes = parseSize(text);
  if (bytes === null) throw usage(`--output-limit: '${text}' is not a size; write it like 64KiB or 10MiB`);
  return bytes;
}

function key(text: string): NonNullable<QueueInfo['key']> {
  const [, param, limit] = /^(.+)=(\d{1,6})$/.exec(text) ?? [];
  if (param === undefined) throw usage(`--key takes a parameter and a number: --key user=2, not '${text}'`);
  return { param, limit: Number(limit) };
}

function rate(text: string): NonNullable<QueueInfo['rate']> {
  const [, tasks, time = ''] = /^(\d{1,9})\/(.+)$/.exec(text) ?? [];
  if (tasks === undefined) throw usage(`--rate takes tasks and a time: --rate 100/1m, not '${text}'`);
  return { tasks: Number(tasks), seconds: durationOf('--rate', /^\d/.test(time) ? time : `1${time}`) };
}
