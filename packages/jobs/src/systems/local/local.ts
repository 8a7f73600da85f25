import { watch } from 'node:fs';
import type { Clock } from '@muster/base';
import type { Connection, System } from '../types.js';
import { localExec } from './exec.js';
import { LocalFiles } from './files.js';

/** This machine as a system: commands and files of the user that the process runs as. */
export function localConnection(system: Pick<System, 'name' | 'root' | 'environment'>, clock: Clock): Connection {
  return { files: new LocalFiles(system), exec: localExec(system, clock), watch: watchDirectory };
}

/** Returns how to stop. */
export function watchDirectory(directory: string, changed: () => void): () => void {
  try {
    const watcher = watch(directory, { persistent: false }, () => changed());
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    // It is gone, or there are too many watchers: who asks looks now and then all the same.
    return () => undefined;
  }
}
