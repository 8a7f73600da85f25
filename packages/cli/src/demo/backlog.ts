import { writeFileSync } from 'node:fs';
import type { QueueInfo } from '../commands/queue/api.js';
import { hasEnded, type Task, type TaskDetail, type TaskPage } from '../commands/task/api.js';
import type { Call } from '../shell.js';
import { type DemoServer, until } from './fleet.js';
import type { DemoProcesses } from './processes.js';
import { FAILING_FILE, PLUGIN } from './thumbnail.js';
import { type DemoPlace, typed } from './typed.js';

const QUEUE = 'resize';
const TASKS = 20;
const FILE = 'pictures.jsonl';

/** What the queue and the task that was retried came to. */
export interface Backlog {
  readonly queue: QueueInfo;
  readonly retried: TaskDetail;
}

/** Twenty tasks that the five nodes work through, of which one fails and is run again. */
export async function showBacklog(
  call: Call<object>,
  processes: DemoProcesses,
  { client }: DemoServer,
  place: DemoPlace,
): Promise<Backlog> {
  const { out } = call;
  out.line();
  out.line(
    out.paint(`${TASKS} tasks, at most 8 at one time, on whichever nodes are free; one fails and is run again`, 'bold'),
  );
  writeFileSync(`${place.directory}/${FILE}`, pictures());
  const settings = ['--threads', '8', '--retries', '2', '--retry-first', '1s'];
  await typed(call, place, ['queue', 'create', QUEUE, '--plugin', PLUGIN, ...settings]);
  await typed(call, place, ['task', 'add', QUEUE, '--from', FILE]);
  const tasks = await until(processes, 'all tasks have ended', async () => {
    const found = await client.get<TaskPage>(client.inOrg('queues', QUEUE, 'tasks'), { limit: TASKS });
    const ended = found.tasks.filter(hasEnded).length;
    tellCount(call, ended);
    return ended === TASKS ? found.tasks : null;
  });
  out.line(`worked through by ${share(tasks)}`);
  await typed(call, place, ['queue', 'list']);
  await typed(call, place, ['task', 'list', `queue:${QUEUE} AND failures > 0`]);
  const [again] = tasks.filter(({ failures }) => failures > 0);
  if (again !== undefined) await typed(call, place, ['task', 'show', again.id]);
  return {
    queue: await client.get<QueueInfo>(client.inOrg('queues', QUEUE)),
    retried: await client.get<TaskDetail>(client.inOrg('tasks', again?.id ?? '')),
  };
}

/** All done, and the one that failed at its second attempt. */
export function backlogAsPlanned({ queue, retried }: Backlog): boolean {
  const { status, attempt, params } = retried;
  return queue.counts.succeeded === TASKS && status === 'succeeded' && attempt === 2 && params.file === FAILING_FILE;
}

/** The parameters of one task a line. */
function pictures(): string {
  const lines = Array.from({ length: TASKS }, (_, index) =>
    JSON.stringify({ file: `${String(index + 1).padStart(2, '0')}.png`, width: 200 }),
  );
  return `${lines.join('\n')}\n`;
}

/** `web1 5, web2 4 …` */
function share(tasks: readonly Task[]): string {
  const counts = new Map<string, number>();
  for (const { node } of tasks) counts.set(node ?? '-', (counts.get(node ?? '-') ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([node, count]) => `${node} (${count})`)
    .join(', ');
}

/** A line that counts up, on a terminal only. */
function tellCount({ world }: Call<object>, ended: number): void {
  if (world.stderr.isTTY !== true) return;
  world.stderr.write(`\r\u001b[2K${ended === TASKS ? '' : `${ended} of ${TASKS} tasks done`}`);
}
