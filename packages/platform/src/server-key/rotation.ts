import { type Clock, durationText, type Timer } from '@muster/base';
import type { Changes } from '../auth/changes.js';
import type { Actor } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { Layer } from '../layers/layer.js';
import { SERVER_KEY_LIMITS } from './limits.js';
import type { RotatingServerKey } from './rotating-key.js';

export interface ServerKeyRotationDeps {
  readonly key: RotatingServerKey;
  readonly changes: Pick<Changes, 'apply'>;
  readonly clock: Clock;
  /** Seconds in which every agent that is connected asks for its configuration, and so learns of an announced key. */
  readonly overlapLeast: number;
  /** Every agent has to hear of the new key now. */
  readonly revoked: () => void;
  /** It is tried again. */
  readonly failed: (error: unknown) => void;
}

/** Replaces the server's key when its time has come, and tells what is done to it: in the audit, and to every organization. */
export class ServerKeyRotation implements Layer {
  readonly #deps: ServerKeyRotationDeps;
  #timer: Timer | null = null;
  #retry: Timer | null = null;
  #telling: Promise<void> = Promise.resolve();
  #started = false;

  constructor(deps: ServerKeyRotationDeps) {
    this.#deps = deps;
  }

  /** Before anything is signed: what fell due while the server was away. */
  async load(): Promise<void> {
    this.#deps.key.takeOverIfDue(this.#deps.clock.now());
  }

  start(): void {
    this.#started = true;
    this.#arm();
    void this.#tell();
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#timer?.cancel();
    this.#retry?.cancel();
    await this.#telling;
  }

  /**
   * The next key is known from now on, and used in `overlap` seconds.
   * @throws MusterError `invalid_field`, `server_key_announced`, `too_many_server_keys`
   */
  async announce(actor: Actor, overlap: number = SERVER_KEY_LIMITS.overlap): Promise<void> {
    const { key, clock, overlapLeast } = this.#deps;
    const { overlapMost } = SERVER_KEY_LIMITS;
    if (!(overlap >= overlapLeast && overlap <= overlapMost)) {
      const reason = `expected ${durationText(overlapLeast)} to ${durationText(overlapMost)}: within command.config_lifetime every connected agent learns of the key`;
      throw new MusterError('invalid_field', { field: 'overlap', reason });
    }
    const now = clock.now();
    await key.announce(actor, { now, takesOverAt: now + overlap * 1000 });
    this.#arm();
    await this.#tell();
  }

  async revoke(actor: Actor): Promise<void> {
    const { key, clock, revoked } = this.#deps;
    await key.revoke(actor, clock.now());
    this.#arm();
    revoked();
    await this.#tell();
  }

  /** @throws MusterError `no_server_key_announced` */
  async cancel(actor: Actor): Promise<void> {
    this.#deps.key.cancel(actor);
    this.#arm();
    await this.#tell();
  }

  #arm(): void {
    this.#timer?.cancel();
    const { key, clock, failed } = this.#deps;
    if (!this.#started || key.next === null) return;
    const left = Date.parse(key.next.takes_over_at) - clock.now();
    this.#timer = clock.after(Math.max(left, 0), () => this.#takeOver(failed));
  }

  #takeOver(failed: (error: unknown) => void): void {
    const { key, clock } = this.#deps;
    try {
      key.takeOverIfDue(clock.now());
      // Not due: somebody has set the clock back meanwhile.
      this.#arm();
      void this.#tell();
    } catch (error) {
      // A full disk: the present key stays in use.
      failed(error);
      this.#timer = clock.after(SERVER_KEY_LIMITS.retryMs, () => this.#takeOver(failed));
    }
  }

  /** One after the other, in their order. What cannot be stored now is told later; that does not hold up the key. */
  #tell(): Promise<void> {
    this.#telling = this.#telling.then(async () => {
      const { key, changes, clock, failed } = this.#deps;
      try {
        for (let next = key.untold[0]; next !== undefined; next = key.untold[0]) {
          await changes.apply({ orgId: null, concerns: 'everybody', ...next }, async () => undefined);
          key.wasTold();
        }
      } catch (error) {
        failed(error);
        this.#retry?.cancel();
        if (this.#started) this.#retry = clock.after(SERVER_KEY_LIMITS.retryMs, () => void this.#tell());
      }
    });
    return this.#telling;
  }
}
