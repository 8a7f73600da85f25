import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type DurableFiles, durableFiles } from './durable.js';
import type { StartKind } from './machine.js';

/** What was found of the agent's previous life. */
export interface LookBack {
  readonly incarnation: string;
  readonly start: StartKind;
  /** The command that was running when the agent died; `run` marks its processes. */
  readonly interrupted: Interrupted | null;
}

export interface Interrupted {
  readonly jobId: string;
  readonly run: string;
}

const NOTE_MODE = 0o600;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The files by which a crash is told from a clean stop (Push Jobs §4.5, N11):
 *
 * - `incarnation` exists only between a clean stop and the next start, and holds the id to go on with;
 * - `running` exists while a command may be running, and names its job;
 * - `known` tells that an agent ever ran here, so that a missing `incarnation` means a crash and not a first start.
 */
export class Journal {
  readonly #incarnation: string;
  readonly #running: string;
  readonly #known: string;
  readonly #files: DurableFiles;

  constructor(dataDir: string, files: DurableFiles = durableFiles) {
    this.#files = files;
    this.#incarnation = join(dataDir, 'incarnation');
    this.#running = join(dataDir, 'running');
    this.#known = join(dataDir, 'known');
  }

  /** At start: loads the incarnation id and deletes the file, before anything else happens. */
  async lookBack(): Promise<LookBack> {
    const saved = (await this.#files.read(this.#incarnation))?.trim() ?? null;
    await this.#files.remove(this.#incarnation);
    const known = (await this.#files.read(this.#known)) !== null;
    if (!known) await this.#files.write(this.#known, 'muster agent\n');
    const interrupted = parseRunning(await this.#files.read(this.#running));
    const clean = saved !== null && UUID.test(saved);
    const traces = known || saved !== null || interrupted !== null;
    return {
      incarnation: clean ? saved : randomUUID(),
      start: clean ? 'clean' : traces ? 'crash' : 'first',
      interrupted,
    };
  }

  /**
   * Before a command runs. It outlives the agent, which is what it is for: a command that the agent left running is
   * killed. It need not outlive the machine, with which the command ends too; that the machine was down is told by the
   * missing `incarnation`. So no command waits for the disk, before it starts or after it has ended. Nor need it be
   * whole: a note cut short by a crash is of a command that had not been started.
   */
  remember(running: Interrupted): Promise<void> {
    const note = `${JSON.stringify({ job_id: running.jobId, run: running.run })}\n`;
    return this.#files.write(this.#running, note, NOTE_MODE, false);
  }

  /** Once it has ended. */
  forget(): Promise<void> {
    return this.#files.remove(this.#running, false);
  }

  /** On a clean stop, last of all. */
  saveIncarnation(incarnation: string): Promise<void> {
    return this.#files.write(this.#incarnation, `${incarnation}\n`);
  }
}

function parseRunning(text: string | null): Interrupted | null {
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('job_id' in value) || !('run' in value)) return null;
    const { job_id: jobId, run } = value;
    return typeof jobId === 'string' && typeof run === 'string' ? { jobId, run } : null;
  } catch {
    return null;
  }
}
