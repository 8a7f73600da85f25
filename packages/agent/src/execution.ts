import { randomUUID } from 'node:crypto';
import type { Clock, CommandResult, Facts, Timer } from '@muster/wire';
import { runBuiltin } from './builtins.js';
import type { CommandPolicy } from './command-policy.js';
import { commandEnvironment } from './environment.js';
import type { Processes } from './host.js';
import { writeJobFile } from './job-file.js';
import { OUTPUT_DRAIN_MS } from './limits.js';
import { type HeldLock, takeLock } from './lock.js';
import type { AgentLog } from './logging.js';
import type { OutputBytes, PreparedJob } from './machine.js';
import { CommandOutput } from './output.js';
import { type CheckedCommand, checkCommand } from './prepare.js';
import type { Run } from './process-tree.js';
import { type Exit, LaunchError } from './runner.js';

/** Of this process, which does not change it. Each look into `process.env` is a call of the C library. */
const OWN_ENVIRONMENT = { ...process.env };

/** The node owner's settings a command runs under; read anew for every command. */
export interface ExecutionSettings {
  readonly policy: CommandPolicy;
  readonly nodeName: string;
  readonly fileDir: string;
  readonly graceMs: number;
  readonly overwritable: readonly string[] | undefined;
}

export interface ExecutionSurroundings {
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: AgentLog;
  readonly facts: () => Facts;
  readonly processes: Processes;
  /** Whether the server is there to take output. */
  readonly online: () => boolean;
}

/** Called once: the command has ended, or, when it was killed, its last process is gone. */
export type Ended = (result: CommandResult, bytes: OutputBytes | null) => void;

/** One run of one job's command. */
export class Execution {
  readonly job: PreparedJob;
  readonly output: CommandOutput;
  /** Marks the processes of this run, and of no other on this machine. */
  readonly run: string = randomUUID();
  readonly #settings: ExecutionSettings;
  readonly #around: ExecutionSurroundings;
  readonly #ended: Ended;
  #lock: HeldLock | null = null;
  #leader: number | null = null;
  #builtin: { cancel(): void } | null = null;
  #killing: Promise<void> | null = null;
  #launching: Promise<void> = Promise.resolve();
  /** The end must not be told before the time limit was. */
  #expiry: Promise<void> = Promise.resolve();
  /** The command ended by itself; only its output is still on the way. */
  #exited = false;
  #concluded = false;

  constructor(
    job: PreparedJob,
    outputLimit: number,
    settings: ExecutionSettings,
    around: ExecutionSurroundings,
    ended: Ended,
  ) {
    this.job = job;
    this.output = new CommandOutput(job.jobId, outputLimit, job.capture);
    this.#settings = settings;
    this.#around = around;
    this.#ended = ended;
  }

  start(): void {
    this.#launching = this.#launch().catch((error: unknown) => {
      if (!(error instanceof LaunchError)) this.#around.logger.error({ err: error }, 'cannot run the command');
      const reason = error instanceof Error ? error.message : String(error);
      return this.#finish({ exitCode: null, signal: null }, reason);
    });
  }

  async #launch(): Promise<void> {
    const { job } = this;
    const check = await checkCommand(this.#settings.policy, job.command, job.options);
    if ('refused' in check) throw new LaunchError(check.refused);
    const { plan } = check.passed;
    if (this.#killing !== null) return;
    if (plan.kind === 'builtin') {
      const { clock, random, facts } = this.#around;
      const write = (text: string) => this.output.write('stdout', Buffer.from(text));
      this.#builtin = runBuiltin(plan.builtin, { clock, random, facts, write }, (exitCode) => {
        void this.#finish({ exitCode, signal: null }, null);
      });
      return;
    }
    if (plan.lock !== null) {
      this.#lock = await takeLock(plan.lock);
      if (this.#lock === null) throw new LaunchError('locked');
    }
    const env = await this.#environment(check.passed);
    // Killed while it was being made ready: nothing has run.
    if (this.#killing !== null) return;
    const { clock } = this.#around;
    const command = await this.#around.processes.launch(
      {
        file: plan.file,
        args: plan.args,
        cwd: job.options.dir,
        env,
        account: check.passed.account,
        capture: job.capture,
      },
      clock,
      (stream, data) => this.output.write(stream, data),
    );
    this.#leader = command.pid;
    void command.ended.then((exit) => this.#finish(exit, null));
  }

  async #environment({ account, file }: CheckedCommand): Promise<Record<string, string>> {
    const { fileDir, nodeName, overwritable } = this.#settings;
    const filePath = file === null ? null : await writeJobFile(fileDir, file, account);
    return commandEnvironment({
      inherited: OWN_ENVIRONMENT,
      job: this.job.options.env ?? {},
      overwritable,
      account,
      nodeName,
      jobId: this.job.jobId,
      filePath,
      run: this.run,
    });
  }

  /** Kills the whole tree; `ended` is called when it is gone. Safe to repeat. */
  kill(): void {
    this.#killing ??= this.#killTree();
  }

  async #killTree(): Promise<void> {
    this.#builtin?.cancel();
    await this.#launching;
    this.#builtin?.cancel();
    const run: Run = { leader: this.#leader, marker: this.run };
    if (this.#builtin === null) {
      await this.#around.processes.killRun(run, this.#around.clock, this.#settings.graceMs);
    }
    this.output.end();
    await this.#expiry;
    await this.#conclude(result(this.job.jobId, { exitCode: null, signal: 'SIGTERM' }, 'killed'));
  }

  /**
   * The execution time limit: kills at once, and tells when the output up to now has reached the server, so that the
   * timed out result does not overtake it.
   */
  expire(told: (bytes: OutputBytes | null) => void): void {
    if (this.#exited) return;
    this.output.end();
    this.#expiry = this.#drain().then(() => told(this.output.bytes));
    this.kill();
  }

  async #finish(exit: Exit, reason: string | null): Promise<void> {
    if (this.#killing !== null) return;
    this.#exited = true;
    this.output.end();
    await this.#drain();
    if (this.#killing === null) await this.#conclude(result(this.job.jobId, exit, reason));
  }

  async #conclude(result: CommandResult): Promise<void> {
    if (this.#concluded) return;
    this.#concluded = true;
    await this.#lock?.release();
    this.#ended(result, this.output.bytes);
  }

  /**
   * Resolves when the server has all output, or when an online server stopped taking it. While the server is away
   * nothing could be told anyway, so there is nothing to give up for.
   */
  #drain(): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | null = null;
      const settle = (): void => {
        timer?.cancel();
        this.output.onProgress = () => undefined;
        resolve();
      };
      const wait = (): void => {
        timer?.cancel();
        timer = this.#around.clock.after(OUTPUT_DRAIN_MS, () => (this.#around.online() ? settle() : wait()));
      };
      const look = (): void => (this.output.drained ? settle() : wait());
      this.output.onProgress = look;
      look();
    });
  }
}

function result(jobId: string, { exitCode, signal }: Exit, reason: string | null): CommandResult {
  if (exitCode === 0 && reason === null) {
    return { jobId, outcome: 'succeeded', exitCode, signal: null, reason: null };
  }
  const why = reason ?? (signal === null ? `exit status ${exitCode}` : `killed by ${signal}`);
  return { jobId, outcome: 'failed', exitCode, signal, reason: why };
}
