import type { Clock } from '@muster/base';
import type { Store } from '@muster/store';
import { Upkeep } from '../../upkeep/upkeep.js';
import { AUTH_LIMITS } from '../limits.js';
import type { AuthRepository } from '../repository.js';
import type { Session } from './types.js';

export interface LiveSessionsDeps {
  readonly store: Store;
  readonly repository: Pick<AuthRepository, 'session' | 'changed'>;
  readonly clock: Clock;
  /** What was seen could not be stored, or what has ended not be deleted; it is tried again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Which sessions go on. Each request of one counts as a sign of life; these are kept here and stored together, once in a while, so
 * that a request costs no write. A server that dies forgets the last minute of them.
 */
export class LiveSessions {
  readonly #deps: LiveSessionsDeps;
  readonly #upkeep: Upkeep;
  /** When sessions were seen, by id, since that was last stored. */
  readonly #seen = new Map<string, number>();

  constructor(deps: LiveSessionsDeps) {
    this.#deps = deps;
    const { clock, failed } = deps;
    this.#upkeep = new Upkeep({ clock, pauseMs: AUTH_LIMITS.sessionsEveryMs, round: () => this.tidy(), failed });
  }

  start(): void {
    this.#upkeep.start();
  }

  /** What was seen is stored. */
  async stop(): Promise<void> {
    await this.#upkeep.stop();
    await this.#store().catch(this.#deps.failed);
  }

  /** By the hash of its secret; null: there is none, or it has ended. */
  async find(hash: string): Promise<Session | null> {
    const session = await this.#deps.repository.session(hash);
    if (session === undefined) return null;
    const now = this.#deps.clock.now();
    const isUsed = this.lastSeen(session) > now - AUTH_LIMITS.sessionIdleMs;
    return isUsed && session.expiresAt > now ? session : null;
  }

  /** Its user does something. */
  saw({ id }: Pick<Session, 'id'>): void {
    // Then the next request tells it again.
    if (this.#seen.size < AUTH_LIMITS.sessionsSeen || this.#seen.has(id)) this.#seen.set(id, this.#deps.clock.now());
    else this.#upkeep.hurry();
  }

  /** When its user last did something, as far as that is known here. */
  lastSeen({ id, lastSeen }: Pick<Session, 'id' | 'lastSeen'>): number {
    return Math.max(lastSeen, this.#seen.get(id) ?? 0);
  }

  /** Stores what was seen, and deletes what has ended: streams and connections of those sessions end. */
  async tidy(): Promise<void> {
    const { store, repository, clock } = this.#deps;
    await this.#store();
    const now = clock.now();
    const idleSince = now - AUTH_LIMITS.sessionIdleMs;
    // Read first: most often nothing has ended, and writes wait for each other.
    const over = await store.read
      .selectFrom('browser_sessions')
      .select('id')
      .where((is) => is.or([is('expires_at', '<=', now), is('last_seen', '<=', idleSince)]))
      .limit(AUTH_LIMITS.remnantRows)
      .execute();
    if (over.length === 0) return;
    const ids = over.map(({ id }) => id);
    await store.transact(async (trx) => {
      await trx.deleteFrom('session_tickets').where('session_id', 'in', ids).execute();
      await trx.deleteFrom('browser_sessions').where('id', 'in', ids).execute();
      await trx.deleteFrom('sign_in_links').where('expires_at', '<=', now).execute();
    });
    repository.changed();
  }

  async #store(): Promise<void> {
    const seen = [...this.#seen];
    if (seen.length === 0) return;
    await this.#deps.store.transact(async (trx) => {
      for (const [id, at] of seen) {
        const row = trx.updateTable('browser_sessions').set({ last_seen: at }).where('id', '=', id);
        await row.where('last_seen', '<', at).execute();
      }
    });
    for (const [id, at] of seen) if (this.#seen.get(id) === at) this.#seen.delete(id);
  }
}
