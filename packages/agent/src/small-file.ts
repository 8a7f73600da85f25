import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * The text of a short file in a directory that another user may change: no link is followed, no pipe is waited for, and
 * no more is read than `most` bytes. `owner`: whose it must be; null: anybody's. Throws when it is none of that kind.
 */
export async function readSmallFile(path: string, most: number, owner: number | null): Promise<string> {
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const info = await handle.stat();
    if (!info.isFile()) throw new Error(`${path} is not a regular file`);
    if (owner !== null && info.uid !== owner) throw new Error(`${path} belongs to user ${info.uid}, not to ${owner}`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(most + 1), 0, most + 1, 0);
    if (bytesRead > most) throw new Error(`${path} is larger than ${most} bytes`);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
