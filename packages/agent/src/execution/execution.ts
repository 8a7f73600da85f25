import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '@muster/base';
import { type CommandOptions, type CommandResult, type Facts, SECRET_FILE, secretNames } from '@muster/wire';
import { openBeneath, PathRefused } from '../files/beneath.js';
import type { FilePolicy } from '../files/policy.js';
import { removeSecrets, secretDirectory, withSecretPaths, writeSecrets } from '../files/secrets.js';
import type { AgentLog } from '../logging.js';
import type { HeldLock } from '../pid-file.js';
import type { UpgradeEnd } from '../upgrade/end.js';
import { NO_UPGRADES, type UpgradePolicy } from '../upgrade/policy.js';
import { runBuiltin } from './builtins.js';
import type { ControlGroup } from './cgroup.js';
import type { CommandPolicy } from './command-policy.js';
import { commandEnvironment, type OwnVariables } from './environment.js';
import { writeJobFile } from './job-file.js';
import { takeLock } from './lock.js';
import { CommandOutput, type OutputBytes } from './output.js';
import { type CheckedCommand, checkJob } from './prepare.js';
import type { Run } from './process-tree.js';
import { type Exit, LaunchError } from './runner.js';
import type { Processes } from './system-processes.js';

/** Of this process, which does not change it. Each look into `process.env` is a call of the C library. */
const OWN_ENVIRONMENT = { ...process.env };

/** A command to run. */
export interface ExecutionRequest {
  readonly command: string;
  readonly options: CommandOptions;
  readonly own: OwnVariables;
  readonly capture: boolean;
  /** Most bytes kept of each stream of its output. */
  readonly outputLimit: number;
  /** Values of what `secretNames` of its options tells. */
  readonly secrets?: (names: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, string>>;
  /** Files that came with it; none when absent. */
  readonly files?: BroughtFiles;
  /** Replaces the agent by the version that the command asks for; absent where that cannot be asked. */
  readonly upgrade?: (version: string, signal: AbortSignal) => Promise<UpgradeEnd>;
}

/** Files of a job that are on this node, and not in their place. */
export interface BroughtFiles {
  /** Path of its script. */
  readonly script: string | null;
  place(): Promise<void>;
}

/** How it ended. */
export type Outcome = Omit<CommandResult, 'jobId'>;

/** The node owner's settings a command runs under; read anew for every command. */
export interface ExecutionSettings {
  readonly policy: CommandPolicy;
  readonly files: FilePolicy;
  /** To what the agent may be upgraded; null, or absent: to nothing. */
  readonly upgrades?: UpgradePolicy | null;
  readonly fileDir: string;
  readonly graceMs: number;
  /** Given to every command. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface ExecutionSurroundings {
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: AgentLog;
  readonly facts: () => Facts;
  readonly processes: Processes;
}

/**
 * Called once: the command has ended and its output is stored, or, when it was killed, its last process is gone. `bytes`
 * are those it wrote; null when they were not captured, or when the server has not stored what was kept of them.
 */
export type Ended = (outcome: Outcome, bytes: OutputBytes | null) => void;

/** One run of one command. Any number of them stand side by side and know nothing of each other. */
export class Execution {
  readonly #request: ExecutionRequest;
  readonly output: CommandOutput;
  /** Marks the processes of this run, and of no other on this machine. */
  readonly run: string = randomUUID();
  /** The control group they live in, where commands have one. */
  readonly group: ControlGroup | null;
  readonly #settings: ExecutionSettings;
  readonly #around: ExecutionSurroundings;
  readonly #ended: Ended;
  /** Where its secrets, and a file with secrets in it, are; null: it has none. */
  readonly #secretDir: string | null;
  /** Aborted when it is to be killed. */
  readonly #stop = new AbortController();
  #lock: HeldLock | null = null;
  #leader: number | null = null;
  #builtin: { cancel(): void } | null = null;
  #killing: Promise<void> | null = null;
  #launching: Promise<void> = Promise.resolve();
  /** The end must not be told before the time limit was. */
  #expiry: Promise<void> = Promise.resolve();
  #exited = false;
  #concluded = false;
  #abandoned = false;

  constructor(request: ExecutionRequest, settings: ExecutionSettings, around: ExecutionSurroundings, ended: Ended) {
    this.#request = request;
    this.output = new CommandOutput(request.outputLimit, request.capture);
    this.#settings = settings;
    this.#around = around;
    this.#ended = ended;
    this.#secretDir = secretNames(request.options).length === 0 ? null : secretDirectory(settings.fileDir, this.run);
    this.group = around.processes.groupOf(this.run);
  }

  start(): void {
    this.#launching = this.#launch().catch((error: unknown) => {
      const told = error instanceof LaunchError || error instanceof PathRefused;
      if (!told) this.#around.logger.error({ err: error }, 'cannot run the command');
      const reason = error instanceof Error ? error.message : String(error);
      return this.#finish({ exitCode: null, signal: null }, reason);
    });
  }

  async #launch(): Promise<void> {
    const { command: line, options, capture } = this.#request;
    const check = await checkJob(this.#settings, line, withSecretPaths(options, this.#secretDir ?? ''));
    if ('refused' in check) throw new LaunchError(check.refused);
    const { plan } = check.passed;
    if (this.#killing !== null) return;
    const { files } = this.#request;
    await files?.place();
    if (plan.kind === 'nothing' || plan.kind === 'fetch') {
      // Nothing runs that would have to be killed.
      this.#builtin = { cancel: () => undefined };
      if (plan.kind === 'fetch') await this.#fetch(plan.path);
      return this.#finish({ exitCode: 0, signal: null }, null);
    }
    if (plan.kind === 'upgrade') return this.#upgrade(plan.version);
    if (plan.kind === 'builtin') {
      const { clock, random, facts } = this.#around;
      const write = (text: string) => this.output.write('stdout', Buffer.from(text));
      this.#builtin = runBuiltin(plan.builtin, { clock, random, facts, write }, (exitCode) => {
        void this.#finish({ exitCode, signal: null }, null);
      });
      return;
    }
    const program = plan.kind === 'script' ? { file: files?.script ?? '', args: plan.args, lock: null } : plan;
    if (program.lock !== null) {
      this.#lock = await takeLock(program.lock);
      if (this.#lock === null) throw new LaunchError('locked');
    }
    const env = await this.#environment(check.passed);
    // Killed while it was being made ready: nothing has run.
    if (this.#killing !== null) return;
    const { clock } = this.#around;
    const command = await this.#around.processes.launch(
      {
        run: this.run,
        file: program.file,
        args: program.args,
        cwd: options.dir,
        env,
        account: check.passed.account,
        capture,
      },
      clock,
      (stream, data) => this.output.write(stream, data),
    );
    this.#leader = command.pid;
    void command.ended.then((exit) => this.#finish(exit, exit.lost ?? null));
  }

  /** What the agent does itself: nothing runs that would have to be killed. Its successor tells the end of one that was handed over. */
  async #upgrade(version: string): Promise<void> {
    this.#builtin = { cancel: () => undefined };
    const end = await this.#request.upgrade?.(version, this.#stop.signal);
    if (end === undefined) throw new LaunchError(NO_UPGRADES);
    if (end !== 'handed over') await this.#ending(end);
  }

  /** A file of the node as what the command writes. @throws PathRefused */
  async #fetch(path: string): Promise<void> {
    const place = this.#settings.files.fetch(path);
    if (place === null) throw new PathRefused(`'${path}' may not be fetched from this node`);
    const { handle } = await openBeneath(place, path);
    for await (const piece of handle.createReadStream()) {
      if (this.#killing !== null) break;
      this.output.write('stdout', piece as Buffer);
    }
  }

  async #environment({ account, file, variables }: CheckedCommand): Promise<Record<string, string>> {
    const { fileDir, environment } = this.#settings;
    const secretFile = this.#secretDir === null ? null : await this.#bringSecrets(this.#secretDir, account);
    const filePath = file === null ? secretFile : await writeJobFile(fileDir, file, account);
    return commandEnvironment({
      agent: this.#around.processes.elsewhere !== undefined ? null : OWN_ENVIRONMENT,
      account: account ?? (await this.#around.processes.ownAccount()),
      configured: environment,
      job: variables,
      own: this.#request.own,
      filePath,
      secretDir: this.#secretDir,
      run: this.run,
    });
  }

  /** They are on this node from now until the command has ended. Returns the path of its file, when that is among them. @throws LaunchError */
  async #bringSecrets(directory: string, account: CheckedCommand['account']): Promise<string | null> {
    const { options, secrets } = this.#request;
    try {
      const values = (await secrets?.(secretNames(options), this.#stop.signal)) ?? new Map<string, string>();
      const named = [...values];
      // Of the file the secrets in it are hidden, and nothing else.
      this.output.mask(named.filter(([name]) => name !== SECRET_FILE).map(([, value]) => value));
      const files = named.filter(([name]) => name === SECRET_FILE || Object.hasOwn(options.secrets ?? {}, name));
      await writeSecrets(this.#settings.fileDir, directory, new Map(files), account);
      return options.secretFile === undefined ? null : join(directory, SECRET_FILE);
    } catch (error) {
      throw new LaunchError(error instanceof Error ? error.message : String(error));
    }
  }

  /** Kills the whole tree; `ended` is called when it is gone. Its output is not waited for. Safe to repeat. */
  kill(): void {
    this.abandonOutput();
    this.#killing ??= this.#killTree();
  }

  /** The command ended by itself; only its output is still on the way. */
  get exited(): boolean {
    return this.#exited;
  }

  async #killTree(): Promise<void> {
    this.#stop.abort();
    this.#builtin?.cancel();
    await this.#launching;
    this.#builtin?.cancel();
    const run: Run = { leader: this.#leader, marker: this.run, group: this.group };
    if (this.#builtin === null) {
      await this.#around.processes.killRun(run, this.#around.clock, this.#settings.graceMs);
    }
    this.output.end();
    await this.#expiry;
    await this.#conclude(outcome({ exitCode: null, signal: 'SIGTERM' }, 'killed'));
  }

  /**
   * The execution time limit: kills at once, and tells when the output up to now has reached the server, so that the
   * timed out result does not overtake it.
   */
  expire(told: (bytes: OutputBytes | null) => void): void {
    if (this.#exited) return;
    this.output.end();
    this.#expiry = this.#drained().then(() => told(this.#storedBytes));
    this.#killing ??= this.#killTree();
  }

  #finish(exit: Exit, reason: string | null): Promise<void> {
    return this.#ending(outcome(exit, reason));
  }

  /** It has ended by itself: what it wrote is stored before that is told. */
  async #ending(outcome: Outcome): Promise<void> {
    if (this.#killing !== null) return;
    this.#exited = true;
    this.output.end();
    await this.#drained();
    if (this.#killing === null) await this.#conclude(outcome);
  }

  async #conclude(outcome: Outcome): Promise<void> {
    if (this.#concluded) return;
    this.#concluded = true;
    if (this.#secretDir !== null) await this.#forgetSecrets(this.#secretDir);
    await this.#lock?.release();
    this.#ended(outcome, this.#storedBytes);
  }

  /** A command that has ended is told so, whatever became of its files; those are swept later. */
  async #forgetSecrets(directory: string): Promise<void> {
    await removeSecrets(directory).catch((error: unknown) => {
      this.#around.logger.warn({ err: error, directory }, 'the secrets of a command cannot be removed');
    });
  }

  /** They tell the reader that what is missing was dropped for the limit, so they are told only when that is so. */
  get #storedBytes(): OutputBytes | null {
    return this.output.drained ? this.output.bytes : null;
  }

  /**
   * Resolves when the server has stored all output, however long it is away, or when nobody waits for that any more.
   * There is no time limit: an agent that still holds output, and a result that does not, would lose the one by telling
   * the other. Who does not want the output aborts the command.
   */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.output.drained && !this.#abandoned) return;
        this.output.onProgress = () => undefined;
        resolve();
      };
      this.output.onProgress = look;
      look();
    });
  }

  /** Nothing waits for the output any more: the end is told without what the server has not stored. */
  abandonOutput(): void {
    this.#abandoned = true;
    this.output.onProgress();
  }
}

function outcome({ exitCode, signal }: Exit, reason: string | null): Outcome {
  if (exitCode === 0 && reason === null) {
    return { outcome: 'succeeded', exitCode, signal: null, reason: null };
  }
  const why = reason ?? (signal === null ? `exit status ${exitCode}` : `killed by ${signal}`);
  return { outcome: 'failed', exitCode, signal, reason: why };
}
