import { execFile } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { systemClock, type Timer } from '@muster/base';
import type { Limits } from './limits.js';
import type { Watch } from './opened.js';
import type { StoreLog, Trouble } from './types.js';
import { reasonOf } from './unavailable.js';

const CHECK = fileURLToPath(new URL('./sqlite-check.js', import.meta.url));

/**
 * Whether the file of SQLite is sound. It is checked once after the start, in a process of its own with the lowest
 * priority (`sqlite-check.ts`): SQLite itself notices a damaged page only when it comes across it, which may be after
 * months of writes around it. What a read comes across is told here, too.
 */
export class SqliteWatch implements Watch {
  readonly #path: string;
  readonly #limits: Limits;
  readonly #log: StoreLog;
  readonly #cancel = new AbortController();
  #timer: Timer | undefined;
  #checking: Promise<void> | undefined;
  #damage: Trouble | null = null;

  constructor(path: string, limits: Limits, log: StoreLog) {
    this.#path = path;
    this.#limits = limits;
    this.#log = log;
  }

  start(): void {
    this.#timer = systemClock.after(this.#limits.checkDelayMs, () => {
      this.#checking = this.#check();
    });
  }

  trouble(): Trouble | null {
    return this.#damage;
  }

  /** A write says nothing of the pages that it did not touch. */
  stored(): void {}

  /** A page of the file cannot be read. */
  damaged(findings: readonly string[]): void {
    if (this.#damage !== null) return;
    const reason = `the file is damaged: ${findings[0] ?? ''}`;
    this.#damage = { problem: 'damaged', reason, since: systemClock.now() };
    this.#log.error(
      { path: this.#path, findings },
      'the database is damaged: stop the server, keep a copy of the file, and put a backup in its place',
    );
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#cancel.abort();
    await this.#checking;
  }

  async #check(): Promise<void> {
    try {
      const findings = await this.#findings();
      if (findings.length > 0) this.damaged(findings);
    } catch (error) {
      if (this.#cancel.signal.aborted) return;
      this.#log.warn({ err: error, path: this.#path }, `the database could not be checked: ${reasonOf(error)}`);
    }
  }

  #findings(): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const options = {
        // It needs none of the server's, which may hold secrets.
        env: {},
        timeout: this.#limits.checkMs,
        killSignal: 'SIGKILL',
        signal: this.#cancel.signal,
      } as const;
      const child = execFile(process.execPath, [CHECK, this.#path], options, (error, stdout) => {
        if (error !== null) reject(error);
        else resolve(JSON.parse(stdout) as string[]);
      });
      // Without a process id it could not be started: told above.
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
    });
  }
}
