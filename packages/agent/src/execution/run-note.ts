import type { DurableFiles } from '../durable.js';

/** A command that was running; `run` marks its processes. */
export interface NotedRun {
  /** What it ran for: the id of a push job. */
  readonly subject: string;
  readonly run: string;
  /** Path of the control group it was to run in; null: of none, or the note does not tell. */
  readonly group: string | null;
}

const MODE = 0o600;

/**
 * The note of what runs: the first line of a file, which says something as long as a command may run. After a crash of
 * the agent it tells what to kill and what to report. Each place for a command has a note of its own.
 */
export class RunNote {
  readonly #path: string;
  readonly #files: DurableFiles;

  constructor(path: string, files: DurableFiles) {
    this.#path = path;
    this.#files = files;
  }

  /**
   * Before a command runs. The note outlives the agent, which is what it is for: a command that the agent left running
   * is killed. It need not outlive the machine, with which the command ends too; that the machine was down is told by
   * the missing `incarnation`. So no command waits for the disk, before it starts or after it has ended. Nor need the
   * note be whole: one cut short by a crash is of a command that had not been started.
   */
  write({ subject, run, group }: NotedRun): Promise<void> {
    return this.#files.overwriteLine(this.#path, JSON.stringify({ job_id: subject, run, group }), MODE);
  }

  /** Once it has ended. */
  clear(): Promise<void> {
    return this.#files.overwriteLine(this.#path, '', MODE);
  }

  /** What the previous agent left; null when nothing ran. */
  async read(): Promise<NotedRun | null> {
    const text = await this.#files.read(this.#path);
    const [line = ''] = text?.split('\n', 1) ?? [];
    return parse(line);
  }
}

function parse(line: string): NotedRun | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('job_id' in value) || !('run' in value)) return null;
    const { job_id: subject, run } = value;
    if (typeof subject !== 'string' || typeof run !== 'string') return null;
    // Earlier versions did not write it.
    const group = 'group' in value && typeof value.group === 'string' ? value.group : null;
    return { subject, run, group };
  } catch {
    return null;
  }
}
