import type { Cluster } from './cluster.js';
import type { Exit, StartedProcess } from './started-process.js';
import { until } from './until.js';

/** It works. */
const UP = /"msg":"muster (worker|reader [a-z-]+) is up"/;
/** Exit code of one that could not start since its database or broker was away: whoever started it starts it again. */
const AWAY = 5;
/** What none of them ever logs, whatever breaks around it. */
const FAULTS =
  /ALOE_THREAD_UNCAUGHT_EXCEPTION|ALOE_TOO_MANY_RESTARTS|JOBS_WORKER_ZOMBIE_ERROR|JOBS_WORKER_PROCESSING_ERROR|JOBS_WORKER_INVALD_MSG_TYPE/;
/** On a machine that is busy, or while what it needs is away. */
const START_MS = 60_000;

/** `muster worker` and `muster reader` beside a server, each started again by whoever kills it. */
export class JobProcesses {
  readonly #cluster: Cluster;
  readonly #flags: readonly string[];
  readonly #now = new Map<string, StartedProcess>();
  readonly #all: StartedProcess[] = [];
  readonly #told = new Set<StartedProcess>();

  /** @param flags Where database and broker are. */
  constructor(cluster: Cluster, flags: readonly string[]) {
    this.#cluster = cluster;
    this.#flags = flags;
  }

  /** Starts `muster WORDS` under this name, again as long as what it needs is away, and waits until it works or was killed. */
  async start(name: string, ...words: readonly string[]): Promise<void> {
    for (;;) {
      const started = this.#launch(name, words);
      await until(`${name} to be up`, () => started.exit !== null || UP.test(started.log), START_MS);
      if (this.#now.get(name) !== started || this.#told.has(started) || !this.#wasAway(started)) return;
    }
  }

  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    const running = this.#now.get(name);
    if (running === undefined) throw new Error(`${name} was not started`);
    this.#told.add(running);
    return running.kill(signal);
  }

  /** In order, all at once: how each that was not killed before has ended. */
  async stop(): Promise<readonly (number | null)[]> {
    const running = [...this.#now].filter(([, { exit }]) => exit === null);
    return Promise.all(running.map(async ([name]) => (await this.kill(name, 'SIGTERM')).code));
  }

  /** That one ended by itself although it worked, or could not start for a reason of its own, or had a fault. */
  harm(): readonly string[] {
    return this.#all.flatMap((one) => {
      const { exit, log, what } = one;
      const ended = exit !== null && !this.#told.has(one) && !this.#wasAway(one);
      return [
        ...(ended ? [`${what} ended by itself (${exit.code ?? exit.signal}): ${log.slice(-4000)}`] : []),
        ...log.split('\n').filter((line) => FAULTS.test(line)),
      ];
    });
  }

  #wasAway({ exit, log }: StartedProcess): boolean {
    return exit?.code === AWAY && !UP.test(log);
  }

  #launch(name: string, words: readonly string[]): StartedProcess {
    // The settings of the command line are none of theirs.
    const started = this.#cluster.launch(name, [...words, ...this.#flags], { MUSTER_CONFIG: undefined });
    started.closeInput();
    this.#now.set(name, started);
    this.#all.push(started);
    return started;
  }
}
