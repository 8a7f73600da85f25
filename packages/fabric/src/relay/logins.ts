import { type Clock, MusterError, type Timer } from '@muster/wire';
import { FABRIC_LIMITS } from '../limits.js';
import type { Login, Revoked } from '../root/ports.js';
import { bytesOf, textOf } from '../stomp/bytes.js';
import { type Frame, frame } from '../stomp/frame.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import { readLogin } from './login-answers.js';

/** Where a relay asks about its clients, and where the answers come: no subscription is needed for them. */
export const LOGIN_REQUESTS = '/muster/login';
export const LOGIN_ANSWERS = '/temp-queue/login';

/** Withdrawals that pending logins are compared with. */
const REMEMBERED = 100;

/** With a passcode for somebody who comes, with grounds for somebody who is there. */
export type LoginQuestion =
  | { readonly login: string; readonly passcode: string }
  | { readonly login: string; readonly grounds: string };

interface Pending {
  readonly resolve: (login: Login) => void;
  readonly reject: (error: MusterError) => void;
  readonly timer: Timer;
}

/** Logins of clients that upstream is asked about: bounded in number and time. */
export class Logins {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #pending = new Map<string, Pending>();
  /** What was withdrawn while logins were pending: their answers may have been on the way already. */
  #revoked: Revoked[] = [];
  #asked = 0;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  get pending(): number {
    return this.#pending.size;
  }

  /** Rejects with what upstream says, `too_busy`, or `upstream_failed` when there is no answer. */
  ask(question: LoginQuestion, send: (request: Frame) => void): Promise<Login> {
    const limit = FABRIC_LIMITS.pendingLogins;
    if (this.#pending.size >= limit) {
      return Promise.reject(new MusterError('too_busy', { what: 'logins', limit }));
    }
    const body = bytesOf(JSON.stringify(question));
    // What upstream would not even read would cost all clients their connections.
    if (body.length > FABRIC_LIMITS.loginBytes) return Promise.reject(new MusterError('login_refused'));
    this.#asked += 1;
    const number = String(this.#asked);
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#timeoutMs, () => {
        this.#pending.delete(number);
        this.#settle();
        const reason = `no answer about a login within ${this.#timeoutMs / 1000} s`;
        reject(new MusterError('upstream_failed', { reason }));
      });
      this.#pending.set(number, { resolve, reject, timer });
      const headers = [
        ['destination', LOGIN_REQUESTS],
        ['request', number],
        ['reply-to', LOGIN_ANSWERS],
        ['content-type', 'application/json'],
      ] as const;
      send(frame('SEND', headers, body));
    });
  }

  /** Whether somebody waited for that answer. */
  answer(raw: RawFrame): boolean {
    const number = raw.header('request') ?? '';
    const pending = this.#pending.get(number);
    if (pending === undefined) return false;
    this.#pending.delete(number);
    pending.timer.cancel();
    const read = readLogin(textOf(raw.bytes, raw.bodyStart, raw.bodyEnd));
    if (read instanceof MusterError) pending.reject(read);
    else if (this.#revoked.some((revoked) => concerns(revoked, read))) {
      // It may be good all the same, with other rights: whoever is told so asks again.
      pending.reject(new MusterError('event_revoked', { principal: read.access.principal }));
    } else pending.resolve(read);
    this.#settle();
    return true;
  }

  /** Upstream has withdrawn logins. */
  revoke(revoked: Revoked): void {
    if (this.#pending.size === 0) return;
    // Whoever is refused needlessly comes again.
    if (this.#revoked.length >= REMEMBERED) this.#revoked = [{ org: revoked.org, principal: null }];
    this.#revoked.push(revoked);
  }

  /** There will be no answers any more. */
  fail(error: MusterError): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#settle();
    for (const { reject, timer } of pending) {
      timer.cancel();
      reject(error);
    }
  }

  #settle(): void {
    if (this.#pending.size === 0) this.#revoked = [];
  }
}

function concerns({ org, principal, before }: Revoked, { access, stamp }: Login): boolean {
  if (access.org !== org || (principal !== null && access.principal !== principal)) return false;
  return before === undefined || stamp === undefined || stamp < before;
}
