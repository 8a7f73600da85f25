import type { Clock, Timer } from '@muster/base';
import { MusterError } from '../../errors.js';
import { FABRIC_LIMITS } from '../../limits.js';
import type { Login, Revoked } from '../../protocol/login.js';
import { bytesOf, textOf } from '../../stomp/bytes.js';
import { type Frame, frame } from '../../stomp/frame.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import { readLogin } from './login-answers.js';

/** Destinations of a relay's login requests and of their answers, which need no SUBSCRIBE. */
export const LOGIN_REQUESTS = '/muster/login';
export const LOGIN_ANSWERS = '/temp-queue/login';

/** Revocations that are remembered while logins are pending. */
const REMEMBERED = 100;

/** With a passcode: of a client that logs in. With grounds: of a client that is logged in. */
export type LoginQuestion =
  | { readonly login: string; readonly passcode: string }
  | { readonly login: string; readonly grounds: string };

interface Pending {
  readonly resolve: (login: Login) => void;
  readonly reject: (error: MusterError) => void;
  readonly timer: Timer;
}

/** Asks upstream about the logins of this relay's clients. Requests are bounded in number and time. */
export class UpstreamLogins {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #pending = new Map<string, Pending>();
  /** Revocations that came while requests were pending: the answers may be older, and already on their way. */
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
    // Upstream would end the connection for a request that is too large, and so those of all clients.
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

  /** An answer has come. @returns whether it was awaited. */
  answer(raw: RawFrame): boolean {
    const number = raw.header('request') ?? '';
    const pending = this.#pending.get(number);
    if (pending === undefined) return false;
    this.#pending.delete(number);
    pending.timer.cancel();
    const read = readLogin(textOf(raw.bytes, raw.bodyStart, raw.bodyEnd));
    if (read instanceof MusterError) pending.reject(read);
    else if (this.#revoked.some((revoked) => concerns(revoked, read))) {
      // The login may still be good, with other rights: the client is told to log in again.
      pending.reject(new MusterError('event_revoked', { principal: read.access.principal }));
    } else pending.resolve(read);
    this.#settle();
    return true;
  }

  /** Upstream has withdrawn logins. */
  revoke(revoked: Revoked): void {
    if (this.#pending.size === 0) return;
    // Too many to remember: all pending logins of the organization are refused, and clients log in again.
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
