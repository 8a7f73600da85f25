import { posix } from 'node:path';
import { jobFolder } from '../request/macros.js';
import type { System } from '../systems/types.js';
import { isWrapperFile } from '../systems/wrapper.js';
import { Failed, type Job } from '../types.js';
import { LIMITS } from './limits.js';

/** Files of a work directory that the program does not make. */
export const ARCHIVE_LIST = '.agave.archive';

/**
 * A path of somebody as an absolute one of the system: always below its root.
 * @throws Failed when it would lead out of it
 */
export function below(root: string, path: string): string {
  const parts = path.split('/');
  if (parts.includes('..') || path.includes('\0')) {
    throw new Failed('JOB_INVALID_DEFINITION', `the path '${path}' may not have '..' or a zero byte in it`);
  }
  return posix.join(root, ...parts.filter((part) => part !== '' && part !== '.'));
}

/** Where a job works. Its owner's name is one segment, whatever it is. */
export function workDirectory(system: Pick<System, 'root' | 'scratch'>, job: Pick<Job, 'name' | 'owner' | 'uuid'>) {
  return below(system.root, posix.join(system.scratch, segment(job.owner), jobFolder(job)));
}

/** @throws Failed for what cannot be the name of a file */
export function segment(name: string): string {
  const bad = name === '' || name === '.' || name === '..' || /[/\0]/.test(name);
  if (bad || Buffer.byteLength(name) > LIMITS.nameBytes) {
    throw new Failed('JOB_INVALID_DEFINITION', `'${name.slice(0, 80)}' cannot be the name of a file`);
  }
  return name;
}

/** Names that a program's own files may not take. */
export function isReserved(name: string): boolean {
  return isWrapperFile(name) || name === ARCHIVE_LIST;
}

/**
 * Names that differ, in the same order: what several inputs call the same does not overwrite each other.
 * The second `a.txt` is `a-2.txt`. The same names give the same answer, also after a restart.
 */
export function distinct(names: readonly string[], taken: ReadonlySet<string> = new Set()): readonly string[] {
  const used = new Set(taken);
  return names.map((given) => {
    // Whatever is put behind such a name leaves it one of the wrapper's.
    const name = isReserved(given) ? `input${given}`.slice(0, LIMITS.nameBytes) : given;
    let made = name;
    for (let n = 2; used.has(made); n++) {
      const { name: stem, ext } = posix.parse(name);
      const suffix = `-${n}${ext}`;
      made = `${stem.slice(0, LIMITS.nameBytes - Buffer.byteLength(suffix))}${suffix}`;
    }
    used.add(made);
    return made;
  });
}
