import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Client } from '../../client.js';
import { CountLine } from '../../count-line.js';
import { MusterError } from '../../errors.js';
import { PIECE_RETRIES, READ_BYTES, RETRY_PAUSE_MS } from '../../limits.js';
import type { Call } from '../../shell.js';

/** A file of this machine, by its content. */
export interface LocalFile {
  readonly sha256: string;
  readonly size: number;
  /** The nine permission bits. */
  readonly mode: number;
}

interface Standing {
  readonly stored: number;
  readonly complete: boolean;
  readonly piece: number;
}

/**
 * Brings a file to the server, unless it is there, and goes on where an earlier attempt ended.
 * @throws MusterError `usage` when it cannot be read or changes meanwhile
 */
export async function bringFile(call: Call<object>, path: string): Promise<LocalFile> {
  const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new MusterError('usage', { reason: `cannot read ${path} (${error.code ?? error.message})` });
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new MusterError('usage', { reason: `${path} is not an ordinary file` });
    const { sha256, size } = await hashOf(handle);
    await bring(call, handle, path, { sha256, size });
    return { sha256, size, mode: stats.mode & 0o777 };
  } finally {
    await handle.close();
  }
}

async function bring(
  call: Call<object>,
  handle: FileHandle,
  path: string,
  { sha256, size }: Pick<LocalFile, 'sha256' | 'size'>,
): Promise<void> {
  const { client } = call;
  const at = client.inOrg('pushy', 'files', sha256);
  const begin = () => client.put<Standing>(at, { size });
  let standing = await patiently(begin);
  const progress = new CountLine(call.world, `bytes of ${path}`, { from: standing.stored, total: size });
  try {
    while (!standing.complete) {
      const { stored, piece } = standing;
      const content = await bytesAt(handle, stored, Math.min(piece, size - stored), path);
      standing = await patiently(async (again) => (again ? begin() : append(client, at, stored, content)));
      progress.update(standing.stored);
    }
  } finally {
    progress.done();
  }
}

async function append(client: Client, at: string, offset: number, content: Uint8Array): Promise<Standing> {
  const text = { type: 'application/octet-stream', content };
  return (await client.json('PATCH', at, { query: { offset }, text })) as Standing;
}

/** What the connection breaks off is asked again: whether the last piece came, the server knows. */
async function patiently(ask: (again: boolean) => Promise<Standing>): Promise<Standing> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await ask(failures > 0);
    } catch (error) {
      const passes = error instanceof MusterError && error.code === 'server_unreachable';
      if (!passes || failures >= PIECE_RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS * 2 ** failures));
    }
  }
}

async function hashOf(handle: FileHandle): Promise<Pick<LocalFile, 'sha256' | 'size'>> {
  const hash = createHash('sha256');
  const buffer = Buffer.alloc(READ_BYTES);
  for (let size = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, size);
    if (bytesRead === 0) return { sha256: hash.digest('hex'), size };
    hash.update(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
}

async function bytesAt(handle: FileHandle, from: number, length: number, path: string): Promise<Uint8Array> {
  const buffer = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await handle.read(buffer, done, length - done, from + done);
    if (bytesRead === 0) throw new MusterError('usage', { reason: `${path} became shorter while it was read` });
    done += bytesRead;
  }
  return buffer;
}
