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

/** Page by page: an answer may be short, or empty, and yet not the last. */
async function found(call: Call<ListOptions>): Promise<readonly Task[]> {
  const { queue, limit, order } = call.options;
  const [q] = call.args;
  const path = queue === undefined ? call.client.inOrg('tasks') : call.client.inOrg('queues', queue, 'tasks');
  const tasks: Task[] = [];
  for (let after: string | undefined; ; ) {
    const most = Math.min(PAGE_SIZE, limit - tasks.length);
    const page: TaskPage = await call.client.get(path, { q, order, limit: most, after });
    tasks.push(...page.tasks);
    if (page.next === null || tasks.length >= limit) return tasks;
    after = page.next;
  }
}
