import { randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LIMITS } from '@muster/wire';
import type { Account } from './account.js';

/** Files that travel with a job (sheet §6.6). */
const PREFIX = 'pushy_file';

/** The bytes of `raw:…` or `base64:…`, or why it is refused. */
export function decodeJobFile(file: string): { readonly bytes: Buffer } | { readonly refused: string } {
  const colon = file.indexOf(':');
  const text = file.slice(colon + 1);
  const kind = file.slice(0, Math.max(colon, 0));
  if (kind !== 'raw' && kind !== 'base64') return { refused: "invalid file (expected 'base64:...' or 'raw:...')" };
  const bytes = Buffer.from(text, kind === 'raw' ? 'utf8' : 'base64');
  if (kind === 'base64' && bytes.toString('base64') !== text) return { refused: 'invalid file (not base64)' };
  return bytes.length > LIMITS.fileBytes ? { refused: `the file is larger than ${LIMITS.fileBytes} bytes` } : { bytes };
}

/** Writes a job's file where only the command's user reads it; returns its path. */
export async function writeJobFile(dir: string, bytes: Uint8Array, owner: Account | null): Promise<string> {
  await mkdir(dir, { recursive: true });
  // Others may pass through to their own file, and not list what is there.
  await chmod(dir, 0o711);
  const path = join(dir, `${PREFIX}-${randomUUID()}`);
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    if (owner !== null) await handle.chown(owner.uid, owner.gid);
  } finally {
    await handle.close();
  }
  return path;
}

/** Deletes job files older than `expiryMs`; other files in the directory are not ours. */
export async function sweepJobFiles(dir: string, expiryMs: number, now: number): Promise<void> {
  const names = await readdir(dir).catch((): string[] => []);
  for (const name of names) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(dir, name);
    const info = await stat(path).catch(() => null);
    if (info?.isFile() && now - info.mtimeMs > expiryMs) await unlink(path).catch(() => undefined);
  }
}
