import { type Command, Option } from 'commander';
import { PAGE_SIZE } from '../../limits.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { count } from '../queue/settings.js';
import { tellTable } from '../resource.js';
import type { Task, TaskPage } from './api.js';

interface ListOptions {
  readonly queue?: string;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

export function addList(task: Command, shell: Shell): void {
  const command = clientCommand(task, {
    usage: 'list [selector]',
    summary:
      'tasks that a selector finds, newest first; it speaks of queue, status, node, requester, params.NAME and more',
    examples: [
      'muster task list --queue resize',
      "muster task list 'queue:resize AND status:failed AND params.width > 100' --limit 50",
      "muster task list 'status:running AND node:web*' --json",
    ],
  });
  command
    .option('--queue <queue>', 'only of this queue; its own readers may ask for no others')
    .option('--limit <n>', 'at most this many', count('--limit', 1), 20)
    .addOption(new Option('--order <order>', 'asc: oldest first').choices(['asc', 'desc']).default('desc'));
  does<ListOptions>(command, shell, async (call) => {
    const tasks = await found(call);
    call.out.document(tasks);
    tellTable(
      call,
      tasks,
      {
        Task: ({ id }) => id,
        Queue: ({ queue }) => queue,
        Status: ({ status }) => status,
        Node: ({ node }) => node,
        Attempt: ({ attempt }) => attempt,
        Changed: ({ mtime }) => timeText(mtime),
        Parameters: ({ params }) => JSON.stringify(params),
      },
      'Status',
      { fit: true },
    );
  });
}

async function found(call: Call<ListOptions>): Promise<readonly Task[]> {
  const { queue, limit, order } = call.options;
  const [q] = call.args;
  const tasks: Task[] = [];
  for await (const task of everyTask(call, { q, order, queue, most: limit })) tasks.push(task);
  return tasks;
}

export interface Wanted {
  readonly q?: string | undefined;
  readonly queue?: string | undefined;
  readonly order: string;
  /** All when absent. */
  readonly most?: number;
}

/** Page by page: an answer may be short, or empty, and yet not the last. */
export async function* everyTask(
  { client }: Call<object>,
  { q, queue, order, most = Infinity }: Wanted,
): AsyncGenerator<Task> {
  const path = queue === undefined ? client.inOrg('tasks') : client.inOrg('queues', queue, 'tasks');
  let count = 0;
  for (let after: string | undefined; ; ) {
    const page: TaskPage = await client.get(path, { q, order, limit: Math.min(PAGE_SIZE, most - count), after });
    yield* page.tasks;
    count += page.tasks.length;
    if (page.next === null || count >= most) return;
    after = page.next;
  }
}
