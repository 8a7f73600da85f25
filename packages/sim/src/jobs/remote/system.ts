import { posix } from 'node:path';
import {
  type BatchQueue,
  Failed,
  type FileEntry,
  FileTrouble,
  type Launch,
  type RemoteState,
  type Submitted,
  type System,
} from '@muster/jobs/parts';
import type { Random } from '../../kernel/random.js';
import type { Timeline } from '../../kernel/timeline.js';
import { ORG } from '../organization.js';

/** How a system does. */
export const TROUBLES = [
  'unreachable',
  'silent',
  'slow',
  'loses answers',
  'full',
  'busy',
  'refuses the login',
  'cannot say what ended',
] as const;

export type Trouble = (typeof TROUBLES)[number];

export interface Stored {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** What really runs, seen by nobody else. */
export interface Program {
  readonly uuid: string;
  readonly remoteJobId: string;
  readonly workDirectory: string;
  state: 'queued' | 'running' | 'ended';
  code: number | null;
  killed: boolean;
  /** Told when it has ended. */
  readonly followers: Set<() => void>;
}

export interface SystemPlan {
  readonly name: string;
  readonly runMs: number;
  readonly waitMs: number;
  readonly maxJobs: number;
  /** It tells when a program has ended, where the scheduler can. */
  readonly tells: boolean;
}

const KILLED = 143;
export const OUTPUT = 'result.txt';

/** A machine that keeps files and runs programs, whatever becomes of those who ask it to. */
export class RemoteSystem {
  readonly definition: System;
  readonly plan: SystemPlan;
  trouble: Trouble | null = null;
  enabled = true;
  readonly files = new Map<string, Stored>();
  readonly directories = new Set<string>();
  readonly programs = new Map<string, Program>();
  /** Stopped before anybody started them: they never start. */
  readonly #never = new Set<string>();
  readonly #timeline: Timeline;
  readonly #random: Random;

  constructor(plan: SystemPlan, timeline: Timeline, random: Random) {
    const { name, maxJobs } = plan;
    const queues: readonly BatchQueue[] = [];
    this.plan = plan;
    this.definition = {
      id: `${ORG.id}/${name}`,
      uuid: `${name}-uuid`,
      orgId: ORG.id,
      name,
      type: 'ssh',
      scheduler: 'fork',
      root: '/',
      scratch: 'scratch',
      queues,
      maxJobs,
      enabled: true,
      default: name !== 'hpc1',
      owner: 'root',
    };
    this.#timeline = timeline;
    this.#random = random;
  }

  // --- files

  stat(path: string): FileEntry | null {
    const file = this.files.get(path);
    if (file !== undefined) return entry(path, 'file', file.bytes.length, file.mode);
    return path === '/' || this.directories.has(path) ? entry(path, 'dir', 0, 0o700) : null;
  }

  list(path: string, { limit, offset }: { readonly limit: number; readonly offset: number }): FileEntry[] | null {
    if (!this.directories.has(path)) return null;
    const below = [...this.files.keys(), ...this.directories].filter((one) => posix.dirname(one) === path).sort();
    return below.slice(offset, offset + limit).flatMap((one) => this.stat(one) ?? []);
  }

  read(path: string): Buffer {
    const file = this.files.get(path);
    if (file === undefined) throw new FileTrouble(path, 'NOT_FOUND', `${path} is not there`);
    return file.bytes;
  }

  write(path: string, file: Stored): void {
    if (!this.directories.has(posix.dirname(path)))
      throw new FileTrouble(path, 'NOT_FOUND', `no directory for ${path}`);
    this.files.set(path, file);
  }

  makeDirectory(path: string): void {
    for (let at = path; at !== '/'; at = posix.dirname(at)) this.directories.add(at);
  }

  remove(path: string): void {
    for (const set of [this.files, this.directories]) {
      for (const one of set.keys()) if (one === path || one.startsWith(`${path}/`)) set.delete(one);
    }
  }

  // --- programs

  /** True: it starts, and had not before. */
  submit({ uuid, workDirectory }: Launch): Submitted & { readonly first: boolean } {
    if (this.#never.has(uuid)) throw new Failed('JOB_LAUNCH_FAILURE', 'the job was stopped before it was started');
    const there = this.programs.get(uuid);
    // The wrapper's mark: whoever comes second does nothing.
    if (there !== undefined) return { remoteJobId: there.remoteJobId, first: false };
    const remoteJobId = `r${this.programs.size + 1}`;
    const program: Program = {
      uuid,
      remoteJobId,
      workDirectory,
      state: 'queued',
      code: null,
      killed: false,
      followers: new Set(),
    };
    this.programs.set(uuid, program);
    this.#timeline.after(this.#random.around(this.plan.waitMs), null, () => this.#run(program));
    return { remoteJobId, first: true };
  }

  find(uuid: string): Submitted | null {
    const there = this.programs.get(uuid);
    return there === undefined ? null : { remoteJobId: there.remoteJobId };
  }

  look(uuid: string): RemoteState {
    const program = this.programs.get(uuid);
    if (program === undefined) return { state: 'lost' };
    const { state, code } = program;
    return state === 'ended' ? { state, code, condition: null, detail: `exit code ${code}` } : { state };
  }

  kill(uuid: string): 'ended' | 'unsure' {
    if (this.trouble === 'cannot say what ended') return 'unsure';
    const program = this.programs.get(uuid);
    if (program === undefined) this.#never.add(uuid);
    else if (program.state !== 'ended') {
      program.killed = true;
      this.#end(program, KILLED);
    }
    return 'ended';
  }

  #run(program: Program): void {
    if (program.state !== 'queued') return;
    program.state = 'running';
    this.#timeline.after(this.#random.around(this.plan.runMs), null, () => {
      if (program.state === 'running') this.#end(program, this.#random.chance(0.2) ? 1 : 0);
    });
  }

  #end(program: Program, code: number): void {
    program.state = 'ended';
    program.code = code;
    const { workDirectory, uuid, followers } = program;
    const bytes = Buffer.from(`the result of ${uuid}`);
    if (this.directories.has(workDirectory)) this.files.set(posix.join(workDirectory, OUTPUT), { bytes, mode: 0o600 });
    for (const tell of [...followers]) tell();
  }
}

function entry(path: string, type: 'file' | 'dir', length: number, mode: number): FileEntry {
  const name = posix.basename(path);
  return { path: name, name, type, length, modified: 0, mode };
}
