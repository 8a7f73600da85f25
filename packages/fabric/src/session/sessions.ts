import { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { Revoked } from '../protocol/login.js';
import type { Channel, ChannelHandlers } from '../transport/channel.js';
import type { SessionContext } from './context.js';
import { LoginAdmission } from './login-admission.js';
import { errorFrame } from './reply-frames.js';
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
  readonly #connected = new Set<Session>();
  readonly #admission: LoginAdmission;
  readonly #stalls: StallWatch;
  #accepted = 0;

  constructor(ports: SessionsPorts) {
    const { clock, log, metrics, sendMs } = ports;
    this.#admission = new LoginAdmission({ clock, log, metrics });
    this.#context = {
      ...ports,
      mayRead: (session) => this.#stalls.look() || !session.access.relay,
      opened: (session) => {
        this.#connected.add(session);
        this.#admission.release(session.remote);
        if (session.access.relay && session.sendMs !== null) this.#stalls.within(session.sendMs);
        metrics.opened += 1;
      },
      closed: (session) => {
        this.#all.delete(session);
        if (!this.#connected.delete(session)) this.#admission.release(session.remote);
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
    this.#accepted += 1;
    const session = new Session(this.#accepted, channel, this.#context);
    this.#all.add(session);
    return session;
  };

  /** Logged in. */
  get connected(): ReadonlySet<Session> {
    return this.#connected;
  }

  /** Connected, logged in or not. */
  get size(): number {
    return this.#all.size;
  }

  /** Ends every session, each with that ERROR. */
  cutAll(error: MusterError): void {
    for (const session of [...this.#all]) session.cut(error);
  }

  /**
   * Ends the sessions whose rights have changed or ended. Relays are told, as they may have clients with the same
   * login.
   */
  revoke(revoked: Revoked): void {
    for (const session of [...this.#connected]) {
      const { principal } = session.access;
      if (session.concerns(revoked)) session.cut(new MusterError('event_revoked', { principal }));
      else session.revoked(revoked);
    }
  }

  /**
   * Tells every client that events may be missing at this point, as they did not reach this process; relays pass it on.
   */
  gap(): void {
    for (const session of this.#connected) session.gap();
  }

  /** Stops watching the clock; the sessions are not touched. */
  stop(): void {
    this.#stalls.stop();
  }

  #cutRelays(): void {
    for (const session of [...this.#connected]) if (session.access.relay) session.destroy();
  }

  #refusal(remote: string): MusterError | null {
    const limit = FABRIC_LIMITS.connections;
    if (this.#all.size >= limit) return new MusterError('too_busy', { what: 'connections', limit });
    return this.#admission.admit(remote);
  }
}

function refuse(channel: Channel, error: MusterError): ChannelHandlers {
  channel.write(errorFrame(error, null, '1.2'));
  channel.end();
  return { data() {}, drained() {}, closed() {} };
}
