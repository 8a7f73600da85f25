import { sizeText } from '@muster/base';
import type { NodeRegistry, NodeView } from '@muster/nodes';
import type { OutputKeeper, OutputSource } from '@muster/platform/output';
import type { LayerLog } from '@muster/platform/upkeep';
import type { TaskNews, TaskRef, TaskReport, TaskResult } from '@muster/wire';
import type { NodeSlots } from '../assign/node-slots.js';
import { outputOfAttempt } from '../output.js';
import { STATUS } from '../status.js';
import type { Book } from './book.js';
import { type Ending, type LiveTask, NO_ENDING } from './live-task.js';
import type { ProgressNews } from './progress.js';
import type { Turn } from './turn.js';

export interface ReportsDeps {
  readonly book: Book;
  readonly nodes: Pick<NodeRegistry, 'send'>;
  readonly outputs: OutputKeeper;
  readonly logger: LayerLog;
  readonly progress: ProgressNews;
  /** A node gets no more tasks of a plugin for so many milliseconds. */
  readonly broken: (slots: NodeSlots, plugin: string) => void;
}

type News = Extract<TaskReport, { type: 'task_news' }>;
type Inventory = Extract<TaskReport, { type: 'task_inventory' }>;
type Output = Extract<TaskReport, { type: 'task_output' }>;

/** What a run of a task wrote. */
export function outputOf({ id, attempt }: TaskRef): OutputSource {
  return outputOfAttempt(id, attempt);
}

/** What nodes say of the tasks that they have. */
export class Reports {
  readonly #deps: ReportsDeps;

  constructor(deps: ReportsDeps) {
    this.#deps = deps;
  }

  /** The present attempt, if this node has it: what others say of it changes nothing. */
  #find(slots: NodeSlots, { id, attempt }: TaskRef): LiveTask | undefined {
    const task = this.#deps.book.get(id);
    return task !== undefined && task.slots === slots && task.state.attempt === attempt ? task : undefined;
  }

  /** What the server knows it to have. */
  #held(slots: NodeSlots): LiveTask[] {
    return [...slots.held.keys()].flatMap((id) => this.#deps.book.get(id) ?? []);
  }

  news(slots: NodeSlots, { news }: News): void {
    void this.#deps.book.turn((turn) => {
      for (const one of news) {
        const task = this.#find(slots, one);
        if (task !== undefined) this.#happened(turn, slots, task, one);
        else this.#strange(turn, slots, one, one.event !== 'started' && one.event !== 'progress');
      }
    });
  }

  /**
   * An attempt that the node is not to have: it is ended, or forgotten. What the node keeps of one that has ended is all that
   * there is of it until that is stored: it is told to forget it then.
   */
  #strange(turn: Turn, slots: NodeSlots, ref: TaskRef, ended: boolean): void {
    if (this.#deps.book.isUnstored(ref.id)) return;
    const orders = turn.ordersFor(slots);
    (ended ? orders.settled : orders.cancel).push(refOf(ref));
  }

  #happened(turn: Turn, slots: NodeSlots, task: LiveTask, news: TaskNews): void {
    switch (news.event) {
      case 'started':
        turn.step(task, { type: 'started' });
        return;
      case 'progress':
        task.progress = { fraction: news.fraction, text: news.text };
        this.#deps.progress.told(task.id);
        return;
      case 'finished': {
        const { result } = news;
        const opened = slots.ended(
          task.queue.queue.plugin,
          result.status !== STATUS.succeeded,
          result.durationMs,
          turn.at,
        );
        if (opened) this.#deps.broken(slots, task.queue.queue.plugin);
        const limit = task.queue.queue.rules.outputLimit;
        turn.step(task, { type: 'finished', result: withLimitTold(result, limit) }, this.#finished(task, result));
        return;
      }
      case 'returned':
        turn.step(task, { type: 'returned', reason: news.reason });
        return;
      case 'cancelled':
        turn.step(task, { type: 'cancelled', forced: news.forced }, this.#cutOff(task, news.bytes));
        return;
      case 'lost':
        this.lose(turn, task, news.reason);
        return;
    }
  }

  #finished(task: LiveTask, result: TaskResult): Ending {
    const { outputs } = this.#deps;
    const of = outputOf(task.ref);
    if (result.bytes !== null) outputs.finish(of, { output: null, bytes: result.bytes });
    return {
      exit_code: result.exitCode,
      signal: result.signal,
      stdout: result.stdout,
      stderr: result.stderr,
      stdout_bytes: result.bytes?.stdout ?? null,
      stderr_bytes: result.bytes?.stderr ?? null,
      complete: 1,
    };
  }

  /** A run that did not come to an end of its own. */
  #cutOff(task: LiveTask, bytes: { readonly stdout: number; readonly stderr: number } | null): Ending {
    const { outputs } = this.#deps;
    const of = outputOf(task.ref);
    if (bytes !== null) outputs.finish(of, { output: null, bytes });
    const totals = outputs.totals(of);
    return {
      ...NO_ENDING,
      stdout_bytes: totals?.stdout ?? null,
      stderr_bytes: totals?.stderr ?? null,
      complete: totals === null || bytes !== null ? 1 : 0,
    };
  }

  output(slots: NodeSlots, { id, attempt, stream, offset, data }: Output): void {
    const { outputs, nodes } = this.#deps;
    const task = this.#find(slots, { id, attempt });
    if (task === undefined) {
      void this.#deps.book.turn((turn) => turn.ordersFor(slots).cancel.push({ id, attempt }));
      return;
    }
    const { node } = slots;
    outputs.take({ ...outputOf(task.ref), stream }, { offset, data }, (below) => {
      nodes.send(node.org.id, [node.name], { type: 'task_output_stored', id, attempt, stream, offset: below });
    });
  }

  /** Both sides say the same of what the node has, from here on. */
  inventory(slots: NodeSlots, { held }: Inventory): void {
    const listed = new Map(held.map((one) => [one.id, one]));
    void this.#deps.book.turn((turn) => {
      for (const one of held) {
        if (this.#find(slots, one) === undefined) this.#strange(turn, slots, one, one.state === 'ended');
      }
      for (const task of this.#held(slots)) {
        if (listed.get(task.id)?.attempt !== task.state.attempt) this.#missing(turn, slots, task);
        else if (task.state.cancelling) turn.ordersFor(slots).cancel.push(task.ref);
      }
    });
  }

  /**
   * The node does not have what it was given. An agent that still is the one that it was given to never got it: it would
   * know. Another one may have lost it while it ran.
   */
  #missing(turn: Turn, slots: NodeSlots, task: LiveTask): void {
    if (task.state.status === STATUS.claimed && task.incarnation === slots.node.incarnation) {
      // Nobody wants it any more, and it has not begun.
      if (task.state.cancelling) turn.step(task, { type: 'cancelled', forced: false });
      else if (task.sent) turn.ordersFor(slots).assign.push({ task, attempt: task.state.attempt });
      return;
    }
    this.lose(turn, task, `${slots.node.name} does not have it any more`);
  }

  /** Nobody can tell how it ends. */
  lose(turn: Turn, task: LiveTask, reason: string): void {
    turn.step(task, { type: 'lost', reason }, this.#cutOff(task, null));
  }

  /** The node is down: whatever it has is lost (T5). */
  down(slots: NodeSlots, node: NodeView): void {
    if (slots.held.size === 0) return;
    void this.#deps.book.turn((turn) => {
      for (const task of this.#held(slots)) this.lose(turn, task, `${node.name} is down: ${node.reason}`);
    });
  }
}

function refOf({ id, attempt }: TaskRef): TaskRef {
  return { id, attempt };
}

/** What was written beyond the limit was not kept: the task says so (decision T6). */
function withLimitTold(result: TaskResult, limit: number): TaskResult {
  const { bytes, reason } = result;
  if (bytes === null) return result;
  const cut = (['stdout', 'stderr'] as const).filter((stream) => bytes[stream] > limit);
  if (cut.length === 0) return result;
  const kept = cut.map((stream) => `${sizeText(limit)} of ${sizeText(bytes[stream])} of ${stream}`);
  const told = `output limit reached: kept ${kept.join(', ')}`;
  return { ...result, reason: reason === null ? told : `${reason}; ${told}` };
}
