import { posix } from 'node:path';
import type { Clock } from '@muster/base';
import type { FileChannel, SshLink } from '@muster/platform/ssh';
import type { SFTPWrapper } from 'ssh2';
import { type FileProblem, FileTrouble, SystemTrouble } from '../types.js';

/** Until one request about a file is answered. */
const REQUEST_MS = 120_000;
/** Less than this is a full disk. */
const SPACE = 64 * 1024;

/** Codes of SFTP, version 3; servers of OpenSSH make `2` of ENOTDIR and ELOOP too, and `4` of most others. */
const PROBLEMS: Readonly<Record<number, readonly [FileProblem, string]>> = {
  2: ['NOT_FOUND', 'does not exist'],
  3: ['NOT_PERMITTED', 'may not be used'],
  5: ['NAME_TOO_LONG', 'has a name that the host does not take'],
};
const END_OF_FILE = 1;
const FAILURE = 4;
const UNSUPPORTED = 8;

type Done<T> = (error?: Error | null, value?: T) => void;

/** Requests about files, each bounded in time, its errors those of `Files`. */
export class Sftp {
  readonly system: string;
  readonly #link: SshLink;
  readonly #clock: Clock;
  readonly #channel: FileChannel | null;

  /** @param channel The only one that is asked. None: the one that is open then. */
  constructor(system: string, link: SshLink, clock: Clock, channel: FileChannel | null = null) {
    this.system = system;
    this.#link = link;
    this.#clock = clock;
    this.#channel = channel;
  }

  /** For several requests about what one of them opens. */
  async inOneChannel(): Promise<Sftp> {
    try {
      return new Sftp(this.system, this.#link, this.#clock, await this.#link.sftp());
    } catch (error) {
      throw await this.#told('/', error);
    }
  }

  /** While something is done in several requests. */
  use(): () => void {
    return this.#link.use();
  }

  /** @throws FileTrouble, SystemTrouble */
  async ask<T>(path: string, request: (sftp: SFTPWrapper, done: Done<T>) => void): Promise<T> {
    try {
      return await this.#asked(request);
    } catch (error) {
      throw await this.#told(path, error);
    }
  }

  /** Null when there is no such thing. */
  async absent<T>(path: string, request: (sftp: SFTPWrapper, done: Done<T>) => void): Promise<T | null> {
    try {
      return await this.ask(path, request);
    } catch (error) {
      if (error instanceof FileTrouble && error.problem === 'NOT_FOUND') return null;
      throw error;
    }
  }

  /** Null at the end of what is read. */
  async untilEnd<T>(path: string, request: (sftp: SFTPWrapper, done: Done<T>) => void): Promise<T | null> {
    try {
      return await this.#asked(request);
    } catch (error) {
      if (codeOf(error) === END_OF_FILE) return null;
      throw await this.#told(path, error);
    }
  }

  /** What only servers of OpenSSH do. False: this one does not. */
  async extended(path: string, request: (sftp: SFTPWrapper, done: Done<unknown>) => void): Promise<boolean> {
    try {
      await this.#asked(request);
      return true;
    } catch (error) {
      const missing = error instanceof Error && error.message.includes('does not support this extended request');
      if (missing || codeOf(error) === UNSUPPORTED) return false;
      throw await this.#told(path, error);
    }
  }

  async #asked<T>(request: (sftp: SFTPWrapper, done: Done<T>) => void): Promise<T> {
    const release = this.#link.use();
    try {
      const channel = this.#channel ?? (await this.#link.sftp());
      if (channel.lost) throw new Error('the connection was lost');
      const { sftp } = channel;
      return await new Promise<T>((resolve, reject) => {
        const lost = (): void => {
          timer.cancel();
          reject(new Error('the connection was lost'));
        };
        const timer = this.#clock.after(REQUEST_MS, () => {
          sftp.off('close', lost);
          this.#link.dropSftp();
          const text = `system ${this.system} did not answer about a file in ${REQUEST_MS} ms`;
          reject(new SystemTrouble(this.system, 'CONNECTION_TIMEOUT', text));
        });
        sftp.once('close', lost);
        request(sftp, (error, value) => {
          timer.cancel();
          sftp.off('close', lost);
          if (error === null || error === undefined) resolve(value as T);
          else reject(error);
        });
      });
    } finally {
      release();
    }
  }

  async #told(path: string, error: unknown): Promise<unknown> {
    if (error instanceof SystemTrouble || error instanceof FileTrouble) return error;
    const code = codeOf(error);
    const text = error instanceof Error ? error.message : String(error);
    const problem = code === null ? undefined : PROBLEMS[code];
    if (problem !== undefined) return new FileTrouble(path, problem[0], `${path} ${problem[1]}`, { cause: error });
    const options = { cause: error };
    if (code === FAILURE && (await this.#isFull(path))) {
      return new SystemTrouble(this.system, 'DISK_FULL', `the disk of system ${this.system} is full: ${path}`, options);
    }
    const failed = `system ${this.system} failed at ${path}: ${text}`;
    return new SystemTrouble(
      this.system,
      code === null ? 'CONNECTION_FAILURE' : 'TRANSMISSION_FAILURE',
      failed,
      options,
    );
  }

  /** A server says no more than that it failed. */
  async #isFull(path: string): Promise<boolean> {
    try {
      const space = await this.#asked<{ f_bavail: number; f_frsize: number; f_favail: number; f_files: number }>(
        (sftp, done) => sftp.ext_openssh_statvfs(posix.dirname(path), done),
      );
      return space.f_bavail * space.f_frsize < SPACE || (space.f_files > 0 && space.f_favail === 0);
    } catch {
      return false;
    }
  }
}

function codeOf(error: unknown): number | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null;
}
