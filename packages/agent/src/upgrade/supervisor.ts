import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock, Timer } from '@muster/base';
import { dataDirError, makeDataDir } from '@muster/base';
import { VERSION } from '@muster/base/version';
import { MusterError } from '../errors.js';
import { CHILD_POLL_MS, STOP_COMMAND_MS, STOP_FLUSH_MS } from '../limits.js';
import type { AgentLog } from '../logging.js';
import { type HeldLock, livingOwner, notePid, takePidFile } from '../pid-file.js';
import { begin, type Effect, type Event, type State, type Step, step, type Version } from './machine.js';
import {
  changeIn,
  clearIncoming,
  dropChange,
  keepChange,
  keepCurrent,
  makePlaces,
  placesOf,
  readChange,
  readCurrent,
  removeVersions,
} from './records.js';
import { SUPERVISOR_VARIABLE, type ToAgent, type ToSupervisor } from './supervised.js';

export interface Supervision {
  readonly dataDir: string;
  /** Between TERM and KILL of the agent's commands, in milliseconds. */
  readonly graceMs: number;
  /** What starts the agent of the installed version, and the words that any version is started with. */
  readonly installed: { readonly file: string; readonly args: readonly string[] };
  readonly words: readonly string[];
}

export interface SupervisorSurroundings {
  readonly clock: Clock;
  readonly logger: AgentLog;
}

export interface RunningSupervisor {
  /** Resolves when the agent has ended for good, with the exit code of this process. */
  readonly ended: Promise<number>;
  /** The agent stops, and this with it. */
  stop(): void;
  /** Hands a signal to the agent. */
  signal(name: NodeJS.Signals): void;
}

/**
 * Starts the agent as a child, in the version that is to run, and watches over its upgrades. Not replaced itself by any of them: what
 * comes back after a failure must not depend on what failed.
 * Throws `data_dir_unusable`, `agent_running`.
 */
export async function superviseAgent(
  supervision: Supervision,
  around: SupervisorSurroundings,
): Promise<RunningSupervisor> {
  const { dataDir } = supervision;
  makeDataDir(dataDir, 0o711);
  try {
    await makePlaces(dataDir);
    const lock = await takePidFile(placesOf(dataDir).supervisor);
    if (lock === null) throw new MusterError('agent_running', { path: dataDir });
    const supervisor = new Supervisor(supervision, around, lock);
    await supervisor.begin();
    return supervisor;
  } catch (error) {
    throw dataDirError(dataDir, error);
  }
}

class Supervisor implements RunningSupervisor {
  readonly #supervision: Supervision;
  readonly #around: SupervisorSurroundings;
  readonly #lock: HeldLock;
  readonly ended: Promise<number>;
  #end: (code: number) => void = () => undefined;
  #state: State = { kind: 'stopping' };
  /** Events are handled one after the other, each with all that follows from it. */
  #work: Promise<void> = Promise.resolve();
  #child: ChildProcess | null = null;
  #timer: Timer | null = null;
  /** The question of the child that is answered next. */
  #question: number | null = null;

  constructor(supervision: Supervision, around: SupervisorSurroundings, lock: HeldLock) {
    this.#supervision = supervision;
    this.#around = around;
    this.#lock = lock;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async begin(): Promise<void> {
    const { dataDir } = this.#supervision;
    const [change, current] = [await readChange(dataDir), await readCurrent(dataDir)];
    await this.#endOrphan(change?.phase === 'tried');
    // Nobody is bringing a release any more.
    await this.#attempt(() => clearIncoming(dataDir));
    await this.#take(begin({ change, current, installed: VERSION }));
  }

  stop(): void {
    this.#happens({ type: 'stop' });
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /**
   * An agent whose supervisor was killed stops by itself. One that does not, and any that is on probation, is killed: two agents
   * must not run on one data directory.
   */
  async #endOrphan(atOnce: boolean): Promise<void> {
    const { clock, logger } = this.#around;
    const file = placesOf(this.#supervision.dataDir).child;
    const until = clock.monotonic() + (atOnce ? 0 : this.#stopMs);
    for (let killed = false; ; ) {
      const pid = await livingOwner(file);
      if (pid === null) return;
      if (!killed && clock.monotonic() >= until) {
        logger.warn({ pid }, 'the agent that was left behind is killed');
        this.#kill(pid);
        killed = true;
      }
      await new Promise<void>((resolve) => clock.after(CHILD_POLL_MS, resolve));
    }
  }

  #kill(pid: number): void {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // Gone meanwhile, as was wanted; the next look tells.
      this.#around.logger.debug({ err: error, pid }, 'the agent that was left behind cannot be killed');
    }
  }

  /** As long as an agent may take to stop as it should. */
  get #stopMs(): number {
    return this.#supervision.graceMs + STOP_COMMAND_MS + STOP_FLUSH_MS;
  }

  #happens(event: Event): void {
    this.#work = this.#work
      .then(() => this.#take(step(this.#state, event, VERSION)))
      .catch((error: unknown) => this.#around.logger.error({ err: error }, 'cannot watch over the agent'));
  }

  async #take({ state, effects }: Step): Promise<void> {
    this.#state = state;
    for (const effect of effects) {
      const answered = await this.#do(effect);
      if (answered !== null) await this.#take(step(this.#state, answered, VERSION));
    }
  }

  async #do(effect: Effect): Promise<Event | null> {
    const { dataDir } = this.#supervision;
    switch (effect.do) {
      case 'keep':
        return kept(() => keepChange(dataDir, effect.change));
      case 'settle':
        // In this order: with both on the disk the new version counts.
        return kept(async () => {
          await keepCurrent(dataDir, effect.current);
          await dropChange(dataDir);
        });
      case 'note':
        await this.#attempt(() => (effect.change === null ? dropChange(dataDir) : keepChange(dataDir, effect.change)));
        return null;
      case 'forget_current':
        await this.#attempt(() => keepCurrent(dataDir, null));
        return null;
      case 'clear':
        await this.#attempt(() => removeVersions(dataDir, new Set(effect.keep)));
        return null;
      case 'start':
        await this.#start(effect.version);
        return null;
      case 'ask_to_stop':
        this.#tell({ do: 'stop' });
        return null;
      case 'kill':
        this.#child?.kill('SIGKILL');
        return null;
      case 'arm':
        this.#arm(effect.afterMs === 'stop' ? this.#stopMs : effect.afterMs);
        return null;
      case 'disarm':
        this.#timer?.cancel();
        this.#timer = null;
        return null;
      case 'answer':
        if (this.#question !== null) this.#tell({ do: 'answer', id: this.#question, refused: effect.refused });
        this.#question = null;
        return null;
      case 'say':
        this.#around.logger[effect.level](effect.text);
        return null;
      case 'exit':
        await this.#lock.release();
        this.#end(effect.code);
        return null;
    }
  }

  #arm(afterMs: number): void {
    this.#timer?.cancel();
    const timer: Timer = this.#around.clock.after(afterMs, () => {
      // One that was replaced meanwhile means nothing any more.
      this.#work = this.#work.then(async () => {
        if (this.#timer === timer) await this.#take(step(this.#state, { type: 'late' }, VERSION));
      });
    });
    this.#timer = timer;
  }

  async #start(version: Version): Promise<void> {
    try {
      await this.#watch(this.#spawn(version));
    } catch (error) {
      // Of some reasons Node tells at once, of others with an event.
      this.#happens({ type: 'unstartable', reason: error instanceof Error ? error.message : String(error) });
    }
  }

  #spawn(version: Version): ChildProcess {
    const { dataDir, installed, words } = this.#supervision;
    const [file, ...args] =
      version === null
        ? [installed.file, ...installed.args, ...words]
        : [placesOf(dataDir).executable(version), ...words];
    // Of a session of its own, so that what a terminal sends comes once.
    return spawn(file ?? '', args, {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, [SUPERVISOR_VARIABLE]: String(process.pid) },
      detached: true,
    });
  }

  async #watch(child: ChildProcess): Promise<void> {
    this.#child = child;
    child.on('message', (message: unknown) => this.#asked(child, message));
    child.once('exit', (code, signal) => {
      if (this.#child === child) this.#child = null;
      this.#happens({ type: 'exited', code, signal });
    });
    child.on('error', (error) => {
      const { pid } = child;
      if (pid !== undefined) {
        this.#around.logger.debug({ err: error, pid }, 'the agent cannot be reached');
        return;
      }
      this.#child = null;
      this.#happens({ type: 'unstartable', reason: error.message });
    });
    const { pid } = child;
    if (pid !== undefined) await this.#attempt(() => notePid(placesOf(this.#supervision.dataDir).child, pid));
  }

  #asked(child: ChildProcess, message: unknown): void {
    const asked = message as ToSupervisor;
    const change = asked.do === 'switch' ? changeIn(asked.change) : null;
    if (asked.do !== 'settle' && change === null) return;
    this.#work = this.#work.then(() => {
      if (this.#child === child) this.#question = asked.id;
    });
    this.#happens(change === null ? { type: 'settle' } : { type: 'switch', change });
  }

  #tell(message: ToAgent): void {
    if (this.#child?.connected !== true) return;
    this.#child.send(message, (error) => {
      if (error !== null) this.#around.logger.debug({ err: error }, 'the agent does not listen');
    });
  }

  /** What fails here is found by the next start, which comes to the same. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#around.logger.error({ err: error }, 'what is known of an upgrade cannot be kept');
    }
  }
}

async function kept(work: () => Promise<void>): Promise<Event> {
  try {
    await work();
    return { type: 'kept' };
  } catch (error) {
    return { type: 'not_kept', reason: error instanceof Error ? error.message : String(error) };
  }
}
