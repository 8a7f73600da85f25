import type { Readable } from 'node:stream';
import { SSH_PORT, type SshSecret } from '@muster/platform/ssh';

export { SSH_PORT };

export type SystemType = 'local' | 'ssh' | 'agent' | 'tasks';
export type SchedulerType = 'fork' | 'slurm' | 'tasks';

/** A batch queue of a system; 0 or absent: no limit (sheet §1.3, §6.9). */
export interface BatchQueue {
  readonly name: string;
  readonly default?: boolean;
  readonly maxJobs?: number;
  readonly maxUserJobs?: number;
  readonly maxNodes?: number;
  readonly maxProcessorsPerNode?: number;
  readonly maxMemoryMb?: number;
  readonly maxSeconds?: number;
  /** Lines for the head of the batch script, each as it is. */
  readonly directives?: readonly string[];
}

/** A system on which jobs run, or on which files are kept, or both. */
export interface System {
  readonly id: string;
  readonly uuid: string;
  readonly orgId: string;
  readonly name: string;
  readonly type: SystemType;
  readonly scheduler: SchedulerType;
  /** Absolute: paths of users are below it. */
  readonly root: string;
  /** Below `root`: where jobs work. */
  readonly scratch: string;
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  /** SHA-256 of the host's key, base64; a host with another one is refused. */
  readonly hostKey?: string;
  /** Of type agent: the node whose agent reaches it. */
  readonly node?: string;
  /** Of type tasks: the queue that runs its jobs. */
  readonly queue?: string;
  readonly queues: readonly BatchQueue[];
  /** Variables of the commands that Muster runs there, such as the PATH of its scheduler. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly maxJobs?: number;
  readonly maxJobsPerUser?: number;
  readonly enabled: boolean;
  /** Where jobs run that name none, and archive to. */
  readonly default: boolean;
  readonly owner: string;
}

export interface FileEntry {
  /** Relative to what was asked for; no `.` entry. */
  readonly path: string;
  readonly name: string;
  readonly type: 'file' | 'dir' | 'link' | 'other';
  /** Bytes. */
  readonly length: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** The nine permission bits. */
  readonly mode: number;
}

/** Files of a system, by absolute path there. Throws `SystemTrouble` when the system is the cause, `FileTrouble` when the path is. */
export interface Files {
  /** Of what a link leads to. null: there is nothing. */
  stat(path: string): Promise<FileEntry | null>;
  /** In the order of names; a link is told as one. null: there is no such directory. Bounded by `limit`. */
  list(path: string, page: { readonly limit: number; readonly offset: number }): Promise<readonly FileEntry[] | null>;
  /**
   * Bytes from `start` to `end`, which is not included. What fails later is an error of the stream, one of the two.
   * @throws FileTrouble NOT_FOUND
   */
  read(path: string, range?: { readonly start?: number; readonly end?: number }): Promise<Readable>;
  /**
   * Whole or not at all: written beside, then renamed. With `size`, what is there already of an earlier attempt is kept:
   * `source` is asked for what is missing, and a result of another size is an error. Answers its size. The directory must
   * be there.
   */
  write(
    path: string,
    source: (from: number) => Readable | Promise<Readable>,
    options: { readonly mode?: number; readonly size?: number; readonly signal?: AbortSignal },
  ): Promise<number>;
  /** With those above it. One that is there is fine. */
  makeDirectory(path: string, mode?: number): Promise<void>;
  /** With what is in it; what a link leads to stays. What is not there is fine. */
  remove(path: string): Promise<void>;
}

/** Why a path is not what was hoped for: trying again does not help. */
export type FileProblem =
  | 'NOT_FOUND'
  | 'NOT_PERMITTED'
  | 'NOT_A_DIRECTORY'
  /** A directory, a pipe, a device. */
  | 'NOT_A_FILE'
  | 'NAME_TOO_LONG'
  /** More or fewer bytes came than were announced. */
  | 'WRONG_SIZE'
  | 'INVALID_PATH';

export class FileTrouble extends Error {
  override readonly name = 'FileTrouble';
  readonly problem: FileProblem;
  readonly path: string;

  constructor(path: string, problem: FileProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.path = path;
    this.problem = problem;
  }
}

export interface ExecResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** An open way to a system, shared by all its jobs of a process. */
export interface Connection {
  readonly files: Files;
  /**
   * Runs a program, never a text of somebody. Bounded in time and output; ended, with its children, when `signal` aborts.
   * A program that is not there has the code 127, as in a shell.
   * @throws SystemTrouble when it could not be run, or did not end in time.
   */
  exec(
    argv: readonly [string, ...string[]],
    options?: {
      readonly input?: string;
      readonly timeoutMs?: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<ExecResult>;
  /** Told when something in a directory changes, where that is possible. Returns how to stop. */
  watch?(directory: string, changed: () => void): () => void;
}

/** Why a system did not do what was asked; recovery knows the conditions (sheet §7.1). */
export type TroubleKind =
  | 'SYSTEM_NOT_AVAILABLE'
  | 'CONNECTION_FAILURE'
  | 'CONNECTION_TIMEOUT'
  | 'AUTHENTICATION_FAILED'
  | 'HOST_KEY_CHANGED'
  | 'TRANSMISSION_FAILURE'
  | 'DISK_FULL'
  | 'SCHEDULER_BUSY';

export class SystemTrouble extends Error {
  override readonly name = 'SystemTrouble';
  readonly kind: TroubleKind;
  readonly system: string;

  constructor(system: string, kind: TroubleKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.system = system;
    this.kind = kind;
  }
}

/** What is to be run, put together by the phases. */
export interface Launch {
  /** Of the job: what the scheduler knows it by. */
  readonly uuid: string;
  readonly name: string;
  /** Absolute, there. It holds the wrapper script. */
  readonly workDirectory: string;
  /** Absolute path of the wrapper script, see `WRAPPER_FILES` in wrapper.ts. */
  readonly script: string;
  /** Relative to the work directory. */
  readonly stdout: string;
  readonly stderr: string;
  readonly queue: BatchQueue | null;
  readonly nodeCount: number;
  readonly processorsPerNode: number;
  readonly memoryMb: number;
  readonly maxSeconds: number;
}

/** A job, as schedulers know it. */
export interface RemoteJob extends Submitted {
  readonly uuid: string;
  readonly workDirectory: string;
}

/** How a program that was submitted stands. `lost`: the scheduler knows nothing of it, and no end was written. */
export type RemoteState =
  | { readonly state: 'queued' }
  | { readonly state: 'running' }
  | {
      readonly state: 'ended';
      readonly code: number | null;
      /** Null: its program ended by itself. Else such as SCHEDULER_TIMEOUT (sheet §2.7). */
      readonly condition: string | null;
      /** As the scheduler says it. */
      readonly detail: string;
    }
  | { readonly state: 'lost' };

export interface Submitted {
  readonly remoteJobId: string;
  readonly schedulerJobId?: string;
}

/**
 * What runs programs on a system. A job's program is started at most once, whatever is called how often: the wrapper
 * takes a mark in the work directory before it does anything.
 */
export interface Scheduler {
  /** @throws SystemTrouble; Failed when the scheduler refuses it for good. */
  submit(launch: Launch): Promise<Submitted>;
  /** Whether one was submitted before, by somebody who could not store it. */
  find(launch: Launch): Promise<Submitted | null>;
  /** One look for all jobs of the system that ask at that time. */
  look(job: RemoteJob): Promise<RemoteState>;
  /**
   * Until it is certain that nothing of it runs, nor ever starts: without a remote id too, when nobody knows whether it was
   * submitted. `unsure`: it could not be confirmed.
   */
  kill(
    job: Pick<RemoteJob, 'uuid' | 'workDirectory'> & { readonly remoteJobId: string | null },
  ): Promise<'ended' | 'unsure'>;
  /** Told when there may be something new, where the scheduler tells; else looks are made with back-off. Returns how to stop. */
  follow?(job: RemoteJob, changed: () => void): () => void;
}

/** An opened system: what the phases work with. */
export interface OpenSystem {
  readonly system: System;
  readonly connection: Connection;
  readonly scheduler: Scheduler;
}

/** Opens systems, shares what is open, closes what nobody uses. */
export interface Systems {
  /** @throws Blocked (through SystemTrouble) when it is disabled or cannot be reached; Failed when there is none. */
  open(orgId: string, name: string): Promise<OpenSystem>;
  close(): Promise<void>;
}

/** What a system takes as proof of who logs in: a key, a password, or both. */
export type SystemSecret = SshSecret;
