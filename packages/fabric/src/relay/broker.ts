import { MusterError } from '@muster/wire';
import { EVERY_TYPE, type EventAccess, type TypeRules } from '../access.js';
import type { Hub } from '../hub/hub.js';
import type { Login } from '../root/ports.js';
import type { Broker, Publication, Replay, ReplayRequest } from '../session/ports.js';
import type { Logins } from './logins.js';
import type { PassedUp } from './passed-up.js';
import type { Upstream } from './upstream.js';
import { sizeOf, type Upward } from './upward.js';

export interface RelayBrokerParts {
  readonly hub: Hub;
  readonly upward: Upward;
  readonly passedUp: PassedUp;
  readonly logins: Logins;
  /** Organization of the relay's own login: it carries events of no other. */
  readonly org: string;
  /** Clients need no login: upstream decides what all of them may publish and follow. */
  readonly anonymous: boolean;
  /** Upstream is not Muster. */
  readonly foreign: boolean;
  /** The connection that is ready, or null. */
  upstream(): Upstream | null;
}

/** What a relay is to its clients: everything but matching is done by upstream. */
export class RelayBroker implements Broker {
  readonly #parts: RelayBrokerParts;

  constructor(parts: RelayBrokerParts) {
    this.#parts = parts;
  }

  async login(login: string, passcode: string): Promise<Login> {
    const { org, anonymous, logins, upstream } = this.#parts;
    const link = upstream();
    if (anonymous) return { access: anybody(org, login, link?.follow ?? EVERY_TYPE), expiresMs: null, grounds: '' };
    if (link === null) throw new MusterError('upstream_failed', { reason: 'it is not connected' });
    const granted = await logins.ask({ login, passcode }, (request) => link.sendFrame(request));
    // Upstream sends us the events of our own organization only.
    if (granted.access.org !== org) throw new MusterError('login_refused');
    return granted;
  }

  async renew(login: string, grounds: string): Promise<Login> {
    const { logins, upstream } = this.#parts;
    const link = upstream();
    if (link === null) throw new MusterError('upstream_failed', { reason: 'it is not connected' });
    return logins.ask({ login, grounds }, (request) => link.sendFrame(request));
  }

  /** One for all: they are of one organization (B-4). */
  hub(): Hub {
    return this.#parts.hub;
  }

  publish(publication: Publication): void {
    const { foreign, upstream, upward } = this.#parts;
    const size = sizeOf(publication);
    const limit = upstream()?.maxEventBytes ?? size;
    if (size > limit) publication.publisher.failed(publication, new MusterError('event_too_large', { size, limit }));
    else if (foreign && publication.due !== null) {
      publication.publisher.failed(publication, unknownAbove('SEND', 'at'));
    } else upward.add(publication);
  }

  /** @throws MusterError */
  replay(request: ReplayRequest): Replay {
    const { foreign, passedUp } = this.#parts;
    if (foreign) throw unknownAbove('SUBSCRIBE', request.durable === null ? 'from' : 'durable');
    return passedUp.add(request);
  }
}

/** Upstream delivers nothing else than what may be followed; told here, who asks for that alone is refused. */
function anybody(org: string, login: string, follow: TypeRules): EventAccess {
  const name = login.slice(login.indexOf('/') + 1) || 'anonymous';
  const principal = `${org}/${name}`;
  return { org, principal, kind: 'client', relay: false, publish: EVERY_TYPE, subscribe: follow };
}

function unknownAbove(command: string, header: string): MusterError {
  const reason = 'is not known to the broker above this relay';
  return new MusterError('stomp_header_value', { command, header, reason });
}
