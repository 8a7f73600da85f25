import type { Command } from 'commander';
import { printable } from '../../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../../shell.js';
import { timeText } from '../../summary.js';
import { addList, tellItem } from '../resource.js';
import type { BulkAnswer } from './api.js';
import { tasksPath, tasksText, tellRefused } from './many.js';

interface BulkOptions {
  readonly queue?: string;
}

const OF_QUEUE = [
  '--queue <queue>',
  'of this queue alone, which is what its own readers and writers may ask for',
] as const;

/** What the server does to many tasks: `muster task retry --where … --detach`, and what the console begins. */
export function addBulk(task: Command, shell: Shell): void {
  const bulk = subcommand(task, {
    usage: 'bulk',
    summary: 'what the server does to many tasks, as with --detach',
    examples: ['muster task bulk list', 'muster task bulk stop ID'],
  });
  addList<BulkAnswer, BulkOptions>(bulk, shell, {
    summary: 'the newest, with how far they are',
    examples: ['muster task bulk list', 'muster task bulk list --queue resize'],
    read: (call) => call.client.get<BulkAnswer[]>(tasksPath(call, call.options.queue, 'bulk')),
    columns: {
      Id: ({ id }) => id,
      Action: ({ action }) => action,
      State: ({ state }) => state,
      Done: ({ matched, counted }) => (counted === null ? `${matched}` : `${matched} of ${counted}`),
      By: ({ by }) => by,
      Begun: ({ created_at }) => timeText(created_at),
      Where: ({ where }) => where ?? 'named tasks',
    },
    status: 'State',
    look: { fit: true },
    none: 'the server was asked for none',
  }).option(...OF_QUEUE);
  const show = clientCommand(bulk, {
    usage: 'show <id>',
    summary: 'how far one is, and which tasks stayed as they were',
    examples: ['muster task bulk show ID'],
  }).option(...OF_QUEUE);
  does<BulkOptions>(show, shell, async (call) => {
    const [id = ''] = call.args;
    tellItem(call, await call.client.get<BulkAnswer>(tasksPath(call, call.options.queue, 'bulk', id)), tell);
  });
  const stop = clientCommand(bulk, {
    usage: 'stop <id>',
    summary: 'act on no further task; what was done stays done',
    examples: ['muster task bulk stop ID'],
  }).option(...OF_QUEUE);
  does<BulkOptions>(stop, shell, async (call) => {
    const [id = ''] = call.args;
    tellItem(
      call,
      await call.client.post<BulkAnswer>(tasksPath(call, call.options.queue, 'bulk', id, 'stop'), {}),
      tell,
    );
  });
}

function tell(call: Call<object>, run: BulkAnswer): void {
  const { id, action, where, state, reason, by, counted, matched, acted, refused, created_at, ended_at } = run;
  call.out.fields([
    ['Id', id],
    ['Action', action],
    ['Where', where === null ? 'named tasks' : printable(where)],
    ['State', reason === null ? state : `${state}: ${printable(reason)}`],
    ['Looked at', counted === null ? tasksText(matched) : `${matched} of ${tasksText(counted)}`],
    ['Changed', tasksText(acted)],
    ['By', printable(by)],
    ['Begun', timeText(created_at)],
    ...(ended_at === null ? [] : [['Ended', timeText(ended_at)] as [string, string]]),
  ]);
  tellRefused(call, refused);
}
