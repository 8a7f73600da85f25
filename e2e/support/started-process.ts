import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { logs } from './logs.js';
import { until } from './until.js';

/** Environment variable that marks every process of one cluster, commands of its agents included. */
export const MARKER = 'MUSTER_TEST_CLUSTER';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real process in a process group of its own, with everything it has printed. */
export class StartedProcess {
  readonly what: string;
  readonly exited: Promise<Exit>;
  stdout = '';
  stderr = '';
  exit: Exit | null = null;
  readonly #child: ChildProcess;

  constructor(
    what: string,
    command: string,
    args: readonly string[],
    options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  ) {
    this.what = what;
    this.#child = spawn(command, args, { ...options, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString('utf8');
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString('utf8');
    });
    this.exited = new Promise((resolve) => {
      this.#child.on('error', () => resolve(this.#ended({ code: null, signal: null })));
      this.#child.on('close', (code, signal) => resolve(this.#ended({ code, signal })));
    });
    logs(this);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get log(): string {
    return `${this.stdout}${this.stderr}`;
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Ends its input. */
  closeInput(): void {
    this.#child.stdin?.end();
  }

  /** To the process alone, as an operator would. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    this.signal(signal);
    return this.exited;
  }

  async logged(pattern: RegExp): Promise<string> {
    return until(`${this.what} to log ${pattern}; it logged:\n${this.log.slice(-4000)}`, () => {
      if (this.exit !== null && !pattern.test(this.log)) throw new Error(`${this.what} exited: ${this.log}`);
      return pattern.exec(this.log)?.[0];
    });
  }

  #ended(exit: Exit): Exit {
    this.exit = exit;
    return exit;
  }
}

/** Words with a zero byte behind each; empty when the process has ended. */
export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    if (!existsSync(`/proc/${pid}`)) return '';
    throw error;
  }
}

/**
 * Ids of the live processes that carry this marker in their environment, or `mention` on their command line: an agent
 * does not pass its own settings on to its commands.
 */
export function processesMarked(marker: string, mention?: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return false;
        if (mention !== undefined && commandLineOf(pid).includes(mention)) return true;
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${MARKER}=${marker}`);
      } catch {
        return false;
      }
    });
}

/** Null: it is gone. */
export function parentOf(pid: number): number | null {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return null;
  }
}

/** Of processes; null: it is gone. */
export function groupOf(pid: number): number | null {
  try {
    // The name of the program, in parentheses, may hold anything.
    const [, fields = ''] = /\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return Number(fields.split(' ')[2]);
  } catch {
    return null;
  }
}

/** Kills whatever still carries the marker, by process id. */
export function killMarked(marker: string, mention?: string): void {
  for (const pid of processesMarked(marker, mention)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // gone already
    }
  }
}
