import type { ServerConfig } from '@muster/platform/config';
import { fingerprintOf, type ServerKeyLink, type ServerKeys } from '@muster/signing';
import { type Dialect, LIMITS, type NodeConfiguration, type ServerKeyProof, z85Decode } from '@muster/wire';
import { MusterError } from './errors.js';
import type { Place } from './fronts/fronted.js';
import { NODE_LIMITS } from './limits.js';
import type { Endpoints } from './transport.js';

/**
 * The CURVE key of a configuration request; null when it was left out on a route where that means spec 1.0.
 * @throws MusterError `missing_ccpk`, `bad_ccpk` (sheet §2.2 rows 3 to 5).
 */
export function readCurveKey(ccpk: string | undefined, plainAllowed: boolean): Uint8Array | null {
  if (ccpk === undefined) {
    if (plainAllowed) return null;
    throw new MusterError('missing_ccpk');
  }
  const key = z85Decode(ccpk);
  if (key === null) throw new MusterError('bad_ccpk');
  return key;
}

/** Our agent says `version=3.0`; whoever says anything else, or nothing, is a deployed client (sheet §2.1). */
export function dialectOfRequest(version: string | undefined, curveKey: Uint8Array | null): Dialect {
  if (curveKey === null) return 'spec1';
  return version === '3.0' ? 'native' : 'chef2';
}

export interface Advertised {
  readonly serverName: string;
  readonly incarnation: string;
  readonly keys: ServerKeys;
  /** Of the present key, for the CURVE key of `place`. */
  readonly voucher: string;
  readonly place: Place;
  /** The unencrypted pair, where there is one. */
  readonly plain: Pick<Place, 'command' | 'heartbeat'> | null;
  /** How many there are. */
  readonly nodes: number;
}

/** The answer of sheet §2.3. */
export function describeConfiguration(
  config: ServerConfig,
  server: Advertised,
  about: {
    readonly node: string;
    readonly organization: string;
    readonly dialect: Dialect;
    readonly sessionKey: string;
    /** Fingerprint of the server's key that the node knows. */
    readonly knownKey: string | undefined;
  },
): NodeConfiguration {
  const { place, serverName } = server;
  const plain = about.dialect === 'spec1' ? server.plain : null;
  const { heartbeat, command } = plain ?? place;
  return {
    type: 'config',
    host: serverName,
    push_jobs: {
      heartbeat: {
        out_addr: heartbeat,
        command_addr: command,
        interval: config.heartbeat.interval,
        offline_threshold: config.heartbeat.offline_threshold,
        online_threshold: config.heartbeat.online_threshold,
      },
      command_addr: command,
    },
    node: about.node,
    organization: about.organization,
    public_key: `${server.keys.present.publicKey.trimEnd()}\n\n`,
    ...(plain === null && { curve_public_key: place.curvePublicKey }),
    encoded_session_key: { method: 'hmac_sha256', key: about.sessionKey },
    lifetime: config.command.config_lifetime,
    max_message_skew: config.command.max_skew,
    max_body_size: config.command.max_body_size,
    incarnation_id: server.incarnation,
    output_limit: config.push.output_limit,
    ...(about.dialect === 'native' && {
      server_key: proofFor(about.knownKey, server),
      return_within: Math.min(config.heartbeat.interval, server.nodes / NODE_LIMITS.returnsPerSecond),
      ...(config.cluster && { clustered: true as const }),
    }),
  };
}

/** A node that knows a key from before all that is kept gets what there is, and says what to do about it. */
function proofFor(known: string | undefined, { keys, voucher }: Advertised): ServerKeyProof {
  const { links, next } = keys;
  const from = known === keys.present.fingerprint ? -1 : links.findIndex((link) => replaced(link) === known);
  const missed = from < 0 ? [] : links.slice(from);
  return { voucher, links: missed.slice(0, LIMITS.serverKeyLinks), ...(next !== null && { next }) };
}

const fingerprints = new WeakMap<ServerKeyLink, string>();

/** Fingerprint of the key that a link replaces. Parsed once: after a rotation every node asks. */
function replaced(link: ServerKeyLink): string {
  const known = fingerprints.get(link) ?? fingerprintOf(link.previous);
  fingerprints.set(link, known);
  return known;
}

/** Where nodes are told to connect, to the sockets of a server of this name. */
export function advertised(
  config: Pick<ServerConfig, 'command' | 'heartbeat'>,
  serverName: string,
  endpoints: Pick<Endpoints, 'command' | 'heartbeat'>,
): Pick<Place, 'command' | 'heartbeat'> {
  return {
    heartbeat: config.heartbeat.advertise ?? reachable(endpoints.heartbeat, serverName),
    command: config.command.advertise ?? reachable(endpoints.command, serverName),
  };
}

/** The same of the unencrypted sockets, which cannot be told to be elsewhere. */
export function advertisedPlain({ plain }: Endpoints, serverName: string): Advertised['plain'] {
  return plain && { heartbeat: reachable(plain.heartbeat, serverName), command: reachable(plain.command, serverName) };
}

/** A socket bound to every interface is reached under the server's name. */
function reachable(endpoint: string, serverName: string): string {
  return endpoint.replace(/^tcp:\/\/(\*|0\.0\.0\.0|\[::\])(?=:)/, `tcp://${serverName}`);
}
