import { type JsonObject, name, nullable, parseObject } from '../fields.js';
import { formatHeader, parseHeader } from '../header.js';
import { signRsaSha1, verifyRsaSha1 } from '../message-signing.js';
import { formatRfc1123, parseHttpDate, parseIso } from '../timestamps.js';
import { checkTimestamp } from './checks.js';
import { readAgent, readServer, writeAgent, writeServer } from './spec1-messages.js';
import { type DialectCodec, Dropped, type Frames, type OpenLimits, type RsaPair, type Session } from './types.js';

/**
 * The spec's own dialect (Push Jobs §7): every message signed with the sender's RSA key over SHA-1, nothing encrypted.
 * Off unless configured (N1). A message costs its sender an RSA signature.
 */
export const spec1: DialectCodec = {
  name: 'spec1',
  // §5.7: a repeated PREPARE or START of the same job is answered again or ignored.
  repeatable: true,
  // §7.3.1: a job id and a command, nothing else.
  options: [],

  encodeServer(message, about) {
    const body = writeServer(message, about.server);
    return body && encode({ ...body, timestamp: formatRfc1123(about.now) });
  },

  sealServer(encoded, session) {
    return seal(encoded, session);
  },

  openAgent(header, body, session, limits) {
    const { fields, timestamp } = open(header, body, session, limits);
    const message = readAgent(fields);
    const envelope = {
      org: name(fields, 'org'),
      node: name(fields, 'node'),
      incarnation: nullable(fields, 'incarnation_id', name),
      timestamp,
      sequence: null,
    };
    return { envelope, message };
  },

  encodeAgent(message, about, session) {
    const body = writeAgent(message);
    if (body === null) return null;
    const common = {
      node: about.node,
      client: about.node,
      org: about.org,
      timestamp: formatRfc1123(about.now),
      incarnation_id: about.incarnation,
    };
    return seal(encode({ ...common, ...body }), session);
  },

  openServer(header, body, session, limits) {
    return readServer(open(header, body, session, limits).fields);
  },
};

function encode(body: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(body));
}

function keysOf(session: Session): RsaPair {
  if (session.rsa === undefined) throw new Dropped('no_session');
  return session.rsa;
}

function seal(body: Uint8Array, session: Session): Frames {
  session.sent += 1;
  const checksum = signRsaSha1(keysOf(session).ownPrivateKey, body);
  return [formatHeader({ version: '1.0', checksum }), body];
}

function open(
  header: Uint8Array,
  body: Uint8Array,
  session: Session,
  limits: OpenLimits,
): { fields: JsonObject; timestamp: number } {
  const parsed = parseHeader(header);
  if (parsed === null || parsed.version !== '1.0') throw new Dropped('bad_header');
  const fields = parseObject(body);
  const { peerPublicKey } = keysOf(session);
  if (parsed.checksum === null || !verifyRsaSha1(peerPublicKey, body, parsed.checksum)) throw new Dropped('bad_sig');
  return { fields, timestamp: checkTimestamp(fields.timestamp, parseDate, limits) };
}

/** §7.1.2 asks for ISO 8601, the samples of §7.2 and §7.3 show RFC 1123: either is read. */
function parseDate(text: string): number | null {
  return parseHttpDate(text) ?? parseIso(text);
}
