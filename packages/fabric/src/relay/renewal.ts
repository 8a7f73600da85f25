import { type Clock, MusterError, type Timer } from '@muster/wire';
import type { Login } from '../root/ports.js';
import type { Session } from '../session/session.js';

export interface RenewalPorts {
  readonly clock: Clock;
  /** Those who are logged in. */
  sessions(): Iterable<Session>;
  ask(login: string, grounds: string): Promise<Login>;
}

/** Questions that wait for an answer: new clients log in besides. */
const AT_ONCE = 100;
/** Before those are asked about again for whom there was no time: many relays may be asking at once. */
const REST_MS = 500;

/**
 * While upstream was away this relay heard of no withdrawals, and an upstream that was started again knows nothing of
 * the logins of before. So they are judged again, all of them, and who may not do the same as before is cut.
 */
export class Renewal {
  readonly #ports: RenewalPorts;
  #waiting: Session[] = [];
  /** Counts connections upstream: answers of an earlier one say nothing. */
  #round = 0;
  /** Questions that would be asked if upstream had time for them, until the timer runs. */
  #resting = 0;
  #rest: Timer | null = null;

  constructor(ports: RenewalPorts) {
    this.#ports = ports;
  }

  /** Upstream is there. Relays below ask for their own clients. */
  start(): void {
    this.stop();
    this.#waiting = [...this.#ports.sessions()];
    for (const session of this.#waiting) session.renewBelow();
    for (let asking = 0; asking < AT_ONCE; asking++) void this.#ask(this.#round);
  }

  /** Upstream is gone; the next one is asked. */
  stop(): void {
    this.#round += 1;
    this.#waiting = [];
    this.#resting = 0;
    this.#rest?.cancel();
    this.#rest = null;
  }

  async #ask(round: number): Promise<void> {
    for (;;) {
      const session = round === this.#round ? this.#waiting.pop() : undefined;
      if (session === undefined) return;
      if (!session.open || (await this.#renew(session, round))) continue;
      this.#waiting.push(session);
      return this.#pause();
    }
  }

  #pause(): void {
    this.#resting += 1;
    this.#rest ??= this.#ports.clock.after(REST_MS, () => {
      const asking = this.#resting;
      this.#rest = null;
      this.#resting = 0;
      for (let index = 0; index < asking; index++) void this.#ask(this.#round);
    });
  }

  /** False: there is no time for it now. */
  async #renew(session: Session, round: number): Promise<boolean> {
    const { principal } = session.access;
    try {
      const login = await this.#ports.ask(principal, session.grounds);
      if (round === this.#round) session.renewed(login);
    } catch (error) {
      if (round !== this.#round) return true;
      if (error instanceof MusterError && error.code === 'too_busy') return false;
      // Whoever cannot be judged is not kept: it may come again.
      const told = error instanceof MusterError && error.code !== 'login_refused';
      session.cut(told ? error : new MusterError('event_revoked', { principal }));
    }
    return true;
  }
}
