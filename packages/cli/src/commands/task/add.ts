import { EXIT } from '@muster/base';
import { type Command, Option } from 'commander';
import { duration, formatDuration, parseTime } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { printable } from '../../printable.js';
import { type Call, clientCommand, collect, does, type Shell } from '../../shell.js';
import { secretNames } from '../push/request.js';
import { count } from '../queue/settings.js';
import type { AddedTask } from './api.js';
import { isCsv, tasksOf } from './source.js';
import { upload } from './upload.js';
import { paramsOf } from './values.js';
import { outcome, waitFor } from './waiting.js';

interface AddOptions {
  readonly param?: readonly string[];
  readonly text?: boolean;
  readonly from?: string;
  readonly csv?: boolean;
  readonly whole?: boolean;
  readonly fromLine: number;
  readonly priority?: number;
  readonly notBefore?: string;
  readonly expires?: string;
  readonly after?: readonly string[];
  readonly unique?: string;
  readonly uniqueFor?: number;
  readonly retries?: number;
  readonly timeout?: number;
  readonly secret?: readonly string[];
  readonly wait?: boolean;
}

export function addAdd(task: Command, shell: Shell): void {
  const command = clientCommand(task, {
    usage: 'add <queue>',
    summary:
      'add a task, and print its id; with --from many, one a line. A value that is JSON is that (200, true, [1,2], "200"), everything else is text',
    examples: [
      'muster task add resize --param file=a.png --param width=200',
      'muster task add resize --param file=a.png --wait',
      'muster task add resize --from params.jsonl',
      'muster task add mail --from addresses.csv --priority 5 --not-before 2h',
      'muster task add resize --from - < params.jsonl',
      'muster task add nightly --unique backup-of-today --retries 3 --timeout 10m',
    ],
  });
  command
    .option('--param <name=value>', 'a parameter; may be repeated', collect)
    .option('--text', 'values of --param and of CSV are text, whatever they look like')
    .option(
      '--from <file>',
      'the parameters of one task a line, as JSON, or CSV with names in its first line; -: stdin',
    )
    .option('--csv', 'it is CSV; so is a file whose name ends in .csv')
    .addOption(new Option('--whole', 'its lines are tasks: {"params": {…}, "priority": 5}').conflicts('csv'))
    .option('--from-line <n>', 'go on at this line of it', count('--from-line', 1), 1)
    .option('--priority <n>', 'higher ones first (default: 0)', integer('--priority'))
    .option('--not-before <when>', 'not before: 10m from now, or a time such as 2026-09-16T12:00:00Z')
    .option('--expires <when>', 'cancel it unless it has begun by then, as --not-before')
    .option('--after <task>', 'only when this task has succeeded; may be repeated', collect)
    .option('--unique <key>', 'no second task with this key')
    .option('--unique-for <duration>', 'for so long (default: 1d)', duration('--unique-for'))
    .option('--retries <n>', 'run it again when it fails, so often; else as the queue says', count('--retries', 0))
    .option('--timeout <duration>', 'how long one run may take; else as the queue says', duration('--timeout'))
    .option(
      '--secret <secret>',
      'a secret that the plugin finds as the file $MUSTER_SECRETS/NAME, as SECRET or NAME=SECRET; may be repeated',
      collect,
    )
    .addOption(new Option('--wait', 'until it has ended: 0 when it succeeded, else 1').conflicts('from'));
  does<AddOptions>(command, shell, (call) => (call.options.from === undefined ? addOne(call) : addMany(call)));
}

async function addOne(call: Call<AddOptions>): Promise<number> {
  const [queue = ''] = call.args;
  const { param = [], text = false, wait } = call.options;
  const body = { ...optionsOf(call), params: paramsOf(param, text) };
  const added = await call.client.post<AddedTask>(call.client.inOrg('queues', queue, 'tasks'), body);
  call.out.line(added.id);
  if (!added.created) call.out.note('this task was there already: its key is taken');
  if (wait !== true) {
    call.out.document(added);
    return EXIT.ok;
  }
  const ended = await waitFor(call, added.id);
  call.out.document(ended);
  return outcome(call, ended);
}

async function addMany(call: Call<AddOptions>): Promise<number> {
  const [queue = ''] = call.args;
  const { from = '-', csv, whole = false, text = false, fromLine, param, unique } = call.options;
  if (param !== undefined) throw new MusterError('usage', { reason: '--param and --from do not go together' });
  if (unique !== undefined) {
    throw new MusterError('usage', { reason: '--unique is of one task: give lines their own keys with --whole' });
  }
  const startedAt = call.world.now();
  const source = { from, csv: csv ?? isCsv(from), whole, text, fromLine };
  const done = await upload(call, queue, tasksOf(call.world, source, optionsOf(call)));
  call.out.document(done);
  const took = formatDuration((call.world.now() - startedAt) / 1000);
  const existed = done.existed === 0 ? '' : `, ${done.existed.toLocaleString('en')} were there already`;
  const tasks = `${done.added.toLocaleString('en')} ${done.added === 1 ? 'task' : 'tasks'}`;
  call.out.line(`added ${tasks} to ${printable(queue)}${existed} (${took})`);
  return EXIT.ok;
}

function optionsOf({ options, world }: Call<AddOptions>): Record<string, unknown> {
  const { priority, notBefore, expires, after, unique, uniqueFor, retries, timeout, secret } = options;
  const now = world.now();
  const fields = {
    priority,
    not_before: notBefore === undefined ? undefined : parseTime('--not-before', notBefore, now),
    expires_at: expires === undefined ? undefined : parseTime('--expires', expires, now),
    after,
    unique: unique === undefined ? undefined : { key: unique, ...(uniqueFor !== undefined && { seconds: uniqueFor }) },
    retries,
    timeout,
    secrets: secret === undefined ? undefined : secretNames(secret),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function integer(flag: string): (text: string) => number {
  return (text) => {
    if (/^[-+]?\d{1,9}$/.test(text)) return Number(text);
    throw new MusterError('usage', { reason: `${flag} takes a whole number, not '${text}'` });
  };
}
