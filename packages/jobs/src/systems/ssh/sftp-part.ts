import type { Part } from '../whole-file.js';
import type { Sftp } from './sftp.js';

/** Bytes that are on their way at the same time. */
export const WINDOW = 512 * 1024;
const PIECE = 64 * 1024;

/** A file that is written over SFTP, several pieces at a time. */
export class SftpPart implements Part {
  readonly #sftp: Sftp;
  readonly #path: string;
  readonly #handle: Buffer;
  readonly #mode: number;
  #position: number;
  #underway = new Set<Promise<void>>();
  #bytes = 0;
  #failure: { readonly error: unknown } | null = null;

  constructor(sftp: Sftp, path: string, handle: Buffer, from: number, mode: number) {
    this.#sftp = sftp;
    this.#path = path;
    this.#handle = handle;
    this.#position = from;
    this.#mode = mode;
  }

  async write(whole: Buffer): Promise<void> {
    for (let at = 0; at < whole.length; at += PIECE) {
      const piece = whole.subarray(at, at + PIECE);
      while (this.#underway.size > 0 && this.#bytes + piece.length > WINDOW) await Promise.race(this.#underway);
      if (this.#failure !== null) throw this.#failure.error;
      this.#send(piece, this.#position);
      this.#position += piece.length;
    }
  }

  async finish(): Promise<void> {
    await Promise.all(this.#underway);
    if (this.#failure !== null) throw this.#failure.error;
    await this.#sftp.ask(this.#path, (to, done) => to.fchmod(this.#handle, this.#mode, done));
    await this.#sftp.extended(this.#path, (to, done) => to.ext_openssh_fsync(this.#handle, done));
  }

  async close(): Promise<void> {
    await Promise.all(this.#underway);
    // What went wrong before is what is told.
    await this.#sftp.ask(this.#path, (to, done) => to.close(this.#handle, done)).catch(() => undefined);
  }

  #send(piece: Buffer, position: number): void {
    this.#bytes += piece.length;
    const sent: Promise<void> = this.#sftp
      .ask<void>(this.#path, (to, done) => to.write(this.#handle, piece, 0, piece.length, position, done))
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#bytes -= piece.length;
        this.#underway.delete(sent);
      });
    this.#underway.add(sent);
  }
}
