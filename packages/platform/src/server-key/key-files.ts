import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The key that is used, the one that is announced, one that takes the place of that, and how far the replacement is. */
export type KeyFile = 'server.pem' | 'server-next.pem' | 'server-new.pem' | 'server-keys.json';

/** Files of the data directory that a crash leaves as they were, or as they were to be. */
export interface KeyFiles {
  /** Where it is, for people. */
  path(file: KeyFile): string;
  /** null: it is not there. */
  read(file: KeyFile): string | null;
  write(file: KeyFile, text: string): void;
  rename(from: KeyFile, to: KeyFile): void;
  remove(file: KeyFile): void;
  /** Resolves when all that was written, renamed and removed is there after a crash. @throws what it was not stored for */
  settled(): Promise<void>;
}

/** Private keys: readable by the owner only. */
const PRIVATE = 0o600;

export function keyFilesIn(dataDir: string): KeyFiles {
  const at = (file: KeyFile) => join(dataDir, file);
  const settle = (): void => {
    const directory = openSync(dataDir, 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  };
  return {
    path: at,
    read: (file) => (existsSync(at(file)) ? readFileSync(at(file), 'utf8') : null),
    write(file, text) {
      const draft = `${at(file)}.new`;
      rmSync(draft, { force: true });
      writeFileSync(draft, text, { mode: PRIVATE, flush: true });
      renameSync(draft, at(file));
      settle();
    },
    rename(from, to) {
      renameSync(at(from), at(to));
      settle();
    },
    remove(file) {
      rmSync(at(file), { force: true });
      settle();
    },
    // Each step is on the disk before it is over.
    settled: async () => undefined,
  };
}
