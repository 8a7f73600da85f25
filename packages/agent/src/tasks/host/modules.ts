import type { Clock, Timer } from '@muster/base';
import type { RunTask, Task, TaskContext } from '@muster/plugin';
import { judgeOutcome, judgeThrown, loadModule, type OutcomeJudgement, progressOf } from '@muster/plugin/contract';
import type { ModuleSpec, RunOrder } from '../protocol.js';
import type { Run, RunEvents, TaskRunner, Verdict } from './attempt.js';

export interface ModuleSurroundings {
  readonly clock: Clock;
  readonly node: string;
  /** Bytes of memory that this process uses. */
  readonly memory: () => number;
  /** This process is to be replaced by a fresh one. */
  readonly retire: (reason: string) => void;
}

/** Looks at the memory of the process are this many tasks apart. */
const MEMORY_EVERY = 64;

/** Runs tasks of one module in this process. */
export class Modules implements TaskRunner {
  readonly #spec: ModuleSpec;
  readonly #around: ModuleSurroundings;
  readonly #loaded: Promise<RunTask>;
  /** Once it is there, tasks need not wait for a promise. */
  #run: RunTask | null = null;
  readonly #running = new Set<ModuleRun>();
  #count = 0;

  constructor(spec: ModuleSpec, around: ModuleSurroundings) {
    this.#spec = spec;
    this.#around = around;
    this.#loaded = loadModule(spec.file);
    this.#loaded.then(
      (run) => {
        this.#run = run;
      },
      // Told to the tasks that want it.
      () => undefined,
    );
  }

  begin(order: RunOrder, events: RunEvents): Run {
    const run = new ModuleRun(order, events, this.#around, () => this.#running.delete(run));
    this.#running.add(run);
    void run.go(this.#run ?? this.#loaded);
    // The next process may find it mended.
    if (this.#run === null) this.#loaded.catch((error: unknown) => this.#around.retire(String(error)));
    this.#recycle();
    return run;
  }

  #recycle(): void {
    this.#count += 1;
    const { runs, memory } = this.#spec;
    if (this.#count >= runs) return this.#around.retire(`it has run ${this.#count} tasks`);
    if (this.#count % MEMORY_EVERY !== 0) return;
    const used = this.#around.memory();
    if (used > memory) this.#around.retire(`it uses ${used} bytes of memory`);
  }

  leave(): void {
    // What the module has open goes with the process.
  }

  /** An error that nobody caught: what runs here cannot go on. */
  crash(error: unknown): void {
    const { stderr, reason } = judgeThrown(error);
    this.#around.retire(`an error that the plugin did not catch: ${reason}`);
    for (const run of this.#running) run.crash(`the worker process ended while it ran: ${reason}`, stderr);
  }
}

class ModuleRun implements Run {
  readonly #order: RunOrder;
  readonly #events: RunEvents;
  readonly #around: ModuleSurroundings;
  readonly #over: () => void;
  readonly #context: Context;
  #grace: Timer | null = null;

  constructor(order: RunOrder, events: RunEvents, around: ModuleSurroundings, over: () => void) {
    this.#order = order;
    this.#events = events;
    this.#around = around;
    this.#over = over;
    this.#context = new Context(events);
  }

  async go(loaded: RunTask | Promise<RunTask>): Promise<void> {
    this.#events.started();
    let judgement: OutcomeJudgement;
    try {
      const run = typeof loaded === 'function' ? loaded : await loaded;
      judgement = judgeOutcome(await run(taskOf(this.#order, this.#around.node), this.#context));
    } catch (error) {
      judgement = judgeThrown(error);
    }
    this.#grace?.cancel();
    this.#over();
    const killed = this.#context.aborted ? { forced: false } : null;
    const { status, retry, reason, stdout, stderr } = judgement;
    this.#events.ended({ status, retry, reason, exitCode: null, signal: null, stdout, stderr, killed });
  }

  kill(why: string): void {
    if (this.#context.aborted) return;
    this.#context.abort(why);
    this.#grace = this.#around.clock.after(this.#order.graceMs, () => {
      this.#around.retire(`task ${this.#order.task.id} does not end`);
      this.#events.stuck({ ...KILLED, reason: 'it did not end when it was asked to', killed: { forced: true } });
    });
  }

  crash(reason: string, stderr: string | null): void {
    this.#events.stuck({ ...KILLED, reason, stderr, killed: null });
  }
}

const KILLED = {
  status: 2,
  retry: false,
  exitCode: null,
  signal: null,
  stdout: null,
  stderr: null,
} satisfies Partial<Verdict>;

/** What a plugin is given besides its task; a signal is made for those that look at it only. */
class Context implements TaskContext {
  readonly #events: RunEvents;
  #controller: AbortController | null = null;
  #reason: Error | null = null;

  constructor(events: RunEvents) {
    this.#events = events;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== null) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  abort(why: string): void {
    this.#reason = new Error(why);
    this.#controller?.abort(this.#reason);
  }

  // Plugins take them out of this object: they need no `this`.
  readonly log: TaskContext['log'] = (line, stream = 'stdout') => {
    this.#events.write(stream, Buffer.from(`${line}\n`));
  };

  readonly progress: TaskContext['progress'] = (fraction, text = '') => {
    this.#events.progress(progressOf(fraction, text));
  };
}

function taskOf({ task, secrets }: RunOrder, node: string): Task {
  const { id, attempt, queue, params, ctime, mtime } = task;
  return { id, attempt, queue, node, params, ctime, mtime, ...(secrets && { secrets }) };
}
