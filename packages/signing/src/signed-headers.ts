import { MusterError } from './errors.js';
import { SIGNING_LIMITS } from './limits.js';

/** Chef API signing (sheet §1). 1.2 is verified, but no producer of it is known. */
export type SigningVersion = '1.0' | '1.1' | '1.2' | '1.3';

/** Headers as Node gives them: lower case, several values as a list. Other cases of the names are found too. */
export type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The signing headers of a request, before anything is verified with a key. */
export interface SignedHeaders {
  readonly version: SigningVersion;
  readonly userId: string;
  /** The header text, as signed. */
  readonly timestamp: string;
  readonly contentHash: string;
  /** Base64, put together from its pieces; empty when there were none. */
  readonly signature: string;
  /** Header text, `0` when absent. */
  readonly serverApiVersion: string;
  /** Base64 of the SHA-256 of the query that was signed; null when the signature says nothing of a query. */
  readonly queryHash: string | null;
}

/**
 * Chef's signing leaves the query out (sheet §1.2). A client that sends this header, with version 1.3, signs its value as
 * well; others cannot know of it, and are told nothing.
 */
export const QUERY_HASH_HEADER = 'X-Muster-Query-Hash';

const REQUIRED = ['X-Ops-UserId', 'X-Ops-Timestamp', 'X-Ops-Sign', 'X-Ops-Content-Hash'] as const;

/**
 * The first four checks of sheet §1.5, in its order. They need no key and come before anything is looked up.
 * @throws MusterError `missing_auth_headers`, `bad_timestamp_header`, `clock_skew`, `unsupported_signing_version`.
 */
export function readSignedHeaders(headers: HeaderRecord, nowMs: number): SignedHeaders {
  const read = reader(headers);
  const missing = REQUIRED.filter((name) => read(name) === '');
  if (missing.length > 0) {
    throw new MusterError('missing_auth_headers', { headers: missing.map((name) => `'${name}'`).join(', ') });
  }
  const userId = read('X-Ops-UserId');
  const timestamp = read('X-Ops-Timestamp');
  const time = parseRequestTimestamp(timestamp);
  if (time === null) throw new MusterError('bad_timestamp_header');
  if (Math.abs(nowMs - time) >= SIGNING_LIMITS.requestSkewMs) throw new MusterError('clock_skew', { name: userId });
  const version = signingVersion(read('X-Ops-Sign'));
  return {
    version,
    userId,
    timestamp,
    contentHash: read('X-Ops-Content-Hash'),
    signature: joinSignature(read),
    serverApiVersion: read('X-Ops-Server-API-Version') || '0',
    queryHash: version === '1.3' ? read(QUERY_HASH_HEADER) || null : null,
  };
}

/** An empty value counts as missing (sheet §1.1), so both are ''. */
type ReadHeader = (name: string) => string;

function reader(headers: HeaderRecord): ReadHeader {
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const first = typeof value === 'string' ? value : (value?.[0] ?? '');
    values.set(name.toLowerCase(), first);
  }
  return (name) => values.get(name.toLowerCase()) ?? '';
}

/** Milliseconds, or null unless it is exactly six integers that name a moment (sheet §1.5, check 2). */
function parseRequestTimestamp(text: string): number | null {
  const parts = text.split(/[-T:Z]/).filter((part) => part !== '');
  if (parts.length !== 6 || !parts.every((part) => /^\d{1,4}$/.test(part))) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const same =
    date.getUTCFullYear() === year &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second;
  return same ? date.getTime() : null;
}

function signingVersion(header: string): SigningVersion {
  const fields = new Map<string, string>();
  for (const piece of header.split(';')) {
    // A piece that is not exactly `key=value` is ignored, so a trailing `;` is harmless (sheet §1.1).
    const [key, value, ...rest] = piece.split('=');
    if (key !== undefined && value !== undefined && rest.length === 0) fields.set(key, value);
  }
  const version = fields.get('version');
  const algorithm = fields.get('algorithm');
  switch (version) {
    case '1.0':
    case '1.1':
    case '1.2':
      if (algorithm === undefined || algorithm === 'sha1') return version;
      break;
    case '1.3':
      if (algorithm === undefined || algorithm === 'sha256') return version;
      break;
  }
  throw new MusterError('unsupported_signing_version');
}

function joinSignature(read: ReadHeader): string {
  let signature = '';
  for (let n = 1; n <= SIGNING_LIMITS.authorizationHeaders; n++) {
    const piece = read(`X-Ops-Authorization-${n}`);
    if (piece === '') break;
    signature += piece;
  }
  return signature;
}
