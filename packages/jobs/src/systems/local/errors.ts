import { type FileProblem, FileTrouble, SystemTrouble } from '../types.js';

const PROBLEMS: Readonly<Record<string, readonly [FileProblem, string]>> = {
  ENOENT: ['NOT_FOUND', 'does not exist'],
  EACCES: ['NOT_PERMITTED', 'may not be used'],
  EPERM: ['NOT_PERMITTED', 'may not be used'],
  EROFS: ['NOT_PERMITTED', 'can only be read'],
  ENOTDIR: ['NOT_A_DIRECTORY', 'is not in a directory, or is none'],
  EEXIST: ['NOT_A_DIRECTORY', 'is there, and is no directory'],
  EISDIR: ['NOT_A_FILE', 'is a directory'],
  ENXIO: ['NOT_A_FILE', 'is not a file'],
  ENAMETOOLONG: ['NAME_TOO_LONG', 'has a name that is too long'],
  ELOOP: ['INVALID_PATH', 'is a link that leads nowhere'],
};

/** What the system here said of a path, as everybody else understands it. */
export function fileError(system: string, path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : null;
  if (code === null || error instanceof FileTrouble || error instanceof SystemTrouble) return error;
  const problem = PROBLEMS[code];
  if (problem !== undefined) return new FileTrouble(path, problem[0], `${path} ${problem[1]}`, { cause: error });
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new SystemTrouble(system, 'DISK_FULL', `the disk of system ${system} is full: ${path}`, { cause: error });
  }
  if (!/^E[A-Z0-9]+$/.test(code)) return error;
  return new SystemTrouble(system, 'TRANSMISSION_FAILURE', `system ${system} failed at ${path}: ${code}`, {
    cause: error,
  });
}
