import type { Worker } from 'node:worker_threads';
import { startOwnThread } from '@muster/base/own-parts';
import { errorOf, type Reply, type Request, type Result } from './sqlite-messages.js';

/** The thread has ended without being asked to: what it was doing may be stored, or not. */
export class ThreadLost extends Error {}

interface Waiting {
  resolve(result: Result | undefined): void;
  reject(error: unknown): void;
}

/** Those without a database. To start one takes as long as some thousand writes. */
const idle: WriterThread[] = [];

/** A thread that writes to one SQLite database at a time (`sqlite-thread.ts`). It ends with the process, which it does not keep alive while nothing is asked of it. */
export class WriterThread {
  readonly #worker: Worker;
  #waiting: Waiting[] = [];
  #lost: ThreadLost | null = null;

  private constructor() {
    this.#worker = startOwnThread(new URL('./sqlite-thread.js', import.meta.url), {});
    this.#worker.on('message', (reply: Reply) => this.#answered(reply));
    this.#worker.on('error', (error) => this.#ended(error));
    this.#worker.on('exit', () => this.#ended(new Error('it ended')));
  }

  /** One without a database. */
  static take(): WriterThread {
    return idle.pop() ?? new WriterThread();
  }

  /** It has no database any more. */
  giveBack(): void {
    if (this.#lost === null) idle.push(this);
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  ask(request: Request): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== null) return reject(this.#lost);
      this.#worker.postMessage(request);
      this.#waiting.push({ resolve, reject });
      if (this.#waiting.length === 1) this.#worker.ref();
    });
  }

  #answered(reply: Reply): void {
    const waiting = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#worker.unref();
    if ('failure' in reply) waiting?.reject(errorOf(reply.failure));
    else waiting?.resolve(reply.result);
  }

  #ended(cause: Error): void {
    this.#lost ??= new ThreadLost(`the thread that writes to the database has ended: ${cause.message}`, { cause });
    const place = idle.indexOf(this);
    if (place >= 0) idle.splice(place, 1);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#lost);
  }
}
