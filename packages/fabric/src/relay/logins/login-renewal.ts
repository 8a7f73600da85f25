import type { Clock, Timer } from '@muster/base';
import { MusterError } from '../../errors.js';
import type { Login } from '../../protocol/login.js';
import type { Session } from '../../session/session.js';

export interface LoginRenewalPorts {
  readonly clock: Clock;
  /** The sessions of clients that are logged in. */
  sessions(): Iterable<Session>;
  ask(login: string, grounds: string): Promise<Login>;
}

/** Requests that wait for an answer: fewer than upstream takes, as new clients log in, too. */
const AT_ONCE = 100;
/** Pause when upstream is too busy (`too_busy`): many relays may be asking at once. */
const PAUSE_MS = 500;

/**
 * Has the logins of all clients judged again when upstream is back: meanwhile the relay was not told of revocations,
 * and an upstream that was restarted does not know the logins. Clients whose rights are not the same as before are cut.
 */
export class LoginRenewal {
  readonly #ports: LoginRenewalPorts;
  #waiting: Session[] = [];
  /** Number of the connection upstream: answers that came on an earlier one are ignored. */
  #round = 0;
  /** Requests that are postponed until the pause is over. */
  #postponed = 0;
  #pauseTimer: Timer | null = null;

  constructor(ports: LoginRenewalPorts) {
    this.#ports = ports;
  }

  /** Upstream is back. Relays below are told to ask for their own clients. */
  start(): void {
    this.stop();
    this.#waiting = [...this.#ports.sessions()];
    for (const session of this.#waiting) session.askToRenew();
    for (let asking = 0; asking < AT_ONCE; asking++) void this.#ask(this.#round);
  }

  /** Upstream is gone. */
  stop(): void {
    this.#round += 1;
    this.#waiting = [];
    this.#postponed = 0;
    this.#pauseTimer?.cancel();
    this.#pauseTimer = null;
  }

  async #ask(round: number): Promise<void> {
    for (;;) {
      const session = round === this.#round ? this.#waiting.pop() : undefined;
      if (session === undefined) return;
      if (!session.isConnected || (await this.#renew(session, round))) continue;
      this.#waiting.push(session);
      return this.#pause();
    }
  }

  #pause(): void {
    this.#postponed += 1;
    this.#pauseTimer ??= this.#ports.clock.after(PAUSE_MS, () => {
      const asking = this.#postponed;
      this.#pauseTimer = null;
      this.#postponed = 0;
      for (let index = 0; index < asking; index++) void this.#ask(this.#round);
    });
  }

  /** @returns false: upstream is too busy now. */
  async #renew(session: Session, round: number): Promise<boolean> {
    const { principal } = session.access;
    try {
      const login = await this.#ports.ask(principal, session.grounds);
      if (round === this.#round) session.renewed(login);
    } catch (error) {
      if (round !== this.#round) return true;
      if (error instanceof MusterError && error.code === 'too_busy') return false;
      // A client whose login cannot be judged is cut: it may log in again.
      const isKnown = error instanceof MusterError && error.code !== 'login_refused';
      session.cut(isKnown ? error : new MusterError('event_revoked', { principal }));
    }
    return true;
  }
}
