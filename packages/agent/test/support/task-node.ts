import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@muster/base';
import type { AgentMessage, AssignedTask, Stream, TaskNews, TaskOrder, TaskRef, TaskReport } from '@muster/wire';
import { expect } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { systemProcesses } from '../../src/execution/system-processes.js';
import { HostPool } from '../../src/tasks/host-pool.js';
import { HostProcess } from '../../src/tasks/host-process.js';
import { attemptKey } from '../../src/tasks/key.js';
import { offerOf } from '../../src/tasks/plugins.js';
import { TaskSlot } from '../../src/tasks/task-slot.js';
import { silent } from './agent.js';

/** What a host process runs: only what was built can be run by Node. */
const MAIN = fileURLToPath(new URL('./tasks/host/main.js', import.meta.resolve('@muster/agent')));

const BODY_LIMIT = 65_536;

/** The tasks of an agent, with real host processes, and a server that stores what it is told. */
export class TaskNode {
  readonly slot: TaskSlot;
  readonly reports: TaskReport[] = [];
  readonly news: TaskNews[] = [];
  readonly output = new Map<string, Buffer>();
  /** Confirms what it is told: ends, and output. */
  storing = true;
  #open = true;
  readonly #grace: number;

  constructor(
    dir: string,
    tasks: Record<string, unknown>,
    { grace = 30, secrets = {} }: { grace?: number; secrets?: Readonly<Record<string, string>> } = {},
  ) {
    this.#grace = grace;
    const config = parseAgentConfig({ tasks });
    this.slot = new TaskSlot({
      secrets: async (_ref, names) => new Map(names.map((name) => [name, secrets[name] ?? ''])),
      clock: systemClock,
      logger: silent,
      link: { bodyLimit: BODY_LIMIT, readable: () => setImmediate(() => this.#take()) },
      hosts: (events) =>
        new HostPool(
          {
            dir,
            node: 'node1',
            build: 'test',
            main: MAIN,
            clock: systemClock,
            logger: silent,
            processes: systemProcesses(null),
          },
          events,
        ),
      offer: offerOf(config, 2),
      graceMs: () => this.#grace * 1000,
    });
  }

  static async start(
    dir: string,
    tasks: Record<string, unknown>,
    options: { grace?: number; storing?: boolean; secrets?: Readonly<Record<string, string>> } = {},
  ): Promise<TaskNode> {
    const node = new TaskNode(dir, tasks, options);
    node.storing = options.storing ?? true;
    await node.slot.begin();
    return node;
  }

  #take(): void {
    while (this.#open) {
      const message: AgentMessage | null = this.slot.take();
      if (message === null) return;
      const report = message as TaskReport;
      this.reports.push(report);
      if (report.type === 'task_news') this.#told(report.news);
      if (report.type === 'task_output') this.#wrote(report);
    }
  }

  #told(news: readonly TaskNews[]): void {
    this.news.push(...news);
    const settled = news.filter(({ event }) => event !== 'started' && event !== 'progress');
    if (this.storing && settled.length > 0) this.order({ settled });
  }

  #wrote({ id, attempt, stream, offset, data }: Extract<TaskReport, { type: 'task_output' }>): void {
    const key = `${attemptKey({ id, attempt })} ${stream}`;
    const before = this.output.get(key) ?? Buffer.alloc(0);
    // A repetition, a continuation, or a jump over what was dropped.
    this.output.set(key, Buffer.concat([before.subarray(0, offset), Buffer.from(data)]));
    if (!this.storing) return;
    this.slot.receive({ type: 'task_output_stored', id, attempt, stream, offset: offset + data.length });
  }

  outputOf(id: string, stream: Stream = 'stdout', attempt = 1): string {
    return this.output.get(`${attemptKey({ id, attempt })} ${stream}`)?.toString('latin1') ?? '';
  }

  order(order: Partial<Omit<Extract<TaskOrder, { type: 'task_orders' }>, 'type'>>): void {
    this.slot.receive({ type: 'task_orders', assign: [], settled: [], cancel: [], recall: [], ...order });
  }

  assign(id: string, plugin: string, params: AssignedTask['params'] = {}, more: Partial<AssignedTask> = {}): void {
    this.order({ assign: [task(id, plugin, params, more)] });
  }

  cancel(...refs: TaskRef[]): void {
    this.order({ cancel: refs });
  }

  eventsOf(id: string): string[] {
    return this.news.filter((news) => news.id === id).map(({ event }) => event);
  }

  /** Resolves with the first such word on this task. */
  async heard<E extends TaskNews['event']>(id: string, event: E): Promise<Extract<TaskNews, { event: E }>> {
    const find = () => this.news.find((news) => news.id === id && news.event === event);
    await expect.poll(find, { interval: 5 }).toBeDefined();
    return find() as Extract<TaskNews, { event: E }>;
  }

  /** The result, and with it all that was written, be it short and quick enough to come in it or not. */
  async result(id: string): Promise<Extract<TaskNews, { event: 'finished' }>['result']> {
    const { result } = await this.heard(id, 'finished');
    if (result.bytes === null) return result;
    return { ...result, stdout: this.outputOf(id) || null, stderr: this.outputOf(id, 'stderr') || null };
  }

  /** As an agent that is killed: nothing more is heard, and nothing is said to anybody. */
  vanish(): void {
    this.#open = false;
    this.slot.stop();
  }
}

export function task(
  id: string,
  plugin: string,
  params: AssignedTask['params'] = {},
  more: Partial<AssignedTask> = {},
): AssignedTask {
  return {
    id,
    attempt: 1,
    queue: { id: '5f0000000000000000000001', name: 'resize' },
    plugin,
    params,
    ctime: 1_700_000_000_000,
    mtime: 1_700_000_000_500,
    timeoutSeconds: null,
    outputLimit: 1_000_000,
    ...more,
  };
}

/** Ends the hosts of this directory, and what they had started. */
export async function endHosts(dir: string): Promise<void> {
  const hosts = join(dir, 'hosts');
  for (const name of await readdir(hosts).catch((): string[] => [])) {
    await new HostProcess(join(hosts, name), { clock: systemClock, processes: systemProcesses(null) }).clear(
      join(dir, 'work'),
    );
  }
}
