import { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';
import { type Address, isLoopback, parseAddress } from '../transport/address.js';

/** How a relay is told what to be; times in milliseconds. */
export interface RelayOptions {
  /** The parent: `stomp://HOST:PORT`, `stomp+tls://…`, `ws://…`, `wss://…`. Without one there is no relay (T-3). */
  readonly upstream: string | undefined;
  /** Where clients connect: such addresses, or HOST:PORT. Port 0 is any free one. */
  readonly listen: readonly string[];
  /** `ORG/NAME` of the relay itself; for brokers that are not Muster whatever they want. */
  readonly login: string | undefined;
  /** Asked for at each attempt, as a signed login is good once. */
  readonly passcode: (() => string) | undefined;
  /**
   * Upstream cannot check logins, as it is not Muster: every client may publish and follow everything, and nobody is
   * named to upstream.
   */
  readonly anonymous?: boolean;
  /**
   * Upstream is Muster, but its clients speak as the relay's own login, which need not be a relay's: who may connect is
   * decided by the listening socket. Instead of `anonymous`.
   */
  readonly own?: boolean;
  /** Of `stomp+unix` sockets, who may connect besides their owner: nobody, or this group. */
  readonly group?: number;
  /** Header `host` for brokers with virtual hosts. */
  readonly virtualHost?: string;
  /** PEM texts, for `stomp+tls` and `wss` addresses to listen on. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** PEM of whom to trust upstream, instead of the well-known authorities. */
  readonly ca?: string;
  /** Listen beyond loopback without TLS. */
  readonly insecure?: boolean;
  readonly retryMs?: number;
  /** One attempt to deliver a message upstream (F4). */
  readonly sendMs?: number;
  readonly heartBeatMs?: number;
  /** Type, attributes and body of the largest event; as upstream says, or 4096 when it does not. */
  readonly eventBytes?: number;
  /** Of unsent bytes per client (F5). */
  readonly outboundBytes?: number;
}

/** The same, complete and checked. */
export interface RelaySettings {
  readonly upstream: string;
  readonly upstreamAddress: Address;
  readonly listen: readonly string[];
  readonly login: string;
  readonly passcode: () => string;
  readonly org: string;
  /** Clients need no login, and are not named to upstream. */
  readonly anonymous: boolean;
  /** Upstream is not Muster. */
  readonly foreign: boolean;
  readonly group: number | undefined;
  readonly virtualHost: string;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly ca: string | undefined;
  readonly insecure: boolean;
  readonly retryMs: number;
  readonly sendMs: number;
  readonly heartBeatMs: number;
  readonly eventBytes: number | undefined;
  readonly outboundBytes: number;
}

const LOGIN = /^([^/\s]+)\/[^/\s]+$/;
const DEFAULT_ORG = 'default';

/** @throws MusterError `upstream_missing` (T-3), `insecure_relay`, `invalid_field`, `usage` */
export function checkRelayOptions(options: RelayOptions): RelaySettings {
  const { upstream, login, passcode, anonymous: foreign = false, own = false, insecure = false, tls } = options;
  if (upstream === undefined || upstream === '') throw new MusterError('upstream_missing');
  const upstreamAddress = parseAddress(upstream);
  const listen = options.listen.map((address) => (/^[a-z+]+:\//.test(address) ? address : `stomp://${address}`));
  if (listen.length === 0)
    throw new MusterError('usage', { reason: 'a relay listens somewhere: give --listen HOST:PORT' });
  for (const url of listen) checkListening(parseAddress(url), url, insecure, tls !== undefined);
  if (login === undefined || passcode === undefined) {
    const reason = 'a relay logs in: give --login ORG/NAME, and --key FILE, --passcode-file FILE or MUSTER_TOKEN';
    throw new MusterError('usage', { reason });
  }
  const [, org] = LOGIN.exec(login) ?? [];
  if (org === undefined && !foreign) {
    throw new MusterError('usage', { reason: `--login must be ORG/NAME, got '${login}'` });
  }
  const sendMs = options.sendMs ?? FABRIC_LIMITS.sendMs;
  if (sendMs < FABRIC_LIMITS.leastSendMs) {
    throw new MusterError('usage', { reason: `--send-timeout must be at least ${FABRIC_LIMITS.leastSendMs / 1000} s` });
  }
  return {
    upstream,
    upstreamAddress,
    listen,
    login,
    passcode,
    org: org ?? DEFAULT_ORG,
    anonymous: foreign || own,
    foreign,
    group: options.group,
    virtualHost: options.virtualHost ?? (foreign ? '/' : upstreamAddress.host),
    tls,
    ca: options.ca,
    insecure,
    retryMs: options.retryMs ?? FABRIC_LIMITS.retryMs,
    sendMs,
    heartBeatMs: options.heartBeatMs ?? FABRIC_LIMITS.idleMs,
    eventBytes: options.eventBytes,
    outboundBytes: options.outboundBytes ?? FABRIC_LIMITS.outboundBytes,
  };
}

/** Long before the first client is taken: what cannot listen should say so at once. */
function checkListening(address: Address, url: string, insecure: boolean, hasTls: boolean): void {
  if (address.secure && !hasTls) {
    throw new MusterError('usage', { reason: `${url} needs --tls-cert and --tls-key` });
  }
  if (!address.secure && !insecure && !isLoopback(address.host)) {
    throw new MusterError('insecure_relay', { address: `${address.host}:${address.port}` });
  }
}
