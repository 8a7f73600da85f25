import type { Batch } from '@muster/store';
import type { Coverage } from '../kernel/coverage.js';
import { Violation } from '../kernel/violation.js';
import { keyOf, type Ledger } from './ledger.js';
import type { NodePlan } from './simulated-node.js';

/** What is stored of a task, as far as rules look at it. */
export interface StoredTask {
  readonly id: string;
  readonly queue: string;
  readonly status: number;
  readonly attempt: number;
  readonly node: string | null;
  readonly stdout: string | null;
  readonly notBefore: number | null;
  readonly waitsFor: number;
}

const active = (status: number): boolean => status === -1 || status === 0;

export interface CheckedWorld {
  readonly ledger: Ledger;
  readonly coverage: Coverage;
  readonly machines: readonly { readonly name: string; readonly plan: NodePlan }[];
  readonly report: (violation: Violation) => void;
}

/** The rules that hold after every commit. */
export class Checks {
  readonly tasks = new Map<string, StoredTask>();
  /** Queues by id: how many at one time. */
  readonly threads = new Map<string, number | null>();
  /** Ended tasks that a person wants to run again. */
  readonly retried = new Set<string>();
  /** Tasks by the ids of those that wait for them. */
  readonly #after = new Map<string, string[]>();
  readonly #succeeded = new Set<string>();
  readonly #world: CheckedWorld;

  constructor(world: CheckedWorld) {
    this.#world = world;
  }

  stored(batch: Batch): void {
    for (const { statement, rows } of batch) {
      if (statement.table === 'task_dependencies') for (const row of rows) this.#waits(row);
      if (statement.table === 'tasks') for (const row of rows) this.#row(row);
    }
    this.#limits();
  }

  #waits(row: Readonly<Record<string, unknown>>): void {
    const id = String(row.task_id);
    this.#after.set(id, [...(this.#after.get(id) ?? []), String(row.after_id)]);
  }

  /** How many of the tasks that it waits for have not succeeded. */
  waitsFor(id: string): number {
    return (this.#after.get(id) ?? []).filter((other) => this.tasks.get(other)?.status !== 1).length;
  }

  /** What a statement does not name stays as it is. */
  #row(row: Readonly<Record<string, unknown>>): void {
    const id = String(row.id);
    const before = this.tasks.get(id);
    const or = <T>(value: unknown, otherwise: T): T => (value === undefined ? otherwise : (value as T));
    const after: StoredTask = {
      id,
      queue: before?.queue ?? String(row.queue_id),
      status: Number(row.status),
      attempt: or(row.attempt, before?.attempt ?? 0),
      node: or(row.node, before?.node ?? null),
      stdout: or(row.stdout, before?.stdout ?? null),
      notBefore: or(row.not_before, before?.notBefore ?? null),
      waitsFor: or(row.waits_for, before?.waitsFor ?? 0),
    };
    this.tasks.set(id, after);
    if (after.status === 1) this.#succeeded.add(id);
    if (before !== undefined) this.#step(before, after);
    if (active(after.status) && !active(before?.status ?? -2)) this.#assigned(before, after);
  }

  /** What it waited for has come. A task that it waits for and that succeeded once may be wanted again meanwhile. */
  #assigned(before: StoredTask | undefined, after: StoredTask): void {
    const { report, coverage } = this.#world;
    if (before !== undefined && before.notBefore !== null) {
      report(new Violation('not before its time', `${keyOf(after)} waited until ${before.notBefore}`));
    }
    for (const other of this.#after.get(after.id) ?? []) {
      coverage.reach('a task that waited for others is assigned');
      if (!this.#succeeded.has(other)) {
        report(new Violation('after others', `${keyOf(after)} is assigned, and ${other} has not succeeded`));
      }
    }
  }

  #step(before: StoredTask, after: StoredTask): void {
    const { ledger, report, coverage } = this.#world;
    const key = keyOf(before);
    coverage.reach(`task: ${name(before.status)} to ${name(after.status)}`);
    const changed = after.status !== before.status || after.stdout !== before.stdout;
    // Of one that has ended it may still be counted how many others it would wait for.
    if (before.status > 0 && after.attempt === before.attempt && changed && !this.retried.delete(before.id)) {
      report(new Violation('what ended stays', `${key} was ${before.status}, and is ${after.status}`));
    }
    if (after.attempt > before.attempt + 1) {
      // Attempts between were never stored: nobody could be fenced by them.
      report(new Violation('each attempt is stored', `${before.id} from ${before.attempt} to ${after.attempt}`));
    }
    if (after.status > 0 && after.attempt === before.attempt && active(before.status)) {
      const real = ledger.statusOf(after);
      if (real !== after.status)
        report(new Violation('true results', `${key} is stored as ${after.status}, was ${real}`));
      if (after.stdout !== `${after.id} ${after.attempt}`)
        report(new Violation('true output', `${key}: ${after.stdout}`));
    }
    const ranOn = active(before.status) && !active(after.status) && ledger.statusOf(before) === null;
    if (ranOn) ledger.givenUp.add(key);
  }

  #limits(): void {
    const perQueue = new Map<string, number>();
    const perNode = new Map<string, number>();
    for (const { queue, status, node } of this.tasks.values()) {
      if (!active(status)) continue;
      perQueue.set(queue, (perQueue.get(queue) ?? 0) + 1);
      if (status === 0 && node !== null) perNode.set(node, (perNode.get(node) ?? 0) + 1);
    }
    for (const [queue, tasks] of perQueue) {
      const threads = this.threads.get(queue) ?? null;
      if (threads !== null && tasks > threads) {
        this.#world.report(new Violation('threads', `${tasks} tasks of a queue with ${threads}`));
      }
    }
    for (const machine of this.#world.machines) {
      const running = perNode.get(machine.name) ?? 0;
      if (running > machine.plan.max + this.#unknown(machine.name)) {
        this.#world.report(
          new Violation('max', `${running} tasks run on ${machine.name}, which runs ${machine.plan.max}`),
        );
      }
    }
  }

  /** Tasks that ended on the node, which the server has not heard yet. */
  #unknown(node: string): number {
    let ended = 0;
    for (const task of this.tasks.values()) {
      const over = task.status === 0 && task.node === node && !this.#world.ledger.isRunning(task);
      if (over) ended += 1;
    }
    return ended;
  }
}

export function name(status: number): string {
  if (status < -6) return 'held';
  const names: Readonly<Record<number, string>> = {
    [-6]: 'orphaned',
    [-5]: 'cancelled',
    [-4]: 'blocked',
    [-3]: 'terminated',
    [-2]: 'queued',
    [-1]: 'claimed',
    0: 'running',
    1: 'succeeded',
  };
  return names[status] ?? 'failed';
}
