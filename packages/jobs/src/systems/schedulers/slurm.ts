import { posix } from 'node:path';
import type { Clock } from '@muster/base';
import { Failed } from '../../types.js';
import { Gathering } from '../gathering.js';
import {
  type Connection,
  type Launch,
  type RemoteJob,
  type RemoteState,
  type Scheduler,
  type Submitted,
  SystemTrouble,
} from '../types.js';
import { STARTED_BY, WRAPPER_FILES } from '../wrapper.js';
import { SlurmCommands, type SlurmRow, slurmName } from './slurm-commands.js';
import { meaningOf } from './slurm-states.js';
import { STOP } from './stop.js';
import { exitCodeOf, smallText } from './text.js';

/** Between two questions for all jobs of a system. */
const LOOK_PAUSE_MS = 2000;
const LOOKS_AT_ONCE = 500;
/** Nobody knows a job just after it was submitted, sometimes (sheet §3.3). */
const TRIES = 15;
const TRY_PAUSE_MS = 1000;
/** Slurm itself kills what a signal did not end, half a minute later by default. */
const KILL_TRIES = 120;

/** Submits to Slurm. A remote id is what Slurm calls the job. */
export class SlurmScheduler implements Scheduler {
  readonly #system: string;
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #commands: SlurmCommands;
  readonly #looks: Gathering<string, SlurmRow | null>;

  constructor(system: string, connection: Connection, clock: Clock) {
    this.#system = system;
    this.#connection = connection;
    this.#clock = clock;
    this.#commands = new SlurmCommands(system, connection);
    this.#looks = new Gathering({
      clock,
      pauseMs: LOOK_PAUSE_MS,
      most: LOOKS_AT_ONCE,
      ask: (ids) => this.#rows(ids),
    });
  }

  async submit(launch: Launch): Promise<Submitted> {
    const id = await this.#commands.sbatch(launch);
    if (id !== null) return submitted(id);
    const found = await this.find(launch);
    if (found !== null) return found;
    throw new Failed('JOB_LAUNCH_FAILURE', `sbatch on system ${this.#system} answered what is no job id`);
  }

  async find({ uuid, workDirectory }: Pick<Launch, 'uuid' | 'workDirectory'>): Promise<Submitted | null> {
    const starter = await this.#starter(workDirectory);
    if (starter !== null) return submitted(starter);
    const [id] = await this.#named(uuid);
    return id === undefined ? null : submitted(id);
  }

  async look({ workDirectory, remoteJobId }: RemoteJob): Promise<RemoteState> {
    for (let tries = 1; ; tries++) {
      const row = await this.#looks.ask(remoteJobId);
      const state = row === null ? null : this.#state(row);
      if (state !== null && state.state !== 'ended') return state;
      // Of two that were submitted for the job, the one that did not start is over at once.
      const starter = await this.#starter(workDirectory);
      if (starter !== null && starter !== remoteJobId)
        return this.look({ uuid: '', workDirectory, remoteJobId: starter });
      const code = await exitCodeOf(this.#connection.files, workDirectory);
      if (state !== null) return ended(state, code);
      if (code !== null) return { state: 'ended', code, condition: null, detail: '' };
      if (tries >= TRIES) return { state: 'lost' };
      await this.#pause();
    }
  }

  async kill({ uuid, workDirectory, remoteJobId }: Parameters<Scheduler['kill']>[0]): Promise<'ended' | 'unsure'> {
    const stop = await this.#connection.exec(['/bin/sh', '-c', STOP, 'muster', workDirectory]);
    const ended = stop.code === 0 ? 'ended' : 'unsure';
    const ids = new Set(await this.#named(uuid));
    for (const id of [remoteJobId, await this.#starter(workDirectory)]) if (id !== null) ids.add(id);
    if (ids.size === 0) return ended;
    await this.#commands.scancel([...ids]);
    for (let tries = 1; tries <= KILL_TRIES; tries++) {
      const rows = await Promise.all([...ids].map((id) => this.#looks.ask(id)));
      if (rows.every((row) => row === null || this.#state(row).state === 'ended')) return ended;
      await this.#pause();
    }
    return 'unsure';
  }

  /** From the controller, else from accounting. */
  async #rows(ids: readonly string[]): Promise<(SlurmRow | null)[]> {
    const wanted = [...new Set(ids)];
    const rows = new Map((await this.#commands.squeue({ ids: wanted })).map((row) => [row.id, row]));
    const missing = wanted.filter((id) => !rows.has(id));
    if (missing.length > 0) {
      for (const row of (await this.#commands.sacct({ ids: missing })) ?? []) rows.set(row.id, row);
    }
    return ids.map((id) => rows.get(id) ?? null);
  }

  /** What was submitted for a job, oldest first. */
  async #named(uuid: string): Promise<string[]> {
    const name = slurmName(uuid);
    const rows = await this.#commands.squeue({ name });
    const all = rows.length > 0 ? rows : ((await this.#commands.sacct({ name })) ?? []);
    return all.map(({ id }) => id).sort((one, other) => Number(one) - Number(other));
  }

  #state({ id, state, reason }: SlurmRow): Exclude<RemoteState, { state: 'lost' }> {
    const meaning = meaningOf(state);
    if (meaning === undefined) {
      const text = `Slurm on system ${this.#system} says of job ${id} what is not understood: ${state}`;
      throw new SystemTrouble(this.#system, 'TRANSMISSION_FAILURE', text);
    }
    if (typeof meaning === 'string') return { state: meaning };
    const detail = reason === '' || reason === 'None' ? state : `${state} (${reason})`;
    return { state: 'ended', code: null, condition: meaning.ended, detail };
  }

  /** The job of Slurm that started the program. */
  async #starter(workDirectory: string): Promise<string | null> {
    const { started } = WRAPPER_FILES;
    const by = await smallText(this.#connection.files, posix.join(workDirectory, started, STARTED_BY));
    return by !== null && /^[1-9]\d*$/.test(by) ? by : null;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(TRY_PAUSE_MS, resolve));
  }
}

function submitted(id: string): Submitted {
  return { remoteJobId: id, schedulerJobId: id };
}

/** One that says it ended by itself, and wrote no exit code, was ended: its memory, its node, its directory. */
function ended(state: Extract<RemoteState, { state: 'ended' }>, code: number | null): RemoteState {
  return { ...state, code, condition: state.condition ?? (code === null ? 'SCHEDULER_TERMINATED' : null) };
}
