import { posix } from 'node:path';
import type { Clock } from '@muster/base';
import { commandLine } from '@muster/platform/ssh';
import { Failed } from '../../types.js';
import { Gathering } from '../gathering.js';
import { SYSTEM_LIMITS } from '../limits.js';
import {
  type Connection,
  type ExecResult,
  type Launch,
  type RemoteJob,
  type RemoteState,
  type Scheduler,
  type Submitted,
  SystemTrouble,
} from '../types.js';
import { STARTED_BY, STOPPED, WRAPPER_FILES } from '../wrapper.js';
import { KILL, LAUNCH, LOOK } from './fork-scripts.js';
import { launchTrouble, shown, smallText } from './text.js';

/** Between two looks at all jobs of a system. */
const LOOK_PAUSE_MS = 500;
/** Tenths of a second until what a signal did not end is killed. */
const GRACE_TENTHS = 30;
const NAME = /^([1-9]\d*):(\d+):([\da-f-]+)$/;

/** Starts programs as processes, without a batch scheduler. A remote id is `PID:TICKS:BOOT`: one process, and never another. */
export class ForkScheduler implements Scheduler {
  /** Where a directory can be watched; a program that ended wrote its exit code there. */
  readonly follow?: NonNullable<Scheduler['follow']>;
  readonly #system: string;
  readonly #connection: Connection;
  readonly #looks: Gathering<RemoteJob, RemoteState>;

  constructor(system: string, connection: Connection, clock: Clock) {
    this.#system = system;
    this.#connection = connection;
    const { watch } = connection;
    if (watch !== undefined) this.follow = ({ workDirectory }, changed) => watch(workDirectory, changed);
    this.#looks = new Gathering({
      clock,
      pauseMs: LOOK_PAUSE_MS,
      most: SYSTEM_LIMITS.looks,
      ask: (jobs) => this.#look(jobs),
    });
  }

  async submit(launch: Launch): Promise<Submitted> {
    const { script, uuid, workDirectory, stdout, stderr } = launch;
    const result = await this.#run(LAUNCH, [
      script,
      uuid,
      posix.join(workDirectory, stdout),
      posix.join(workDirectory, stderr),
    ]);
    if (result.code !== 0) throw launchTrouble(this.#system, 'starting the program', result);
    const [name] = answers(result);
    if (name !== undefined && NAME.test(name)) return { remoteJobId: name };
    if (name === STOPPED) throw new Failed('JOB_LAUNCH_FAILURE', 'the job was stopped before it was started');
    const found = await this.find(launch);
    if (found !== null) return found;
    throw this.#notUnderstood('a start', result);
  }

  async find({ workDirectory }: Launch): Promise<Submitted | null> {
    const name = await smallText(this.#connection.files, posix.join(workDirectory, WRAPPER_FILES.started, STARTED_BY));
    return name !== null && NAME.test(name) ? { remoteJobId: name } : null;
  }

  look(job: RemoteJob): Promise<RemoteState> {
    return this.#looks.ask(job);
  }

  async kill({ uuid, workDirectory }: Parameters<Scheduler['kill']>[0]): Promise<'ended' | 'unsure'> {
    const result = await this.#run(KILL, [workDirectory, uuid, String(GRACE_TENTHS)]);
    const [answer] = answers(result);
    if (answer === 'ended' || answer === 'unsure') return answer;
    throw this.#notUnderstood('a kill', result);
  }

  async #look(jobs: readonly RemoteJob[]): Promise<readonly RemoteState[]> {
    const states: RemoteState[] = [];
    for (const some of linesOf(jobs)) {
      const result = await this.#run(LOOK, some.flat());
      const told = answers(result);
      if (told.length !== some.length) throw this.#notUnderstood('a look', result);
      for (const answer of told) states.push(this.#state(answer, result));
    }
    return states;
  }

  #state(answer: string, result: ExecResult): RemoteState {
    if (answer === 'running' || answer === 'lost') return { state: answer };
    const code = /^ended (\d{1,3})$/.exec(answer)?.[1];
    if (code === undefined) throw this.#notUnderstood('a look', result);
    return { state: 'ended', code: Number(code), condition: null, detail: '' };
  }

  #run(text: string, words: readonly string[]): Promise<ExecResult> {
    return this.#connection.exec(['/bin/sh', '-c', text, 'muster', ...words]);
  }

  #notUnderstood(what: string, { code, stdout, stderr }: ExecResult): SystemTrouble {
    const said = shown(`${stdout}\n${stderr}`);
    return new SystemTrouble(
      this.#system,
      'TRANSMISSION_FAILURE',
      `system ${this.#system} answered to ${what} what is not understood (${code}): ${said}`,
    );
  }
}

function answers({ stdout }: ExecResult): string[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('muster:'))
    .map((line) => line.slice('muster:'.length));
}

/** The words for each job, as many jobs at once as a line holds. */
function linesOf(jobs: readonly RemoteJob[]): string[][][] {
  const lines: string[][][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const { workDirectory, remoteJobId } of jobs) {
    const [, pid, ticks, boot] = NAME.exec(remoteJobId) ?? ['', '0', '0', '-'];
    const words = [workDirectory, pid ?? '', ticks ?? '', boot ?? ''];
    const length = Buffer.byteLength(commandLine(words)) + 1;
    if (bytes + length > SYSTEM_LIMITS.line) {
      lines.push([]);
      bytes = 0;
    }
    lines.at(-1)?.push(words);
    bytes += length;
  }
  return lines;
}
