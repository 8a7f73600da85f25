import type { Broker } from '@muster/broker';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import { remoteEndOf } from '../recovery/enter.js';
import { RECOVERY_HINT } from '../recovery/hint.js';
import { recoverOf } from '../recovery/messages.js';
import type { Job, Obstacle } from '../types.js';

export interface RecoveryCallsDeps {
  readonly broker: Broker;
  readonly store: Store;
  readonly log: LayerLog;
  /** Who sends. */
  readonly sender: string;
}

/**
 * What a worker says to recovery. All that counts is stored by then: the messages only wake the reader, which looks for
 * itself when one is lost.
 */
export class RecoveryCalls {
  readonly #deps: RecoveryCallsDeps;

  constructor(deps: RecoveryCallsDeps) {
    this.#deps = deps;
  }

  /** A job became BLOCKED (sheet §5.5). */
  blocked(job: Job, obstacle: Obstacle): Promise<void> {
    return this.#send(job, obstacle);
  }

  /** A job ended whose program may still run. */
  unconfirmed(job: Job): Promise<void> {
    return this.#send(job, remoteEndOf(job));
  }

  /** Its program has ended: nobody need see to it any more. */
  async ended({ uuid, orgId }: Job): Promise<void> {
    const { store } = this.#deps;
    await store.transact(async (trx) => {
      await trx.deleteFrom('job_blocked').where('uuid', '=', uuid).where('state', '=', 'killing').execute();
    });
    // Its record may be for nobody any more: the reader looks.
    store.hints.send(RECOVERY_HINT, orgId);
  }

  /** Whoever changed the job last may have died before anything was said. */
  remind({ orgId }: Pick<Job, 'orgId'>): void {
    this.#deps.store.hints.send(RECOVERY_HINT, orgId);
  }

  async #send(job: Job, obstacle: Obstacle): Promise<void> {
    const { broker, log, sender } = this.#deps;
    try {
      await broker.publish(recoverOf(job, obstacle, sender));
    } catch (err) {
      log.warn(
        { err, job: job.uuid },
        'recovery could not be told of a job: it looks by itself when the broker is back',
      );
    }
  }
}
