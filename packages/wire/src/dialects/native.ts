import { type JsonObject, name, nullable, parseObject } from '../fields.js';
import { formatHeader, parseHeader } from '../header.js';
import { signHmac, verifyHmac } from '../message-signing.js';
import { parseIso } from '../timestamps.js';
import { checkTimestamp } from './checks.js';
import { readAgent, readServer, writeAgent, writeServer } from './native-messages.js';
import { type DialectCodec, Dropped, type Frames, type OpenLimits, type Session } from './types.js';

/**
 * Our own dialect, version 3.0. The sequence stands in the header and is covered by the HMAC, so one encoded body
 * serves every recipient, and a message that was seen before is dropped in either direction.
 */
export const native: DialectCodec = {
  name: 'native',
  repeatable: true,
  options: ['user', 'dir', 'env', 'file', 'words', 'secrets', 'secretFile', 'script', 'uploads', 'fetch', 'uploadOnly'],

  encodeServer(message, about) {
    return encode({ ...writeServer(message), server: about.server, timestamp: iso(about.now) });
  },

  sealServer: seal,

  openAgent(header, body, session, limits) {
    const { fields, timestamp, sequence } = open(header, body, session, limits);
    const message = readAgent(fields);
    const envelope = {
      org: name(fields, 'org'),
      node: name(fields, 'node'),
      incarnation: nullable(fields, 'incarnation', name),
      timestamp,
      sequence,
    };
    session.received = sequence;
    return { envelope, message };
  },

  encodeAgent(message, about, session) {
    const body = {
      ...writeAgent(message),
      org: about.org,
      node: about.node,
      incarnation: about.incarnation,
      timestamp: iso(about.now),
    };
    return seal(encode(body), session);
  },

  openServer(header, body, session, limits) {
    const { fields, sequence } = open(header, body, session, limits);
    const message = readServer(fields);
    session.received = sequence;
    return message;
  },
};

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function encode(body: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(body));
}

function seal(body: Uint8Array, session: Session): Frames {
  session.sent += 1;
  const signature = signHmac(session.key, `${session.sent}\n`, body);
  return [formatHeader({ version: '3.0', sequence: session.sent, signature }), body];
}

/** The checks of sheet §3.5 in its order, then the sequence. The caller moves `received` once the fields are read. */
function open(
  header: Uint8Array,
  body: Uint8Array,
  session: Session,
  limits: OpenLimits,
): { fields: JsonObject; timestamp: number; sequence: number } {
  const parsed = parseHeader(header);
  if (parsed === null || parsed.version !== '3.0' || parsed.sequence === null) throw new Dropped('bad_header');
  const { sequence, signature, method } = parsed;
  const fields = parseObject(body);
  if (method !== 'hmac_sha256' || signature === null || !verifyHmac(session.key, signature, `${sequence}\n`, body)) {
    throw new Dropped('bad_sig');
  }
  const timestamp = checkTimestamp(fields.timestamp, parseIso, limits);
  if (sequence <= session.received) throw new Dropped('replayed');
  return { fields, timestamp, sequence };
}
