import { type JsonObject, name, nullable, parseObject } from '../fields.js';
import { formatHeader, parseHeader } from '../header.js';
import { signHmac, verifyHmac } from '../message-signing.js';
import { formatRfc1123, parseHttpDate } from '../timestamps.js';
import { checkTimestamp, parseTimestamp } from './checks.js';
import { readAgent, readServer, writeAgent, writeServer } from './chef2-messages.js';
import { type DialectCodec, Dropped, type Frames, type Session } from './types.js';

/** The deployed Ruby clients' dialect, header version 2.0 (sheet §3.3-4.5). Sequences are sent, and never checked. */
export const chef2: DialectCodec = {
  name: 'chef2',
  // A repeated commit is nacked, a repeated run even fails the node (sheet §6.4).
  repeatable: false,
  options: ['user', 'dir', 'env', 'file'],

  encodeServer(message, about) {
    const body = writeServer(message, about.server);
    return body && encode({ ...body, timestamp: formatRfc1123(about.now) });
  },

  sealServer(encoded, session) {
    session.sent += 1;
    return seal(appendSequence(encoded, session.sent), session);
  },

  openAgent(header, body, session, limits) {
    const fields = verified(header, body, session);
    const timestamp = checkTimestamp(fields.timestamp, parseHttpDate, limits);
    const message = readAgent(fields);
    const sequence = fields.sequence;
    const envelope = {
      org: name(fields, 'org'),
      node: name(fields, 'node'),
      incarnation: nullable(fields, 'incarnation_id', name),
      timestamp,
      sequence: Number.isSafeInteger(sequence) ? Number(sequence) : null,
    };
    return { envelope, message };
  },

  encodeAgent(message, about, session) {
    const body = writeAgent(message);
    if (body === null) return null;
    session.sent += 1;
    const common = {
      node: about.node,
      client: about.node,
      protocol_version: '2.0',
      org: about.org,
      sequence: session.sent,
      timestamp: formatRfc1123(about.now),
      incarnation_id: about.incarnation,
    };
    return seal(encode({ ...common, ...body }), session);
  },

  openServer(header, body, session, limits) {
    const fields = verified(header, body, session);
    // The deployed agent drops what is from the future only (sheet §3.6).
    const timestamp = parseTimestamp(fields.timestamp, parseHttpDate);
    if (timestamp - limits.now > limits.maxSkewMs) throw new Dropped('bad_timestamp');
    return readServer(fields);
  },
};

function encode(body: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(body));
}

/** The body is the same for all nodes but for its sequence, which goes in before the closing brace. */
function appendSequence(encoded: Uint8Array, sequence: number): Uint8Array {
  return Buffer.concat([encoded.subarray(0, -1), Buffer.from(`,"sequence":${sequence}}`)]);
}

function seal(body: Uint8Array, session: Session): Frames {
  const signature = signHmac(session.key, body);
  return [formatHeader({ version: '2.0', method: 'hmac_sha256', signature }), body];
}

function verified(header: Uint8Array, body: Uint8Array, session: Session): JsonObject {
  const parsed = parseHeader(header);
  // Version 1.0 is a known version whose method is never valid here: a bad signature, not a bad header (sheet §3.5).
  if (parsed === null || parsed.version === '3.0') throw new Dropped('bad_header');
  const fields = parseObject(body);
  const { version, method, signature } = parsed;
  if (version !== '2.0' || method !== 'hmac_sha256' || signature === null) throw new Dropped('bad_sig');
  if (!verifyHmac(session.key, signature, body)) throw new Dropped('bad_sig');
  return fields;
}
