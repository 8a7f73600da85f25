import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@muster/base';
import { ProgressLines, TaskFilesError, taskVariables } from '@muster/plugin/contract';
import { type Account, findAccount, mayBecome } from '../../execution/account.js';
import { commandEnvironment } from '../../execution/environment.js';
import { Mask } from '../../execution/mask.js';
import { limitFiles } from '../../execution/run-limits.js';
import { type Exit, LaunchError } from '../../execution/runner.js';
import type { Processes } from '../../execution/system-processes.js';
import { writeSecretFiles } from '../../files/secrets.js';
import { PLUGIN_LOG_BYTES } from '../../limits.js';
import type { ProgramPlugin } from '../plugins.js';
import type { RunOrder } from '../protocol.js';
import type { Run, RunEvents, TaskRunner, Verdict } from './attempt.js';
import { type Call, callOf, NotStarted } from './calls.js';
import { type WorkDir, WorkDirs } from './work-dirs.js';

export interface ProgramSurroundings {
  readonly clock: Clock;
  readonly node: string;
  readonly workDir: string;
  /** Begins the mark of every process that is started here; see process-tree.ts. */
  readonly mark: string;
  readonly processes: Processes;
  /** For tasks with limits: each in a control group of its own; or why there are none. */
  readonly limited: Processes | string;
  /** What a program writes past its task. */
  readonly log: (text: string) => void;
}

/** Of this process, which does not change it. Each look into `process.env` is a call of the C library. */
const OWN_ENVIRONMENT = { ...process.env };

/** Runs tasks as processes of their own, for plugins of all contracts but `module`. */
export class Programs implements TaskRunner {
  readonly #around: ProgramSurroundings;
  readonly #dirs: WorkDirs;
  #count = 0;

  constructor(around: ProgramSurroundings) {
    this.#around = around;
    this.#dirs = new WorkDirs(around.mark);
  }

  begin(order: RunOrder, events: RunEvents): Run {
    this.#count += 1;
    const run = new ProgramRun(
      order,
      order.plugin as ProgramPlugin,
      `${this.#around.mark}${this.#count}`,
      events,
      this.#around,
      this.#dirs,
    );
    void run.go();
    return run;
  }

  leave(): void {
    this.#dirs.removeSpare();
  }
}

class ProgramRun implements Run {
  readonly #order: RunOrder;
  readonly #plugin: ProgramPlugin;
  /** Marks its processes. */
  readonly #run: string;
  readonly #events: RunEvents;
  readonly #around: ProgramSurroundings;
  readonly #dirs: WorkDirs;
  #dir: WorkDir | null = null;
  #call: Call | null = null;
  #leader: number | null = null;
  #launching: Promise<void> = Promise.resolve();
  #killing: Promise<void> | null = null;
  #over = false;

  constructor(
    order: RunOrder,
    plugin: ProgramPlugin,
    run: string,
    events: RunEvents,
    around: ProgramSurroundings,
    dirs: WorkDirs,
  ) {
    this.#order = order;
    this.#plugin = plugin;
    this.#run = run;
    this.#events = events;
    this.#around = around;
    this.#dirs = dirs;
  }

  go(): Promise<void> {
    this.#launching = this.#launch().catch((error: unknown) => this.#conclude(notStarted(error, this.#order.task.id)));
    return this.#launching;
  }

  async #launch(): Promise<void> {
    const account = await accountOf(this.#plugin);
    const dir = this.#makeDirectory(account);
    this.#dir = dir;
    const { node, clock, log } = this.#around;
    const processes = this.#processes();
    const secretDir = await this.#bringSecrets(dir.path, account);
    const call = await callOf(this.#plugin, this.#order.task, { dir: dir.path, node, account });
    this.#call = call;
    const env = commandEnvironment({
      agent: OWN_ENVIRONMENT,
      account: account ?? (await processes.ownAccount()),
      configured: this.#plugin.environment,
      job: {},
      own: { values: taskVariables(this.#order.task, node, call.taskFile), file: [] },
      filePath: null,
      secretDir,
      run: this.#run,
    });
    if (this.#killing !== null) return;
    const progress = new ProgressLines();
    const values = Object.values(this.#order.secrets ?? {});
    const masks = { stdout: new Mask(values), stderr: new Mask(values) };
    // While nobody else can have put a link in its place.
    const input = call.stdin ? openSync(call.taskFile, 'r') : undefined;
    try {
      this.#dirs.handOver(dir);
      const command = await processes.launch(
        {
          run: this.#run,
          file: call.file,
          args: call.args,
          cwd: dir.path,
          env,
          account,
          capture: true,
          third: (data) => {
            for (const line of progress.read(data)) this.#events.progress(line);
          },
          ...(input !== undefined && { input }),
          ...(this.#plugin.limits !== null && { limits: limitFiles(this.#plugin.limits) }),
        },
        clock,
        (stream, data) => {
          if (call.ownOutput) this.#events.write(stream, data);
          else log(`task ${this.#order.task.id} ${stream}: ${this.#shown(masks[stream].write(data))}`);
        },
      );
      this.#leader = command.pid;
      this.#events.started();
      void command.ended.then((exit) => this.#exited(call, exit));
    } finally {
      if (input !== undefined) closeSync(input);
    }
  }

  #shown(data: Uint8Array): string {
    return Buffer.from(data.subarray(0, PLUGIN_LOG_BYTES)).toString();
  }

  /** They are files until the task has ended: then its directory goes with all that is in it. */
  async #bringSecrets(parent: string, account: Account | null): Promise<string | null> {
    const { secrets } = this.#order;
    if (secrets === undefined) return null;
    const directory = join(parent, SECRET_DIRECTORY);
    await writeSecretFiles(directory, new Map(Object.entries(secrets)), account);
    return directory;
  }

  /** A group for each task costs more than a short task does: only those have one that are to be limited. */
  #processes(): Processes {
    const { processes, limited } = this.#around;
    if (this.#plugin.limits === null) return processes;
    if (typeof limited !== 'string') return limited;
    throw new NotStarted(`the limits of its plugin cannot be kept on this node: ${limited}`);
  }

  #makeDirectory(account: Account | null): WorkDir {
    try {
      return this.#dirs.take(this.#plugin.tempDir ?? this.#around.workDir, account);
    } catch (error) {
      throw new NotStarted(`cannot make the working directory of the task: ${String(error)}`, { cause: error });
    }
  }

  async #exited(call: Call, exit: Exit): Promise<void> {
    if (this.#killing !== null) return;
    const { signal, lost } = exit;
    const verdict = lost === undefined ? await call.judge(exit) : { ...ENDED, signal, reason: lost };
    await this.#conclude({ ...verdict, killed: null });
  }

  kill(): void {
    if (!this.#over) this.#killing ??= this.#killTree();
  }

  async #killTree(): Promise<void> {
    await this.#launching;
    let forced = false;
    if (this.#leader !== null) {
      const processes = this.#processes();
      const run = { leader: this.#leader, marker: this.#run, group: processes.groupOf(this.#run) };
      await processes.killRun(run, this.#around.clock, this.#order.graceMs, undefined, () => {
        forced = true;
      });
    }
    await this.#conclude({ ...ENDED, signal: forced ? 'SIGKILL' : 'SIGTERM', killed: { forced } });
  }

  async #conclude(verdict: Verdict): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    await this.#clearUp();
    this.#events.ended(verdict);
  }

  async #clearUp(): Promise<void> {
    try {
      if (this.#dir !== null) await this.#dirs.giveBack(this.#dir, this.#call?.files ?? []);
    } catch (error) {
      this.#around.log(`the working directory of a task cannot be cleared up: ${String(error)}`);
    }
  }
}

/** In the working directory of the task. */
const SECRET_DIRECTORY = '.muster-secrets';

const ENDED = { status: 2, retry: false, reason: 'killed', exitCode: null, stdout: null, stderr: null } as const;

/** Null: as the agent. Throws NotStarted. */
async function accountOf({ user }: ProgramPlugin): Promise<Account | null> {
  if (user === null) return null;
  const account = await findAccount(user);
  if (account === null) throw new NotStarted(`user '${user}' does not exist on this node`);
  if (!mayBecome(account)) throw new NotStarted(`the agent may not run tasks as '${user}'`);
  return account;
}

function notStarted(error: unknown, task: string): Verdict {
  const known = [NotStarted, LaunchError, TaskFilesError].some((kind) => error instanceof kind);
  const reason = error instanceof Error && known ? error.message : `cannot run task ${task}: ${String(error)}`;
  const verdict = error instanceof NotStarted ? error.verdict : null;
  return { ...ENDED, signal: null, stderr: reason, ...verdict, reason: verdict?.reason ?? reason, killed: null };
}
