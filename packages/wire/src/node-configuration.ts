import { MusterError } from '@muster/base';
import { type ServerKeyLink, SIGNING_LIMITS } from '@muster/signing';
import type { NodeConfiguration, ServerKeyProof } from './discovery.js';
import { isObject, type JsonObject } from './fields.js';
import { LIMITS } from './limits.js';
import { z85Decode } from './z85.js';

/** A longer interval, lifetime or skew than a year is a mistake. */
const MAX_SECONDS = 31_536_000;
const MAX_THRESHOLD = 1_000_000;
const MAX_BYTES = 2 ** 40;

/**
 * Checks the answer to a configuration request before the agent acts on it (sheet §2.3).
 * @throws MusterError `invalid_field` with the field's path.
 */
export function parseNodeConfiguration(json: unknown): NodeConfiguration {
  const root = readObject(json, 'configuration');
  if (root.type !== 'config') throw invalid('type', "expected 'config'");
  const pushJobs = readObject(root.push_jobs, 'push_jobs');
  const heartbeat = readObject(pushJobs.heartbeat, 'push_jobs.heartbeat');
  const sessionKey = readObject(root.encoded_session_key, 'encoded_session_key');
  if (sessionKey.method !== 'hmac_sha256') throw invalid('encoded_session_key.method', "expected 'hmac_sha256'");
  const at = 'push_jobs.heartbeat';
  return {
    type: 'config',
    host: text(root, 'host', '', LIMITS.nameBytes),
    push_jobs: {
      heartbeat: {
        out_addr: text(heartbeat, 'out_addr', at, LIMITS.addressBytes),
        command_addr: text(heartbeat, 'command_addr', at, LIMITS.addressBytes),
        interval: number(heartbeat, 'interval', at, Number.MIN_VALUE, MAX_SECONDS),
        offline_threshold: integer(heartbeat, 'offline_threshold', at, 1, MAX_THRESHOLD),
        online_threshold: integer(heartbeat, 'online_threshold', at, 1, MAX_THRESHOLD),
      },
      command_addr: text(pushJobs, 'command_addr', 'push_jobs', LIMITS.addressBytes),
    },
    node: text(root, 'node', '', LIMITS.nameBytes),
    organization: text(root, 'organization', '', LIMITS.nameBytes),
    public_key: text(root, 'public_key', '', SIGNING_LIMITS.pemBytes),
    ...curveKey(root),
    encoded_session_key: {
      method: 'hmac_sha256',
      key: text(sessionKey, 'key', 'encoded_session_key', SIGNING_LIMITS.pemBytes),
    },
    lifetime: number(root, 'lifetime', '', Number.MIN_VALUE, MAX_SECONDS),
    max_message_skew: number(root, 'max_message_skew', '', Number.MIN_VALUE, MAX_SECONDS),
    max_body_size: integer(root, 'max_body_size', '', 1, MAX_BYTES),
    incarnation_id: text(root, 'incarnation_id', '', LIMITS.nameBytes),
    output_limit: integer(root, 'output_limit', '', 0, MAX_BYTES),
    ...(root.server_key !== undefined && { server_key: proof(readObject(root.server_key, 'server_key')) }),
    ...(root.clustered === true && { clustered: true as const }),
    ...(root.return_within !== undefined && { return_within: number(root, 'return_within', '', 0, MAX_SECONDS) }),
  };
}

function proof(from: JsonObject): ServerKeyProof {
  const { links } = from;
  if (!Array.isArray(links) || links.length > LIMITS.serverKeyLinks)
    throw invalid('server_key.links', `expected a list of at most ${LIMITS.serverKeyLinks}`);
  return {
    voucher: text(from, 'voucher', 'server_key', LIMITS.signatureBytes),
    links: links.map((one, index) => link(one, `server_key.links.${index}`)),
    ...(from.next !== undefined && { next: link(from.next, 'server_key.next') }),
  };
}

function link(value: unknown, at: string): ServerKeyLink {
  const from = readObject(value, at);
  if (typeof from.revoked !== 'boolean') throw invalid(path(at, 'revoked'), 'expected true or false');
  return {
    previous: text(from, 'previous', at, SIGNING_LIMITS.pemBytes),
    key: text(from, 'key', at, SIGNING_LIMITS.pemBytes),
    announced_at: text(from, 'announced_at', at, LIMITS.nameBytes),
    takes_over_at: text(from, 'takes_over_at', at, LIMITS.nameBytes),
    revoked: from.revoked,
    signature: text(from, 'signature', at, LIMITS.signatureBytes),
    confirmation: text(from, 'confirmation', at, LIMITS.signatureBytes),
  };
}

function curveKey(root: JsonObject): { readonly curve_public_key?: string } {
  const key = root.curve_public_key;
  if (key === undefined) return {};
  if (typeof key !== 'string' || z85Decode(key) === null)
    throw invalid('curve_public_key', 'expected 40 characters of Z85');
  return { curve_public_key: key };
}

function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field, reason });
}

function path(at: string, field: string): string {
  return at === '' ? field : `${at}.${field}`;
}

function readObject(value: unknown, at: string): JsonObject {
  if (!isObject(value)) throw invalid(at, 'expected an object');
  return value;
}

function text(from: JsonObject, field: string, at: string, maxBytes: number): string {
  const value = from[field];
  if (typeof value !== 'string' || value === '') throw invalid(path(at, field), 'expected a string that is not empty');
  if (Buffer.byteLength(value) > maxBytes) throw invalid(path(at, field), `at most ${maxBytes} bytes`);
  return value;
}

function number(from: JsonObject, field: string, at: string, minimum: number, maximum: number): number {
  const value = from[field];
  if (typeof value !== 'number' || !(value >= minimum && value <= maximum)) {
    const least = minimum === Number.MIN_VALUE ? 'above 0' : `from ${minimum}`;
    throw invalid(path(at, field), `expected a number ${least} to ${maximum}`);
  }
  return value;
}

function integer(from: JsonObject, field: string, at: string, minimum: number, maximum: number): number {
  const value = number(from, field, at, minimum, maximum);
  if (!Number.isInteger(value)) throw invalid(path(at, field), 'expected an integer');
  return value;
}
