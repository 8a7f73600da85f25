import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { printable } from '../../printable.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { count } from '../queue/settings.js';
import { addShow as addShowOf, tellTable } from '../resource.js';
import type { Attempt, TaskDetail } from './api.js';
import { followTask, type OutputOptions, showOutput } from './output.js';
import { progressText, readTask } from './waiting.js';

export function addShow(task: Command, shell: Shell): void {
  const command = clientCommand(task, {
    usage: 'show <task>',
    summary:
      'a task, its runs, and why it is where it is; or what it wrote. Byte for byte, but a terminal gets control characters as \\xNN',
    examples: [
      'muster task show TASK',
      'muster task show TASK --follow',
      'muster task show TASK --output > a.tar',
      'muster task show TASK --stderr --attempt 1',
    ],
  });
  command
    .option('--output', 'what it wrote to stdout')
    .option('--stderr', 'what it wrote to stderr; it goes to stdout unless both are asked for')
    .option('--follow', 'as it comes, run after run, until it has ended: 0 when it succeeded, else 1')
    .option('--attempt <n>', 'of this run; of the latest when absent', count('--attempt', 1));
  does<OutputOptions>(command, shell, async (call) => {
    const [id = ''] = call.args;
    const { output, stderr, follow } = call.options;
    if (follow === true) return followTask(call, id);
    if (output === true || stderr === true) return showOutput(call, id);
    const found = await readTask(call, id);
    const attempts = await call.client.get<Attempt[]>(call.client.inOrg('tasks', id, 'attempts'));
    call.out.document({ ...found, attempts });
    if (!call.out.json) tell(call, found, attempts);
    return EXIT.ok;
  });
}

export function addWhy(task: Command, shell: Shell): void {
  addShowOf<{ readonly why: readonly string[] }>(task, shell, {
    usage: 'why <task>',
    summary: 'why a task is where it is',
    examples: ['muster task why TASK'],
    read: ({ client }, id) => client.get(client.inOrg('tasks', id, 'why')),
    tell: ({ out }, { why }) => {
      for (const sentence of why) out.line(printable(sentence));
    },
  });
}

function tell(call: Call<object>, task: TaskDetail, attempts: readonly Attempt[]): void {
  const given = (title: string, value: string | null): [string, string][] => (value === null ? [] : [[title, value]]);
  const time = (value: string | null) => (value === null ? null : timeText(value));
  const { progress, status, code } = task;
  const unusual = (status === 'failed' && code !== 2) || (status === 'held' && code !== -7) ? ` (${code})` : '';
  call.out.fields([
    ['Task', task.id],
    ['Queue', task.queue ?? `${task.queue_id} (deleted)`],
    ['Plugin', task.plugin ?? '-'],
    ['Status', `${status}${unusual}${task.cancelling ? ', to be cancelled' : ''}`],
    ...given('Reason', task.reason),
    ...given('Progress', progress && progressText(progress)),
    ...given('Node', task.node),
    ['Parameters', JSON.stringify(task.params)],
    ...given('Priority', task.priority === 0 ? null : String(task.priority)),
    ...given('Key', task.key),
    ...given('After', task.after.join(', ') || null),
    ...given('Not before', time(task.not_before)),
    ...given('Expires', time(task.expires_at)),
    ['Added', `${timeText(task.ctime)} by ${task.requester}`],
    ...given('Started', time(task.started)),
    ...given('Ended', time(task.ended)),
    ...given('Output', task.complete === false ? 'some of it is missing' : null),
    ...task.why.map((sentence, index): [string, string] => [index === 0 ? 'Why' : '', sentence]),
  ]);
  if (attempts.length < 2) return;
  call.out.line();
  tellTable(
    call,
    attempts,
    {
      Attempt: ({ attempt }) => attempt,
      Status: (one) => one.status,
      Node: ({ node }) => node,
      Started: ({ started }) => timeText(started),
      Ended: ({ ended }) => timeText(ended),
      Reason: ({ reason }) => reason,
    },
    'Status',
  );
}
