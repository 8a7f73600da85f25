import type { RsaKey } from '@muster/signing';
import { checkTimestamp } from './dialects/checks.js';
import { Dropped, type Frames, type OpenLimits } from './dialects/types.js';
import { count, name, nullable, parseObject } from './fields.js';
import { formatHeader, type ParsedHeader, parseHeader } from './header.js';
import { signRsaSha1, signRsaSha256, verifyRsaSha1, verifyRsaSha256 } from './message-signing.js';
import type { Dialect } from './messages/index.js';
import { formatRfc1123, parseHttpDate } from './timestamps.js';

/** What the server publishes every interval (Push Jobs §4.1, sheet §4.2). */
export interface ServerHeartbeat {
  readonly server: string;
  readonly incarnation: string;
  /** From 0, per server process. */
  readonly sequence: number;
  /** Milliseconds. */
  readonly now: number;
}

export interface OpenedServerHeartbeat {
  readonly server: string;
  /** Null only from a spec 1.0 server of others; ours always tells. */
  readonly incarnation: string | null;
  readonly sequence: number;
  readonly timestamp: number;
}

/**
 * One beat for native and deployed agents alike. Deployed ones look only at `Signature` and `SigningMethod`;
 * ours verify `Signature256` instead, because SHA-1 no longer proves anything.
 */
export function encodeServerHeartbeat(beat: ServerHeartbeat, privateKey: RsaKey): Frames {
  const body = encodeBody(beat);
  const header = formatHeader({
    version: '2.0',
    method: 'rsa2048_sha1',
    signature: signRsaSha1(privateKey, body),
    signature256: signRsaSha256(privateKey, body),
  });
  return [header, body];
}

/** The beat on the unencrypted spec 1.0 socket (Push Jobs §7.1.1, §7.2). */
export function encodeSpec1Heartbeat(beat: ServerHeartbeat, privateKey: RsaKey): Frames {
  const body = encodeBody(beat);
  return [formatHeader({ version: '1.0', checksum: signRsaSha1(privateKey, body) }), body];
}

function encodeBody(beat: ServerHeartbeat): Uint8Array {
  return Buffer.from(
    JSON.stringify({
      server: beat.server,
      timestamp: formatRfc1123(beat.now),
      type: 'heartbeat',
      sequence: beat.sequence,
      incarnation_id: beat.incarnation,
    }),
  );
}

export interface HeartbeatChecks extends OpenLimits {
  /** Decides which signature counts. */
  readonly dialect: Dialect;
  /** The last beat accepted: a beat of the same incarnation must have a higher sequence. */
  readonly after?: { readonly incarnation: string | null; readonly sequence: number };
}

/** @throws Dropped. A replayed beat would keep a dead server online. */
export function openServerHeartbeat(frames: Frames, publicKey: RsaKey, checks: HeartbeatChecks): OpenedServerHeartbeat {
  const [header, body] = frames;
  const parsed = parseHeader(header);
  if (parsed === null || parsed.version !== (checks.dialect === 'spec1' ? '1.0' : '2.0')) {
    throw new Dropped('bad_header');
  }
  const fields = parseObject(body);
  if (!verified(parsed, body, publicKey, checks.dialect)) throw new Dropped('bad_sig');
  const timestamp = checkTimestamp(fields.timestamp, parseHttpDate, checks);
  if (fields.type !== 'heartbeat') throw new Dropped('unknown_type');
  const server = name(fields, 'server');
  const incarnation = nullable(fields, 'incarnation_id', name);
  const sequence = count(fields, 'sequence');
  const { after } = checks;
  if (after !== undefined && after.incarnation === incarnation && sequence <= after.sequence) {
    throw new Dropped('replayed');
  }
  return { server, incarnation, sequence, timestamp };
}

function verified(header: ParsedHeader, body: Uint8Array, publicKey: RsaKey, dialect: Dialect): boolean {
  switch (dialect) {
    case 'native':
      return header.signature256 !== null && verifyRsaSha256(publicKey, body, header.signature256);
    case 'chef2':
      return (
        header.method === 'rsa2048_sha1' &&
        header.signature !== null &&
        verifyRsaSha1(publicKey, body, header.signature)
      );
    case 'spec1':
      return header.checksum !== null && verifyRsaSha1(publicKey, body, header.checksum);
  }
}
