import type { SqlBatch, SqlResult, Written } from './sqlite-connection.js';
import type { ThreadSettings } from './sqlite-messages.js';
import type { SqliteWriter } from './sqlite-writer.js';
import { WriterThread } from './sqlite-writer-thread.js';

/** Writes to a SQLite database in a thread of its own. */
export class ThreadWriter implements SqliteWriter {
  readonly #thread: WriterThread;

  private constructor(thread: WriterThread) {
    this.#thread = thread;
  }

  /** Rejects when the database cannot be opened. */
  static async open(settings: ThreadSettings): Promise<ThreadWriter> {
    const thread = WriterThread.take();
    try {
      await thread.ask({ kind: 'open', settings });
    } catch (error) {
      thread.giveBack();
      throw error;
    }
    return new ThreadWriter(thread);
  }

  async write(batch: SqlBatch): Promise<Written> {
    return (await this.#thread.ask({ kind: 'write', batch })) as Written;
  }

  async finish(batch: SqlBatch): Promise<Written> {
    return (await this.#thread.ask({ kind: 'finish', batch })) as Written;
  }

  async query(text: string, parameters: readonly unknown[]): Promise<SqlResult> {
    return (await this.#thread.ask({ kind: 'query', text, parameters })) as SqlResult;
  }

  async rollback(): Promise<void> {
    await this.#thread.ask({ kind: 'rollback' });
  }

  async close(): Promise<void> {
    if (this.#thread.isLost) return;
    await this.#thread.ask({ kind: 'close' });
    this.#thread.giveBack();
  }
}
