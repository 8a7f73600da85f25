import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The write-ahead log of a SQLite database, as far as it is flushed to the disk: off the event loop. */
export class WalFile {
  readonly #path: string;
  #file: FileHandle | null = null;

  /** @param database Path of the database; the connection that writes keeps its log there as long as it is open. */
  constructor(database: string) {
    this.#path = `${database}-wal`;
  }

  /** Resolves when everything written to the log before is on the disk. */
  async flush(): Promise<void> {
    this.#file ??= await this.#open();
    await this.#file.datasync();
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  async #open(): Promise<FileHandle> {
    // Its name, too, must survive.
    const directory = await open(dirname(this.#path), 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
    return open(this.#path, 'r+');
  }
}
