import { randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LIMITS } from '@muster/wire';
import type { Account } from './account.js';

/** Files that travel with a job (sheet §6.6). */
export const JOB_FILE_PREFIX = 'pushy_file';
/** What an upload is called beside its destination, until it is there. */
export const UPLOAD_PREFIX = '.muster-upload';

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
  await makeFileDir(dir);
  const path = join(dir, `${JOB_FILE_PREFIX}-${randomUUID()}`);
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    if (owner !== null) await handle.chown(owner.uid, owner.gid);
  } finally {
    await handle.close();
  }
  return path;
}

/** Others may pass through to their own file, and not list what is there. */
export async function makeFileDir(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  await chmod(dir, 0o711);
}

/** Deletes job files older than `expiryMs`; other files in the directory are not ours. */
export async function sweepJobFiles(dir: string, expiryMs: number, now: number): Promise<void> {
  const names = await readdir(dir).catch((): string[] => []);
  for (const name of names) {
    if (!name.startsWith(JOB_FILE_PREFIX)) continue;
    const path = join(dir, name);
    const info = await stat(path).catch(() => null);
    if (info === null || now - info.mtimeMs <= expiryMs) continue;
    // A script has a directory of its own.
    if (info.isDirectory()) await rm(path, { recursive: true, force: true }).catch(() => undefined);
    else if (info.isFile() && name.startsWith(UPLOAD_NOTE)) await forgetUpload(path);
    else if (info.isFile()) await unlink(path).catch(() => undefined);
  }
}

const UPLOAD_NOTE = `${JOB_FILE_PREFIX}-upload-`;

/** Notes that an upload is on its way, so that it is found when the agent is killed meanwhile. */
export async function noteUpload(dir: string, id: string, part: string): Promise<string> {
  const note = join(dir, UPLOAD_NOTE + id);
  await writeFile(note, part, { mode: 0o600, flag: 'wx' });
  return note;
}

/** Removes the part that a note tells of, and the note. */
async function forgetUpload(note: string): Promise<void> {
  const part = await readFile(note, 'utf8').catch(() => '');
  if (basename(part).startsWith(UPLOAD_PREFIX)) await unlink(part).catch(() => undefined);
  await unlink(note).catch(() => undefined);
}
