import type { Worker } from 'node:worker_threads';
import { startOwnThread } from '@muster/base/own-parts';
import type { SqlBatch, SqlResult, Written } from './sqlite-connection.js';
import { errorOf, type Reply, type Request, type Result, type ThreadSettings } from './sqlite-messages.js';
import type { SqliteWriter } from './sqlite-writer.js';

/** The thread has ended without being asked to: what it was doing may be stored, or not. */
export class ThreadLost extends Error {}

interface Waiting {
  resolve(result: Result | undefined): void;
  reject(error: unknown): void;
}

/** Writes to a SQLite database in a thread of its own (`sqlite-thread.ts`). */
export class ThreadWriter implements SqliteWriter {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  #waiting: Waiting[] = [];
  #lost: ThreadLost | null = null;

  private constructor(settings: ThreadSettings) {
    this.#worker = startOwnThread(new URL('./sqlite-thread.js', import.meta.url), { workerData: settings });
    this.#exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#worker.on('message', (reply: Reply) => this.#answered(reply));
    this.#worker.on('error', (error) => this.#ended(error));
    this.#worker.on('exit', () => this.#ended(new Error('it ended')));
  }

  /** Rejects when the database cannot be opened. */
  static async open(settings: ThreadSettings): Promise<ThreadWriter> {
    const writer = new ThreadWriter(settings);
    await new Promise((resolve, reject) => writer.#waiting.push({ resolve, reject }));
    return writer;
  }

  async write(batch: SqlBatch): Promise<Written> {
    return (await this.#ask({ kind: 'write', batch })) as Written;
  }

  async finish(batch: SqlBatch): Promise<Written> {
    return (await this.#ask({ kind: 'finish', batch })) as Written;
  }

  async query(text: string, parameters: readonly unknown[]): Promise<SqlResult> {
    return (await this.#ask({ kind: 'query', text, parameters })) as SqlResult;
  }

  async rollback(): Promise<void> {
    await this.#ask({ kind: 'rollback' });
  }

  async close(): Promise<void> {
    if (this.#lost === null) await this.#ask({ kind: 'close' });
    // What is idle keeps no process alive, but its end is waited for.
    this.#worker.ref();
    await this.#exited;
  }

  #ask(request: Request): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== null) return reject(this.#lost);
      this.#worker.postMessage(request);
      this.#waiting.push({ resolve, reject });
      if (this.#waiting.length === 1) this.#worker.ref();
    });
  }

  #answered(reply: Reply): void {
    const waiting = this.#waiting.shift();
    // An idle thread keeps no process alive.
    if (this.#waiting.length === 0) this.#worker.unref();
    if ('failure' in reply) waiting?.reject(errorOf(reply.failure));
    else waiting?.resolve(reply.result);
  }

  #ended(cause: Error): void {
    this.#lost ??= new ThreadLost(`the thread that writes to the database has ended: ${cause.message}`, { cause });
    for (const { reject } of this.#waiting.splice(0)) reject(this.#lost);
  }
}
