import { MusterError } from '../errors.js';
import { EVERY_TYPE, type EventAccess, type TypeRules } from '../event/access.js';
import type { Hub } from '../hub/hub.js';
import type { Login } from '../protocol/login.js';
import type { Broker, Publication, Replay, ReplayRequest } from '../session/broker.js';
import type { ForwardedSubscriptions } from './forwarding/forwarded-subscriptions.js';
import type { UpstreamLogins } from './logins/upstream-logins.js';
import { sizeOf, type UpstreamPublisher } from './upstream/publisher.js';
import type { Upstream } from './upstream/upstream.js';

export interface RelayBrokerPorts {
  readonly hub: Hub;
  readonly publisher: UpstreamPublisher;
  readonly forwarded: ForwardedSubscriptions;
  readonly logins: UpstreamLogins;
  /** Organization of the relay's own login: it carries events of no other. */
  readonly org: string;
  /** Clients need no login: upstream decides what all of them may publish and follow. */
  readonly anonymous: boolean;
  /** Upstream is not Muster. */
  readonly foreign: boolean;
  /** The connection that is ready, or null. */
  upstream(): Upstream | null;
}

/** The relay as its clients' sessions see it. Matching is done here, everything else by upstream. */
export class RelayBroker implements Broker {
  readonly #ports: RelayBrokerPorts;

  constructor(ports: RelayBrokerPorts) {
    this.#ports = ports;
  }

  async login(login: string, passcode: string): Promise<Login> {
    const { org, anonymous, logins, upstream } = this.#ports;
    const connection = upstream();
    if (anonymous)
      return { access: anonymousAccess(org, login, connection?.follow ?? EVERY_TYPE), expiresMs: null, grounds: '' };
    if (connection === null) throw new MusterError('upstream_failed', { reason: 'it is not connected' });
    const granted = await logins.ask({ login, passcode }, (request) => connection.sendFrame(request));
    // Upstream sends us the events of our own organization only.
    if (granted.access.org !== org) throw new MusterError('login_refused');
    return granted;
  }

  async renew(login: string, grounds: string): Promise<Login> {
    const { logins, upstream } = this.#ports;
    const connection = upstream();
    if (connection === null) throw new MusterError('upstream_failed', { reason: 'it is not connected' });
    return logins.ask({ login, grounds }, (request) => connection.sendFrame(request));
  }

  /** One for all: they are of one organization (B-4). */
  hub(): Hub {
    return this.#ports.hub;
  }

  publish(publication: Publication): void {
    const { foreign, upstream, publisher } = this.#ports;
    const size = sizeOf(publication);
    const limit = upstream()?.maxEventBytes ?? size;
    if (size > limit) publication.publisher.failed(publication, new MusterError('event_too_large', { size, limit }));
    else if (foreign && publication.due !== null) {
      publication.publisher.failed(publication, unknownUpstream('SEND', 'at'));
    } else publisher.add(publication);
  }

  /** @throws MusterError */
  replay(request: ReplayRequest): Replay {
    const { foreign, forwarded } = this.#ports;
    if (foreign) throw unknownUpstream('SUBSCRIBE', request.durable === null ? 'from' : 'durable');
    return forwarded.add(request);
  }
}

/** Upstream delivers nothing else than what may be followed; told here, who asks for that alone is refused. */
function anonymousAccess(org: string, login: string, follow: TypeRules): EventAccess {
  const name = login.slice(login.indexOf('/') + 1) || 'anonymous';
  const principal = `${org}/${name}`;
  return { org, principal, kind: 'user', relay: false, publish: EVERY_TYPE, subscribe: follow };
}

function unknownUpstream(command: string, header: string): MusterError {
  const reason = 'is not known to the broker above this relay';
  return new MusterError('stomp_header_value', { command, header, reason });
}
