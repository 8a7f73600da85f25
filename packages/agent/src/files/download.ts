import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Clock } from '@muster/base';
import type { KeptFile } from '@muster/wire';
import { FILE_RETRIES, FILE_RETRY_FIRST_MS, FILE_RETRY_LONGEST_MS } from '../limits.js';
import { PathRefused } from './beneath.js';

/** Bytes of a file of a job, from `from` on. @throws FileUnavailable; anything else may pass */
export type FileSource = (
  jobId: string,
  sha256: string,
  from: number,
  signal: AbortSignal,
) => AsyncIterable<Uint8Array>;

/** The server will not give the file, however often it is asked. */
export class FileUnavailable extends Error {
  override readonly name = 'FileUnavailable';
}

export interface DownloadDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly source: FileSource;
}

/**
 * Writes a file of a job, which goes on where it was after each interruption. Its bytes are told apart from others by their hash.
 * @throws FileUnavailable, PathRefused; the reason of the signal when that is aborted
 */
export async function download(
  { clock, source }: DownloadDeps,
  jobId: string,
  { sha256, size }: KeptFile,
  to: FileHandle,
  signal: AbortSignal,
): Promise<void> {
  const hash = createHash('sha256');
  let at = 0;
  for (let failures = 0; at < size; ) {
    try {
      for await (const bytes of source(jobId, sha256, at, signal)) {
        if (at + bytes.length > size) throw new FileUnavailable(`the server sends more than ${size} bytes`);
        await writeAll(to, bytes, at);
        hash.update(bytes);
        at += bytes.length;
        failures = 0;
      }
      if (at < size) throw new Error(`it ended after ${at} of ${size} bytes`);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FileUnavailable || error instanceof PathRefused) throw error;
      failures += 1;
      const why = error instanceof Error ? error.message : String(error);
      if (failures > FILE_RETRIES) throw new FileUnavailable(`a file of the job could not be fetched: ${why}`);
      await pause(clock, Math.min(FILE_RETRY_FIRST_MS * 2 ** (failures - 1), FILE_RETRY_LONGEST_MS), signal);
    }
  }
  if (hash.digest('hex') !== sha256) {
    throw new FileUnavailable(`a file of the job came with another content than its SHA-256 says (${sha256})`);
  }
}

async function writeAll(to: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await to.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new PathRefused(`a file of the job cannot be written: ${why}`);
  }
}

export function pause(clock: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.after(ms, () => {
      signal.removeEventListener('abort', ended);
      resolve();
    });
    signal.addEventListener('abort', ended, { once: true });
  });
}
