import { constants, createHash, privateEncrypt, publicDecrypt, sign, timingSafeEqual, verify } from 'node:crypto';
import { isoSeconds } from '@muster/base';
import { MusterError } from './errors.js';
import type { RsaKey } from './keys.js';
import { QUERY_HASH_HEADER, type SignedHeaders, type SigningVersion } from './signed-headers.js';

/** What a signature covers besides the headers. */
export interface RequestContent {
  readonly method: string;
  /** As sent, percent-encoding untouched, with or without its query, which Chef's own clients never sign (sheet §1.2). */
  readonly path: string;
  readonly body: Uint8Array | string;
}

export interface RequestToSign extends RequestContent {
  readonly userId: string;
  /** Milliseconds since the epoch, or the header text. */
  readonly timestamp: number | string;
  readonly privateKey: RsaKey;
  readonly version: Exclude<SigningVersion, '1.2'>;
  /** Signed by 1.3 only; absent counts as 0. */
  readonly serverApiVersion?: number;
  /** Signs the query of `path`, or that there is none, as our own clients do; with 1.3 only. */
  readonly signQuery?: boolean;
}

/** Length of one `X-Ops-Authorization-N` (sheet §1.4). */
const PIECE = 60;

/** Drops the query, collapses slashes, removes a trailing one (sheet §1.2). */
export function canonicalPath(path: string): string {
  const bare = (path.split('?', 1)[0] ?? '').replace(/\/+/g, '/');
  return bare.length > 1 && bare.endsWith('/') ? bare.slice(0, -1) : bare;
}

/** As sent, without the question mark; empty when there is none. */
function queryOf(path: string): string {
  const at = path.indexOf('?');
  return at === -1 ? '' : path.slice(at + 1);
}

/**
 * The headers of a signed request.
 * @throws MusterError `unsupported_signing_version`; `invalid_field` when the text to sign is too long for the key,
 * which happens with version 1.0 and long user names (sheet §1.4).
 */
export function signRequest(request: RequestToSign): Record<string, string> {
  const { version, userId } = request;
  if (!['1.0', '1.1', '1.3'].includes(version)) throw new MusterError('unsupported_signing_version');
  const timestamp = typeof request.timestamp === 'number' ? isoSeconds(request.timestamp) : request.timestamp;
  const contentHash = digest(version, request.body);
  const serverApiVersion = String(request.serverApiVersion ?? 0);
  const signsQuery = request.signQuery === true && version === '1.3';
  const queryHash = signsQuery ? digest(version, queryOf(request.path)) : null;
  const text = stringToSign(request, { version, userId, timestamp, serverApiVersion, queryHash }, contentHash);
  const headers: Record<string, string> = {
    'X-Ops-Sign': `algorithm=${version === '1.3' ? 'sha256' : 'sha1'};version=${version};`,
    'X-Ops-UserId': userId,
    'X-Ops-Timestamp': timestamp,
    'X-Ops-Content-Hash': contentHash,
  };
  if (queryHash !== null) headers[QUERY_HASH_HEADER] = queryHash;
  if (request.serverApiVersion !== undefined) headers['X-Ops-Server-API-Version'] = serverApiVersion;
  const signature = signText(version, text, request.privateKey);
  for (let n = 0; n * PIECE < signature.length; n++) {
    headers[`X-Ops-Authorization-${n + 1}`] = signature.slice(n * PIECE, (n + 1) * PIECE);
  }
  return headers;
}

/** Does this key's owner vouch for this request? Nothing about the key or the headers makes it throw. */
export function verifyRequest(signed: SignedHeaders, content: RequestContent, publicKey: RsaKey): boolean {
  const contentHash = digest(signed.version, content.body);
  // The real server compares it for 1.0 and 1.1 only; comparing always is stricter and safe (sheet §1.5).
  if (signed.contentHash !== contentHash) return false;
  if (signed.queryHash !== null && signed.queryHash !== digest(signed.version, queryOf(content.path))) return false;
  const text = Buffer.from(stringToSign(content, signed, contentHash));
  const signature = Buffer.from(signed.signature, 'base64');
  try {
    switch (signed.version) {
      case '1.0':
      case '1.1': {
        const recovered = publicDecrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, signature);
        return recovered.length === text.length && timingSafeEqual(recovered, text);
      }
      case '1.2':
        return verify('sha1', text, publicKey, signature);
      case '1.3':
        return verify('sha256', text, publicKey, signature);
    }
  } catch {
    return false;
  }
}

function digest(version: SigningVersion, content: Uint8Array | string): string {
  return createHash(version === '1.3' ? 'sha256' : 'sha1')
    .update(content)
    .digest('base64');
}

type Signer = Pick<SignedHeaders, 'version' | 'userId' | 'timestamp' | 'serverApiVersion' | 'queryHash'>;

/** Sheet §1.3. */
function stringToSign(content: RequestContent, signer: Signer, contentHash: string): string {
  const { version, userId, timestamp } = signer;
  const method = content.method.toUpperCase();
  const path = canonicalPath(content.path);
  if (version === '1.3') {
    return [
      `Method:${method}`,
      `Path:${path}`,
      `X-Ops-Content-Hash:${contentHash}`,
      // Without the algorithm, whatever the header says (sheet §1.3).
      'X-Ops-Sign:version=1.3',
      `X-Ops-Timestamp:${timestamp}`,
      `X-Ops-UserId:${userId}`,
      `X-Ops-Server-API-Version:${signer.serverApiVersion}`,
      ...(signer.queryHash === null ? [] : [`${QUERY_HASH_HEADER}:${signer.queryHash}`]),
    ].join('\n');
  }
  return [
    `Method:${method}`,
    `Hashed Path:${digest(version, path)}`,
    `X-Ops-Content-Hash:${contentHash}`,
    `X-Ops-Timestamp:${timestamp}`,
    `X-Ops-UserId:${version === '1.0' ? userId : digest(version, userId)}`,
  ].join('\n');
}

function signText(version: RequestToSign['version'], text: string, privateKey: RsaKey): string {
  if (version === '1.3') return sign('sha256', Buffer.from(text), privateKey).toString('base64');
  try {
    return privateEncrypt({ key: privateKey, padding: constants.RSA_PKCS1_PADDING }, Buffer.from(text)).toString(
      'base64',
    );
  } catch (cause) {
    const reason = `the request cannot be signed with version ${version}: key unusable, or user name too long`;
    throw new MusterError('invalid_field', { field: 'signature', reason }, { cause });
  }
}
