import type { Write } from '@muster/store';
import type { NodeSlots } from '../assign/node-slots.js';
import type { TaskState } from '../machine.js';
import type { TaskProgress } from '../ports.js';
import type { ReadyTask } from '../queues/lane.js';
import type { LiveQueue } from '../queues/live-queue.js';
import { saveFirstClaim, saveSuccess, saveTask, type TaskStanding } from '../repository/writes.js';
import { isActive, STATUS } from '../status.js';

/** What is known of a run besides the state of its task. */
export type Ending = Pick<
  TaskStanding,
  'exit_code' | 'signal' | 'stdout' | 'stderr' | 'stdout_bytes' | 'stderr_bytes' | 'complete'
>;

export const NO_ENDING: Ending = {
  exit_code: null,
  signal: null,
  stdout: null,
  stderr: null,
  stdout_bytes: null,
  stderr_bytes: null,
  complete: null,
};

/** A task that a node has: it is in memory until it is stored that no node has it any more. */
export class LiveTask {
  readonly queue: LiveQueue;
  readonly ready: ReadyTask;
  state: TaskState;
  ending: Ending = NO_ENDING;
  mtime: number;
  /** Where it is; null once it has ended, and when its node is not there any more. */
  #slots: NodeSlots | null = null;
  /** Of the agent that it was given to. Another one that does not have it never had it, or lost it. */
  #incarnation: string | null = null;
  /** The order to run it has left. */
  sent = false;
  progress: TaskProgress | null = null;

  constructor(queue: LiveQueue, ready: ReadyTask, mtime: number) {
    this.queue = queue;
    this.ready = ready;
    this.state = ready.state;
    this.mtime = mtime;
  }

  get slots(): NodeSlots | null {
    return this.#slots;
  }

  get incarnation(): string | null {
    return this.#incarnation;
  }

  /** @param incarnation Of its agent, unless it is the present one. */
  giveTo(slots: NodeSlots, incarnation = slots.node.incarnation): void {
    slots.hold(this);
    this.#slots = slots;
    this.#incarnation = incarnation;
  }

  takeBack(): void {
    this.#slots?.release(this);
    this.#slots = null;
  }

  get id(): string {
    return this.ready.id;
  }

  get lane(): string {
    return this.ready.lane;
  }

  get ref(): { readonly id: string; readonly attempt: number } {
    return { id: this.ready.id, attempt: this.state.attempt };
  }
}

/** What stores a step of a task. `only`: nothing else of it waits to be stored, so that what this step leaves as it is stands there. */
export function stepWrite(task: LiveTask, before: TaskState, only: boolean): Write {
  const { id, state, mtime, ending, incarnation } = task;
  const { status, node, attempt, startedAt, endedAt } = state;
  if (only && status === STATUS.claimed && before.attempt === 0 && before.reason === null) {
    return saveFirstClaim({ id, status, node, incarnation, attempt, mtime });
  }
  if (only && status === STATUS.succeeded && isPlain(before, task)) {
    const { exit_code, stdout, stderr, complete } = ending;
    return saveSuccess({
      id,
      status,
      mtime,
      started_at: startedAt,
      ended_at: endedAt,
      exit_code,
      stdout,
      stderr,
      complete,
    });
  }
  return saveTask(standing(id, state, task));
}

/** A run that succeeded, of which there is nothing more to say. */
function isPlain(before: TaskState, { state, ending }: LiveTask): boolean {
  if (!isActive(before.status) || before.cancelling || before.reason !== null || state.reason !== null) return false;
  return ending.signal === null && ending.stdout_bytes === null && ending.stderr_bytes === null;
}

/** A task as it is stored. */
function standing(
  id: string,
  state: TaskState,
  { mtime, ending, incarnation }: Pick<LiveTask, 'mtime' | 'ending' | 'incarnation'>,
): TaskStanding {
  return {
    id,
    status: state.status,
    node: state.node,
    incarnation,
    attempt: state.attempt,
    failures: state.failures,
    orphanings: state.orphanings,
    not_before: state.notBefore,
    waits_for: state.waitsFor,
    cancelling: state.cancelling ? 1 : 0,
    reason: state.reason,
    mtime,
    started_at: state.startedAt,
    ended_at: state.endedAt,
    exit_code: ending.exit_code,
    signal: ending.signal,
    stdout: ending.stdout,
    stderr: ending.stderr,
    stdout_bytes: ending.stdout_bytes,
    stderr_bytes: ending.stderr_bytes,
    complete: ending.complete,
  };
}
