import type { Command } from 'commander';
import { formatDuration } from '../../duration.js';
import { printable } from '../../printable.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { addShow as addShowOf, tellTable } from '../resource.js';
import { type QueueInfo, TASK_STATUSES } from './api.js';

export function addList(queue: Command, shell: Shell): void {
  const command = clientCommand(queue, {
    usage: 'list',
    summary: 'queues, what waits and runs in each, and why one stands still',
    examples: ['muster queue list', 'muster queue list --json'],
  });
  does<object>(command, shell, async (call) => {
    const queues = await call.client.get<QueueInfo[]>(call.client.inOrg('queues'));
    call.out.document(queues);
    const age = (time: string | null) =>
      time === null ? null : formatDuration((call.world.now() - Date.parse(time)) / 1000);
    tellTable(
      call,
      queues,
      {
        Queue: ({ name }) => name,
        State: ({ state }) => state,
        Plugin: ({ plugin }) => plugin,
        Threads: ({ threads }) => threads ?? 'all',
        Waiting: ({ counts }) => counts.queued + counts.blocked,
        Running: ({ counts }) => counts.claimed + counts.running,
        Succeeded: ({ counts }) => counts.succeeded,
        Failed: ({ counts }) => counts.failed,
        Orphaned: ({ counts }) => counts.orphaned,
        Held: ({ counts }) => counts.held,
        'Per minute': (one) => one.ended_last_minute,
        Oldest: (one) => age(one.oldest_waiting),
        Why: ({ why }) => why[0],
      },
      'State',
      { fit: true },
    );
    if (queues.length === 0) call.out.note('no queues yet: muster queue create NAME --plugin PLUGIN');
  });
}

export function addShow(queue: Command, shell: Shell): void {
  addShowOf<QueueInfo>(queue, shell, {
    usage: 'show <queue>',
    summary: 'a queue with its settings and its tasks by status',
    examples: ['muster queue show resize'],
    read: ({ client }, name) => client.get(client.inOrg('queues', name)),
    tell,
  });
}

export function addWhy(queue: Command, shell: Shell): void {
  addShowOf<{ readonly why: readonly string[] }>(queue, shell, {
    usage: 'why <queue>',
    summary: 'why a queue stands still, or that it does not',
    examples: ['muster queue why resize'],
    read: ({ client }, name) => client.get(client.inOrg('queues', name, 'why')),
    tell: ({ out }, { why }) => {
      if (why.length === 0) out.line('It moves, or nothing waits.');
      for (const sentence of why) out.line(printable(sentence));
    },
  });
}

/** What is the default is left out, but for what everybody asks about. */
export function tell(call: Call<object>, queue: QueueInfo): void {
  const { counts, key, rate, retry } = queue;
  const some = TASK_STATUSES.filter((status) => counts[status] > 0);
  const given = (title: string, value: string | null): [string, string][] => (value === null ? [] : [[title, value]]);
  call.out.fields([
    ['Queue', queue.name],
    ['Id', queue.id],
    ['State', queue.state],
    ['Plugin', queue.plugin],
    ['Threads', queue.threads === null ? 'no limit' : String(queue.threads)],
    ['Order', queue.sort],
    ...given('Nodes', queue.nodes),
    ...given('Ignored nodes', queue.ignore_nodes),
    ...given('Weight', queue.weight === 1 ? null : String(queue.weight)),
    ...given('Key', key && `params.${key.param}, at most ${key.limit} at one time`),
    ...given('Rate', rate && `at most ${rate.tasks} in ${formatDuration(rate.seconds)}`),
    ...given('Retries', retry.limit === 0 ? null : retryText(retry)),
    ...given('Orphans', queue.orphan_retries === 0 ? null : `queued again, ${queue.orphan_retries} times`),
    ...given(
      'Secrets',
      queue.secrets === null
        ? null
        : Object.entries(queue.secrets)
            .map(([name, secret]) => (name === secret ? name : `${name}=${secret}`))
            .join(', '),
    ),
    ...given('Time limit', queue.timeout === null ? null : formatDuration(queue.timeout)),
    ...given('Kept', queue.keep === null ? null : keepText(queue.keep)),
    ...given('Writers', queue.writers.join(', ') || null),
    ...given('Readers', queue.readers.join(', ') || null),
    ['Created', timeText(queue.created_at)],
    ['Tasks', some.map((status) => `${counts[status]} ${status}`).join(', ') || 'none'],
    ['Ended', `${queue.ended_last_minute} in the last minute`],
    ...given('Oldest', queue.oldest_waiting === null ? null : timeText(queue.oldest_waiting)),
    ...queue.why.map((sentence, index): [string, string] => [index === 0 ? 'Why' : '', sentence]),
  ]);
}

function retryText({ limit, first, longest }: QueueInfo['retry']): string {
  return `${limit}, after ${formatDuration(first)}, each time twice as long up to ${formatDuration(longest)}`;
}

function keepText(seconds: number): string {
  return seconds === 0 ? 'for ever' : `${formatDuration(seconds)} after they ended`;
}
