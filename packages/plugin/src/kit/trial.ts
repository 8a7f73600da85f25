import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AssignedTask, Json, ProcessExit } from '@muster/wire';
import {
  limitReason,
  type Progress,
  prepareTaskDirectory,
  type StartFault,
  taskVariables,
  unableToStart,
  writeNewFile,
} from '../contract/index.js';
import { Captured } from './captured.js';
import { type ChildEnd, type ChildRequest, runChild, StartError } from './child.js';
import { nodeEnvironment } from './environment.js';
import { PROGRESS_KEPT } from './limits.js';

/** How a plugin is run. */
export type TriedPlugin =
  /** By task and response file; `nomongo` without a configuration. `program` is a full path. */
  | { readonly contract: 'default' | 'nomongo'; readonly program: string }
  /** With arguments, on request with the parameters on standard input too. `program` is a full path. */
  | {
      readonly contract: 'simple';
      readonly program: string;
      readonly args: readonly string[];
      readonly stdin?: boolean;
    }
  | { readonly contract: 'module'; readonly module: string }
  /** A class, and where it is looked for first. */
  | { readonly contract: 'perl'; readonly plugin: string; readonly lib: readonly string[] };

/** What it is run on. All but the parameters may be left out. */
export interface TriedTask {
  readonly params: { readonly [name: string]: Json };
  /** 24 hex digits, as are those of the queue; made up unless given. */
  readonly id?: string;
  readonly queueId?: string;
  /** Name of the queue: `trial` unless given. */
  readonly queue?: string;
  /** Which run it is: 1 unless given. */
  readonly attempt?: number;
  /** Milliseconds since the epoch: now unless given. */
  readonly ctime?: number;
  readonly mtime?: number;
  /** No limit unless given. */
  readonly timeoutSeconds?: number;
  /** Name of the node that the plugin is to think it runs on: this host's unless given. */
  readonly node?: string;
  /** What the node's owner gives every program. */
  readonly env?: Readonly<Record<string, string>>;
}

/** How a trial ended: what the task would show, and what it would not. */
export interface Trial extends ProcessExit {
  readonly status: number;
  /** It asks to be run again. */
  readonly retry: boolean;
  /** What was wrong, in a sentence; null when nothing was. */
  readonly reason: string | null;
  readonly stdout: string | null;
  readonly stderr: string | null;
  readonly progress: readonly Progress[];
  /** What its process printed that is not output of the task. */
  readonly printed: { readonly stdout: string | null; readonly stderr: string | null };
  readonly durationMs: number;
}

/** What is the same for every contract while one trial goes on. */
export class Workbench {
  readonly task: AssignedTask;
  readonly node: string;
  /** Of the files of the task, and of this attempt alone. */
  readonly files: string;
  readonly progress: Progress[] = [];
  readonly #env: Readonly<Record<string, string>>;
  readonly #cwd: string;
  #printed = { stdout: new Captured(), stderr: new Captured() };
  readonly #since = performance.now();

  private constructor(task: AssignedTask, { node = hostname(), env = {} }: TriedTask, files: string, cwd: string) {
    this.task = task;
    this.node = node;
    this.#env = env;
    this.files = files;
    this.#cwd = cwd;
  }

  /** Works at a bench of its own, which is gone afterwards. */
  static async use(task: AssignedTask, given: TriedTask, work: (bench: Workbench) => Promise<Trial>): Promise<Trial> {
    const dir = await mkdtemp(join(tmpdir(), 'muster-plugin-'));
    try {
      const [files, cwd] = [join(dir, 'task'), join(dir, 'work')];
      for (const made of [files, cwd]) await prepareTaskDirectory(made, null);
      return await work(new Workbench(task, given, files, cwd));
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }

  /** Writes a file beside those of the task. */
  file(name: string, value: unknown): string {
    const path = join(this.files, name);
    writeNewFile(path, JSON.stringify(value), null);
    return path;
  }

  /** Runs a program for the task. What it prints is not its output unless the contract says so. */
  run(
    request: Pick<ChildRequest, 'call' | 'channel'> & { readonly stdin?: string },
    taskFile: string | null,
  ): Promise<ChildEnd> {
    const { timeoutSeconds } = this.task;
    return runChild({
      stdin: null,
      ...request,
      cwd: this.#cwd,
      env: nodeEnvironment(process.env, this.#env, taskVariables(this.task, this.node, taskFile)),
      timeoutMs: timeoutSeconds === null ? null : timeoutSeconds * 1000,
      onOutput: (stream, piece) => this.#printed[stream].add(piece),
      onProgress: (progress) => this.tell(progress),
    });
  }

  tell(progress: Progress): void {
    this.progress.push(progress);
    if (this.progress.length > PROGRESS_KEPT) this.progress.shift();
  }

  /** What was printed so far, to be taken as output. */
  takePrinted(): { readonly stdout: string | null; readonly stderr: string | null } {
    const { stdout, stderr } = this.#printed;
    this.#printed = { stdout: new Captured(), stderr: new Captured() };
    return { stdout: stdout.text, stderr: stderr.text };
  }

  end(judged: Omit<Trial, 'retry' | 'progress' | 'printed' | 'durationMs'> & { readonly retry?: boolean }): Trial {
    return {
      retry: false,
      ...judged,
      progress: this.progress,
      printed: this.takePrinted(),
      durationMs: Math.round(performance.now() - this.#since),
    };
  }

  /** A run over whose time is over has failed, whatever it said. */
  endRun(end: ChildEnd, judged: Parameters<Workbench['end']>[0]): Trial {
    if (!end.timedOut) return this.end(judged);
    return this.end({
      ...judged,
      status: 2,
      retry: false,
      reason: limitReason((this.task.timeoutSeconds ?? 0) * 1000),
    });
  }

  /** For a reason that Disbatch has no text for. */
  notStarted(reason: string): Trial {
    return this.end({ status: 2, stdout: null, stderr: reason, reason, exitCode: null, signal: null });
  }

  unable(fault: StartFault): Trial {
    return this.end(unableToStart(fault, this.task.id));
  }
}

/** Does `work`; a program that could not be started ends the trial. */
export async function unlessUnable(bench: Workbench, work: () => Promise<Trial>): Promise<Trial> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) return bench.notStarted(error.message);
    throw error;
  }
}
