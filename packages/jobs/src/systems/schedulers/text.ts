import { posix } from 'node:path';
import { Failed } from '../../types.js';
import { type ExecResult, type Files, FileTrouble, SystemTrouble } from '../types.js';
import { WRAPPER_FILES } from '../wrapper.js';

/** A small file of ours, without the space around its text. Null: it is not there. */
export async function smallText(files: Files, path: string): Promise<string | null> {
  try {
    const pieces: Buffer[] = [];
    for await (const piece of await files.read(path, { start: 0, end: 1024 })) pieces.push(piece);
    return Buffer.concat(pieces).toString('utf8').trim();
  } catch (error) {
    if (error instanceof FileTrouble && error.problem === 'NOT_FOUND') return null;
    throw error;
  }
}

/** What the wrapper wrote at the end. Null: nothing. */
export async function exitCodeOf(files: Files, workDirectory: string): Promise<number | null> {
  const text = await smallText(files, posix.join(workDirectory, WRAPPER_FILES.exit));
  return text !== null && /^\d{1,3}$/.test(text) ? Number(text) : null;
}

/** What a command printed, on one line and not too long, for a message. */
export function shown(text: string): string {
  const line = text
    .trim()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .slice(0, 500);
  return line === '' ? 'it said nothing' : line;
}

/** Such a result may be another one later. */
const BUSY = /resource temporarily unavailable|cannot fork|cannot allocate memory|too many open files/i;
const FULL = /no space left on device|disk quota exceeded/i;

/** Why a program could not be launched. `busy`: besides what every system says. */
export function launchTrouble(
  system: string,
  program: string,
  { code, signal, stdout, stderr }: ExecResult,
  busy: RegExp = BUSY,
): SystemTrouble | Failed {
  const text = `${stderr}\n${stdout}`;
  const told = `${program} on system ${system} failed (${signal ?? code}): ${shown(stderr.trim() === '' ? stdout : stderr)}`;
  if (FULL.test(text)) return new SystemTrouble(system, 'DISK_FULL', told);
  if (BUSY.test(text) || busy.test(text)) return new SystemTrouble(system, 'SCHEDULER_BUSY', told);
  return new Failed('JOB_LAUNCH_FAILURE', told);
}
