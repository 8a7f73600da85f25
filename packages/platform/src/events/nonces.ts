import { MusterError } from '../errors.js';

export interface NonceLimits {
  readonly perPrincipal: number;
  readonly all: number;
}

const SWEEP_MS = 1000;

/**
 * Nonces of signed logins, each until its login is too old to be accepted anyway. Only what was verified gets here, so
 * strangers cannot fill it.
 */
export class Nonces {
  readonly #limits: NonceLimits;
  /** In the order in which they came, which is not that of their ends. */
  readonly #seen = new Map<string, Map<string, number>>();
  #size = 0;
  #usesToSweep = 0;
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(limits: NonceLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** False when the principal has used it before. @throws MusterError `too_busy` when there are too many to remember. */
  use(principalId: string, nonce: string, endsMs: number, nowMs: number): boolean {
    this.#sweep(nowMs);
    const own = this.#seen.get(principalId) ?? new Map<string, number>();
    if (own.has(nonce)) return false;
    const { perPrincipal, all } = this.#limits;
    if (own.size >= perPrincipal) this.#forgetEnded(principalId, own, nowMs);
    if (own.size >= perPrincipal)
      throw new MusterError('too_busy', { what: 'logins of one name', limit: perPrincipal });
    if (this.#size >= all) throw new MusterError('too_busy', { what: 'signed logins', limit: all });
    this.remember(principalId, nonce, endsMs);
    return true;
  }

  /** It was used before. */
  remember(principalId: string, nonce: string, endsMs: number): void {
    const own = this.#seen.get(principalId) ?? new Map<string, number>();
    own.set(nonce, endsMs);
    this.#size++;
    this.#seen.set(principalId, own);
  }

  /** Once for every so many as are there, so that it costs little for each; when they are too many, once a second. */
  #sweep(nowMs: number): void {
    this.#usesToSweep -= 1;
    const full = this.#size >= this.#limits.all && Math.abs(nowMs - this.#sweptMs) >= SWEEP_MS;
    if (this.#usesToSweep > 0 && !full) return;
    for (const [principalId, own] of this.#seen) this.#forgetEnded(principalId, own, nowMs);
    this.#usesToSweep = this.#size;
    this.#sweptMs = nowMs;
  }

  #forgetEnded(principalId: string, own: Map<string, number>, nowMs: number): void {
    for (const [nonce, endsMs] of own) {
      if (endsMs > nowMs) continue;
      own.delete(nonce);
      this.#size--;
    }
    if (own.size === 0) this.#seen.delete(principalId);
  }
}
