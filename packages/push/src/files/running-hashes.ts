import { createHash, type Hash } from 'node:crypto';

/** Hashes of files that come piece by piece, so that a long one need not be read again at its end. The oldest are given up. */
export class RunningHashes {
  readonly #most: number;
  readonly #running = new Map<string, { readonly hash: Hash; at: number }>();

  constructor(most: number) {
    this.#most = most;
  }

  add(id: string, offset: number, data: Uint8Array): void {
    const known = this.#running.get(id) ?? (offset === 0 ? { hash: createHash('sha256'), at: 0 } : undefined);
    this.#running.delete(id);
    // Some of it came before this process, or by another one.
    if (known === undefined || known.at !== offset) return;
    known.hash.update(data);
    known.at += data.length;
    this.#running.set(id, known);
    const [oldest] = this.#running.keys();
    if (this.#running.size > this.#most && oldest !== undefined) this.#running.delete(oldest);
  }

  /** Null unless every byte was seen. */
  take(id: string, size: number): string | null {
    const known = this.#running.get(id);
    this.#running.delete(id);
    return known === undefined || known.at !== size ? null : known.hash.digest('hex');
  }
}
