import { MusterError } from '@muster/wire';
import type { Channel, ChannelHandlers } from '../channel.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { Revoked } from '../root/ports.js';
import { errorFrame } from './answers.js';
import type { SessionContext } from './context.js';
import { Crowd } from './crowd.js';
import { Session } from './session.js';
import { StallWatch } from './stall-watch.js';

export type SessionsPorts = Omit<SessionContext<Session>, 'mayRead' | 'opened' | 'closed'> & {
  /** A relay that waits longer for an answer has given up (F4). */
  readonly sendMs: number;
};

/** All clients of a root or relay. */
export class Sessions {
  readonly #context: SessionContext<Session>;
  readonly #all = new Set<Session>();
  readonly #open = new Set<Session>();
  readonly #crowd: Crowd;
  readonly #stalls: StallWatch;
  #made = 0;

  constructor(ports: SessionsPorts) {
    const { clock, log, metrics, sendMs } = ports;
    this.#crowd = new Crowd({ clock, log, metrics });
    this.#context = {
      ...ports,
      mayRead: (session) => this.#stalls.look() || !session.access.relay,
      opened: (session) => {
        this.#open.add(session);
        this.#crowd.leave(session.remote);
        if (session.access.relay && session.sendMs !== null) this.#stalls.within(session.sendMs);
        metrics.opened += 1;
      },
      closed: (session) => {
        this.#all.delete(session);
        if (!this.#open.delete(session)) this.#crowd.leave(session.remote);
      },
    };
    this.#stalls = new StallWatch(clock, sendMs, (stalledMs) => {
      metrics.stalls += 1;
      log.warn({ stalledMs }, 'this process stood still: relays are cut, as they have given up what they sent');
      this.#cutRelays();
    });
  }

  /** Takes a connection; may be called on its own, as an `Accept`. */
  readonly accept = (channel: Channel): ChannelHandlers => {
    const { metrics } = this.#context;
    metrics.accepted += 1;
    const refusal = this.#refusal(channel.remote);
    if (refusal !== null) return refuse(channel, refusal);
    this.#made += 1;
    const session = new Session(this.#made, channel, this.#context);
    this.#all.add(session);
    return session;
  };

  /** Logged in. */
  get open(): ReadonlySet<Session> {
    return this.#open;
  }

  /** Connected, logged in or not. */
  get size(): number {
    return this.#all.size;
  }

  /** Ends every session, each with that ERROR. */
  cutAll(error: MusterError): void {
    for (const session of [...this.#all]) session.cut(error);
  }

  /** Ends those whose rights have changed or ended, and tells relays, as they have asked for others, too. */
  revoke(revoked: Revoked): void {
    for (const session of [...this.#open]) {
      const { principal } = session.access;
      if (session.isMeant(revoked)) session.cut(new MusterError('event_revoked', { principal }));
      else session.revoked(revoked);
    }
  }

  /** Tells everybody that events may be missing here, because they did not reach this process; relays tell their clients. */
  gap(): void {
    for (const session of this.#open) session.gap();
  }

  /** Stops watching the clock; the sessions are not touched. */
  stop(): void {
    this.#stalls.stop();
  }

  #cutRelays(): void {
    for (const session of [...this.#open]) if (session.access.relay) session.destroy();
  }

  #refusal(remote: string): MusterError | null {
    const limit = FABRIC_LIMITS.connections;
    if (this.#all.size >= limit) return new MusterError('too_busy', { what: 'connections', limit });
    return this.#crowd.enter(remote);
  }
}

function refuse(channel: Channel, error: MusterError): ChannelHandlers {
  channel.write(errorFrame(error, null, '1.2'));
  channel.end();
  return { data() {}, drained() {}, closed() {} };
}
