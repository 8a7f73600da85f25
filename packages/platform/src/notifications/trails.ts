import { type Clock, Looks } from '@muster/base';
import { fence, type Lease, type Leases, type Store, type Write } from '@muster/store';
import { type AuditSeals, SEALED_HINT, type Sealed } from '../auth/audit-seals.js';
import type { Auth } from '../auth/auth.js';
import { principalNow } from '../auth/principal-now.js';
import { OUTBOUND_LIMITS } from '../outbound/limits.js';
import { signatureHeaders, webhookKey } from '../outbound/signature.js';
import { postWebhook, type Sent } from '../outbound/webhook.js';
import { LeaseKeeper, type Turn } from '../upkeep/lease-keeper.js';
import type { LayerLog } from '../upkeep/logging.js';
import { enabledNotifications, NOTIFICATIONS_HINT } from './directory.js';
import { type StoredTrail, settledTrail, trailBody, trailId } from './trail.js';
import type { Notification } from './types.js';

export interface AuditTrailsDeps {
  readonly store: Store;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly auth: Pick<Auth, 'authorize' | 'repository'> & {
    readonly auditSeals: Pick<AuditSeals, 'keyLinks' | 'page' | 'publicKey'>;
  };
  /** What the keys are made of with which webhooks are signed. */
  readonly masterKey: Uint8Array;
  readonly privateTargets: boolean;
  /** Sends one webhook; over HTTP unless given. */
  readonly post?: typeof postWebhook;
}

/**
 * Brings the audit to those who follow it: seal after seal with its entries, the next when the one before has arrived. The audit
 * itself is what waits, so that nothing is missing after however long an outage. One process for all, as long as it holds the lease.
 */
export class AuditTrails {
  readonly #keeper: LeaseKeeper;

  constructor(deps: AuditTrailsDeps) {
    const begin = async (lease: Lease): Promise<Turn> => new Trails(deps, lease).start();
    this.#keeper = new LeaseKeeper({ ...deps, name: 'audit trails', begin });
  }

  get holds(): boolean {
    return this.#keeper.holds;
  }

  start(): void {
    this.#keeper.start();
  }

  stop(): Promise<void> {
    return this.#keeper.stop();
  }
}

/** Until what could not be read or stored is looked at again. */
const AGAIN_MS = 5000;

interface Due {
  readonly trail: StoredTrail;
  readonly notification: Notification;
}

class Trails implements Turn {
  readonly #deps: AuditTrailsDeps;
  readonly #fence: Write;
  readonly #looks: Looks;
  /** By the ids of their notifications. */
  readonly #sending = new Map<string, Promise<void>>();
  readonly #deaf: (() => void)[] = [];
  #stopped = false;

  constructor(deps: AuditTrailsDeps, lease: Lease) {
    this.#deps = deps;
    this.#fence = fence(lease);
    this.#looks = new Looks({
      clock: deps.clock,
      againMs: AGAIN_MS,
      look: () => this.#begin(),
      failed: (error) => this.#tell(error),
    });
  }

  start(): this {
    const { hints } = this.#deps.store;
    for (const topic of [SEALED_HINT, NOTIFICATIONS_HINT])
      this.#deaf.push(hints.listen(topic, () => this.#looks.ask()));
    this.#looks.ask();
    return this;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const deaf of this.#deaf) deaf();
    await this.#looks.stop();
    await Promise.all([...this.#sending.values()]);
  }

  #tell(error: unknown): void {
    this.#deps.log.warn({ err: error }, 'the audit could not be brought to those who follow it; trying again');
  }

  #failed(error: unknown): void {
    if (this.#stopped) return;
    this.#tell(error);
    this.#looks.later();
  }

  async #begin(): Promise<void> {
    const now = this.#deps.clock.now();
    // Of what was on its way while it was read, it is not known what of it came; whoever ends looks again.
    const before = new Set(this.#sending.keys());
    for (const due of await this.#due()) {
      const { notification_id: id, next_attempt: at } = due.trail;
      if (this.#sending.size >= OUTBOUND_LIMITS.atOnce) return;
      if (before.has(id) || this.#sending.has(id)) continue;
      if (at > now) {
        this.#looks.askBy(at);
        return;
      }
      const sending = this.#send(due)
        .then(
          () => true,
          (error: unknown) => {
            this.#failed(error);
            return false;
          },
        )
        .then((went) => {
          this.#sending.delete(id);
          if (went) this.#looks.ask();
        });
      this.#sending.set(id, sending);
    }
  }

  /** Those for whom there is a seal that they do not have; the earliest first. */
  async #due(): Promise<readonly Due[]> {
    const { read } = this.#deps.store;
    const rows = await read
      .selectFrom('audit_trails as t')
      .selectAll()
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('audit_seals as s')
            .select('s.number')
            .whereRef('s.org_id', '=', 't.org_id')
            .whereRef('s.number', '>', 't.seal'),
        ),
      )
      .orderBy('next_attempt')
      .orderBy('notification_id')
      .execute();
    if (rows.length === 0) return [];
    const notifications = new Map((await enabledNotifications(read, 'audit')).map((one) => [one.id, one]));
    return rows.flatMap((trail) => {
      const notification = notifications.get(trail.notification_id);
      return notification === undefined ? [] : [{ trail, notification }];
    });
  }

  /** As many as there are, until one does not arrive. */
  async #send({ trail, notification }: Due): Promise<void> {
    const { auditSeals } = this.#deps.auth;
    let at = trail;
    for (const sealed of await auditSeals.page(notification.org.id, trail.seal)) {
      if (this.#stopped) return;
      const next = await this.#sendOne(at, notification, sealed);
      if (next === null) return;
      at = { ...at, ...next };
    }
  }

  /** Where it stands then; null: it is not gone on with now. */
  async #sendOne(
    trail: StoredTrail,
    notification: Notification,
    sealed: Sealed,
  ): Promise<ReturnType<typeof settledTrail> | null> {
    const { clock, store, log } = this.#deps;
    const { id, name, org, updatedAt } = notification;
    const at = clock.now();
    const sent = await this.#attempt(notification, sealed, at);
    // What came of it is stored by whoever has the lease now: it is sent again there.
    if (this.#stopped) return null;
    const settled = settledTrail(trail, sealed.seal.number, sent, at, clock.now());
    const stored = await store.transact(async (trx, write) => {
      // Of one that was changed meanwhile the same is sent again, as it is then wanted.
      const now = trx.selectFrom('notifications').select('updated_at').where('id', '=', id);
      if ((await now.executeTakeFirst())?.updated_at !== updatedAt) return false;
      await trx.updateTable('audit_trails').set(settled).where('notification_id', '=', id).execute();
      write([this.#fence]);
      return true;
    });
    if (!stored) return null;
    if (sent.delivered) return settled;
    if (settled.attempts === 1) {
      const { code, detail } = sent;
      log.warn(
        { notification: name, org: org.name, code, detail },
        'the audit does not arrive; it is sent until it does',
      );
    }
    return null;
  }

  /** With the rights of its owner, as they are now. */
  async #attempt(notification: Notification, sealed: Sealed, now: number): Promise<Sent> {
    const { auth, masterKey, privateTargets, post = postWebhook } = this.#deps;
    const { org, owner, target } = notification;
    const identity = await principalNow(auth.repository, org, owner);
    if (identity === null || !(await auth.authorize(identity, org, 'org:admin'))) {
      return { delivered: false, code: null, detail: `${owner.name} may not read the audit any more; nothing is sent` };
    }
    const body = trailBody(notification, sealed, auth.auditSeals);
    const id = trailId(notification, sealed.seal.number);
    return post(target, body, signatureHeaders(webhookKey(masterKey, org.id), id, now, body), { privateTargets });
  }
}
