import { readFile, stat } from 'node:fs/promises';
import { type HeldLock, ownerAlive, takePidFile } from '../pid-file.js';

/**
 * `lock` of an allow-list entry (sheet §6.6): the command is refused while another process holds the lock file.
 *
 * chef-client holds its file by flock, and takes that lock itself when it is the command we run; so the agent never
 * flocks the file (the deployed agent did, and blocked the very run it started). Instead it
 * 1. looks in /proc/locks whether anybody holds a lock on the file, and
 * 2. keeps other agents and jobs off by a file of its own beside it, `FILE.muster`, created exclusively, that names
 *    its process and when that started, so that one left by a crash is recognised and replaced.
 */

/** Whether another process holds the file now. Nothing is taken. */
export async function isLocked(path: string): Promise<boolean> {
  return (await flocked(path)) || (await ownerAlive(`${path}.muster`));
}

/** Takes the lock, or null when it is held. */
export async function takeLock(path: string): Promise<HeldLock | null> {
  return (await flocked(path)) ? null : takePidFile(`${path}.muster`);
}

/** `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`: major and minor of the device in hex, and the inode. */
const LOCK_LINE = /^\d+: (?:FLOCK|POSIX|OFDLCK)\s+\S+\s+\S+\s+-?\d+ ([0-9a-f]+):([0-9a-f]+):(\d+) /;

async function flocked(path: string): Promise<boolean> {
  const file = await stat(path).catch(() => null);
  if (file === null) return false;
  const [major, minor] = deviceOf(file.dev);
  const locks = await readFile('/proc/locks', 'latin1').catch(() => '');
  return locks.split('\n').some((line) => {
    const held = LOCK_LINE.exec(line);
    if (held === null || Number(held[3]) !== file.ino) return false;
    // Overlay and btrfs show another (anonymous) device here than stat does: there the inode has to do.
    return (
      major === 0 || (Number.parseInt(held[1] ?? '', 16) === major && Number.parseInt(held[2] ?? '', 16) === minor)
    );
  });
}

/** Linux's encoding of major and minor in st_dev. */
function deviceOf(dev: number): readonly [number, number] {
  const value = BigInt(dev);
  const major = ((value >> 8n) & 0xfffn) | ((value >> 32n) & ~0xfffn);
  const minor = (value & 0xffn) | ((value >> 12n) & ~0xffn);
  return [Number(major), Number(minor)];
}
