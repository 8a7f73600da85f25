import { MusterError } from '../errors.js';
import type { EventAccess } from '../event/access.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { Login, Revoked } from '../protocol/login.js';
import { bytesOf, textOf } from '../stomp/bytes.js';
import { encodeFrame } from '../stomp/encode.js';
import { frame, type StompVersion } from '../stomp/frame.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import { LOGIN_DESTINATION } from './publishing/send-handler.js';

/** Destination of the answers to a relay's login requests. It needs no SUBSCRIBE. */
export const LOGIN_REPLIES = '/temp-queue/login';

export interface LoginPorts {
  /** Of the relay. */
  readonly access: EventAccess;
  readonly version: StompVersion;
  login(login: string, passcode: string): Promise<Login>;
  renew(login: string, grounds: string): Promise<Login>;
  send(bytes: Uint8Array): void;
}

/** Handles the login requests of a relay for its clients: SENDs to `/muster/login`, answered in any order. */
export class LoginRequests {
  readonly #ports: LoginPorts;
  #pending = 0;

  constructor(ports: LoginPorts) {
    this.#ports = ports;
  }

  /** @throws MusterError for whatever is wrong with the request itself. */
  take(raw: RawFrame): void {
    const { org, relay } = this.#ports.access;
    if (!relay) throw new MusterError('stomp_relays_only', { what: LOGIN_DESTINATION });
    const request = raw.header('request');
    if (request === undefined) throw new MusterError('stomp_missing_header', { command: 'SEND', header: 'request' });
    const limit = FABRIC_LIMITS.pendingLogins;
    if (this.#pending >= limit)
      throw new MusterError('stomp_too_many', { command: 'SEND', what: 'logins at once', limit });
    const { login, passcode, grounds } = credentials(textOf(raw.bytes, raw.bodyStart, raw.bodyEnd));
    // It carries the events of its own organization, and hears of no other when rights change.
    if (!login.startsWith(`${org}/`))
      return this.#answer(request, { error: described(new MusterError('login_refused')) });
    this.#pending += 1;
    (passcode === null ? this.#ports.renew(login, grounds) : this.#ports.login(login, passcode))
      .then(
        (granted) => this.#answer(request, granted),
        (error: unknown) => this.#answer(request, { error: described(error) }),
      )
      .finally(() => {
        this.#pending -= 1;
      });
  }

  /** Tells the relay, unasked, that the rights of a login have changed: it may have a client with that login. */
  revoked(revoked: Revoked): void {
    this.#send([['revoked', revoked.principal ?? revoked.org]], { revoked });
  }

  /** Tells the relay, unasked, that it may have missed revocations and must ask for all its clients again. */
  renew(): void {
    this.#send([['renew', 'all']], {});
  }

  #answer(request: string, answer: object): void {
    this.#send([['request', request]], answer);
  }

  #send(headers: readonly (readonly [string, string])[], answer: object): void {
    const made = frame(
      'MESSAGE',
      [['subscription', LOGIN_REPLIES], ['destination', LOGIN_REPLIES], ['message-id', '0'], ...headers],
      bytesOf(JSON.stringify(answer)),
    );
    this.#ports.send(encodeFrame(made, this.#ports.version));
  }
}

/** With a passcode: of a client that logs in. With grounds: of a client that is logged in. */
type Credentials =
  | { readonly login: string; readonly passcode: string; readonly grounds: null }
  | { readonly login: string; readonly passcode: null; readonly grounds: string };

function credentials(text: string): Credentials {
  const { login, passcode, grounds } = parsed(text);
  if (typeof login === 'string') {
    if (typeof passcode === 'string') return { login, passcode, grounds: null };
    if (typeof grounds === 'string') return { login, passcode: null, grounds };
  }
  const reason = 'has a body that is not {"login": TEXT, "passcode": TEXT}, nor with "grounds" instead of "passcode"';
  throw new MusterError('stomp_invalid_frame', { command: 'SEND', reason });
}

function parsed(text: string): { login?: unknown; passcode?: unknown; grounds?: unknown } {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? found : {};
  } catch {
    // Told with the shape that is wanted.
    return {};
  }
}

function described(error: unknown): object {
  const { code, details, message } = error instanceof MusterError ? error : new MusterError('internal');
  return { code, message, details };
}
