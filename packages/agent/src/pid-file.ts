import { open, readFile, unlink, writeFile } from 'node:fs/promises';
import { PID_FILE_BYTES } from './limits.js';
import { readSmallFile } from './small-file.js';

export interface HeldLock {
  release(): Promise<void>;
}

/** Exclusive use of `path` by this process, until released; null when another living process has it. */
export async function takePidFile(path: string): Promise<HeldLock | null> {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      const handle = await open(path, 'wx', 0o600);
      await handle.writeFile(`${process.pid} ${(await startOf(process.pid)) ?? '-'}\n`);
      await handle.close();
      return { release: () => unlink(path).catch(() => undefined) };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      if (await ownerAlive(path)) return null;
      await unlink(path).catch(() => undefined);
    }
  }
  return null;
}

/** Names another process in a file, in the place of the one that it named. */
export async function notePid(path: string, pid: number): Promise<void> {
  await writeFile(path, `${pid} ${(await startOf(pid)) ?? '-'}\n`, { mode: 0o600 });
}

/** Whether the process that this file names is alive. */
export async function ownerAlive(path: string): Promise<boolean> {
  return (await livingOwner(path)) !== null;
}

/** The process that this file names; null when it is not alive. */
export async function livingOwner(path: string): Promise<number | null> {
  const [pid, start] = (await readSmallFile(path, PID_FILE_BYTES, null).catch(() => '')).trim().split(' ');
  if (pid === undefined || !/^\d+$/.test(pid)) return null;
  // Without /proc only the number is known.
  const alive = start === '-' ? isAlive(Number(pid)) : (await startOf(Number(pid))) === start;
  return alive ? Number(pid) : null;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Start time of a living process in clock ticks since boot: with the pid it names a process uniquely. A zombie is not
 * alive; in a container whose first process collects no orphans it stays for good.
 */
async function startOf(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
}
