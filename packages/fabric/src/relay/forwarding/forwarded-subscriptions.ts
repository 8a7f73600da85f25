import type { Clock } from '@muster/base';
import { MusterError } from '../../errors.js';
import { FABRIC_LIMITS } from '../../limits.js';
import type { Replay, ReplayRequest } from '../../session/broker.js';
import { FairShares } from '../../session/fair-shares.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import type { Upstream } from '../upstream/upstream.js';
import { ForwardedReplay } from './forwarded-replay.js';

const PREFIX = 'up-';
/** To upstream they are subscriptions of one client, which has one of its own. */
const MOST = FABRIC_LIMITS.subscriptionsPerClient - 1;

/**
 * Subscriptions that only the root can serve, because they begin in the past or are kept for their client (F6): each is
 * a subscription of its own upstream, and lives as long as the client's. A relay keeps no events for them.
 */
export class ForwardedSubscriptions {
  readonly #replays = new Set<ForwardedReplay>();
  readonly #byId = new Map<string, ForwardedReplay>();
  /** Divides the subscriptions that upstream allows among the clients. */
  readonly #shares = new FairShares(MOST);
  readonly #anonymous: boolean;
  readonly #clock: Clock;
  #upstream: Upstream | null = null;
  #made = 0;

  /** @param anonymous Clients are not named to upstream. */
  constructor(anonymous: boolean, clock: Clock) {
    this.#anonymous = anonymous;
    this.#clock = clock;
  }

  get size(): number {
    return this.#replays.size;
  }

  /** The connection that is ready, or null. What was passed up before goes on in a new one where it was. */
  use(upstream: Upstream | null): void {
    this.#upstream = upstream;
    this.#byId.clear();
    for (const replay of this.#replays) replay.use(upstream);
  }

  /** @throws MusterError `stomp_too_many`, `stomp_too_large` */
  add(request: ReplayRequest): Replay {
    const who = `${request.kind} ${request.principal}`;
    const replay: ForwardedReplay = new ForwardedReplay(request, this.#anonymous, this.#clock, {
      register: () => {
        this.#made += 1;
        const id = `${PREFIX}${this.#made}`;
        this.#byId.set(id, replay);
        return id;
      },
      unregister: (id) => this.#byId.delete(id),
      ended: () => {
        if (this.#replays.delete(replay)) this.#shares.giveBack(who);
      },
    });
    if (!this.#shares.take(who)) throw tooMany(request, this.#shares.heldBy(who));
    this.#replays.add(replay);
    replay.use(this.#upstream);
    return replay;
  }

  /** Upstream has ended that subscription. */
  refused(subscription: string, error: MusterError): void {
    this.#byId.get(subscription)?.refused(error);
  }

  /** A MESSAGE of a subscription that was passed up. False: there was none of that id. */
  message(subscription: string, raw: RawFrame): boolean {
    const replay = this.#byId.get(subscription);
    // A MESSAGE that was on its way when the subscription ended is dropped.
    if (replay === undefined) return subscription.startsWith(PREFIX);
    replay.message(raw);
    return true;
  }
}

function tooMany({ principal }: ReplayRequest, held: number): MusterError {
  const what = 'subscriptions with from or durable at this relay';
  const details = held === 0 ? { what, limit: MOST } : { what: `${what} for '${principal}'`, limit: held };
  return new MusterError('stomp_too_many', { command: 'SUBSCRIBE', ...details });
}
