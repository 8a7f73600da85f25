import { spawn } from 'node:child_process';
import { lstatSync, rmdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { REMOVE_TREE_MS } from '../limits.js';

/**
 * Removes a directory with all that is in it. One that was given to another user is emptied by processes of that user:
 * whoever may change it while root walks through it could lead root anywhere. The directory it is in must be the agent's
 * alone. Throws when something is left.
 */
export async function removeTree(path: string): Promise<void> {
  const owner = lstatSync(path, { throwIfNoEntry: false });
  if (owner === undefined) return;
  if (owner.uid === process.getuid?.()) return rm(path, { recursive: true, force: true });
  if (removeEmpty(path)) return;
  // What is in it may be closed to its owner, as caches of modules are, and is opened for the second look.
  for (const [program = '', ...args] of [REMOVE, OPEN, REMOVE]) {
    await runAs(owner, program, [...args, path]);
    // The owner may not remove the directory itself: it is in one of the agent's.
    if (removeEmpty(path)) return;
  }
  throw new Error(`user ${owner.uid} cannot remove what is in ${path}; remove it yourself`);
}

const REMOVE = ['rm', '-rf', '--'];
const OPEN = ['chmod', '-R', 'u+rwX', '--'];

function removeEmpty(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY') return false;
    throw error;
  }
}

/** To its end, or that of its time: somebody may go on to fill what is being emptied. */
function runAs({ uid, gid }: { readonly uid: number; readonly gid: number }, file: string, args: readonly string[]) {
  return new Promise<void>((resolve, reject) => {
    const env = { PATH: '/usr/bin:/bin' };
    const limit = { timeout: REMOVE_TREE_MS, killSignal: 'SIGKILL' } as const;
    const child = spawn(file, args, { uid, gid, env, cwd: '/', stdio: 'ignore', ...limit });
    child.once('error', reject);
    child.once('exit', () => resolve());
  });
}
