import { constants, createHash, createSign, type KeyObject, privateEncrypt } from 'node:crypto';

/**
 * Chef API request signing, written from the reference sheet §1 alone, so that the product's own signing is tested
 * against another hand.
 */
export type SigningVersion = '1.0' | '1.1' | '1.3';

export interface UnsignedRequest {
  readonly method: string;
  /** With its query string, which Chef's clients do not sign. */
  readonly path: string;
  readonly body: string | Uint8Array;
  readonly userId: string;
  readonly privateKey: string | KeyObject;
  readonly version?: SigningVersion;
  /** Signs the query as well (docs/reference/rest.md); with version 1.3. */
  readonly signQuery?: boolean;
  /** Milliseconds; now when absent. */
  readonly now?: number;
}

const digest = (algorithm: 'sha1' | 'sha256', data: string | Uint8Array): string =>
  createHash(algorithm).update(data).digest('base64');

/** Sheet §1.2: no query, single slashes, no trailing slash. */
export function canonicalPath(path: string): string {
  const bare = (path.split('?')[0] ?? '').replace(/\/+/g, '/');
  return bare.length > 1 && bare.endsWith('/') ? bare.slice(0, -1) : bare;
}

export function signedHeaders(request: UnsignedRequest): Record<string, string> {
  const version = request.version ?? '1.1';
  const timestamp = `${new Date(request.now ?? Date.now()).toISOString().slice(0, 19)}Z`;
  const algorithm = version === '1.3' ? 'sha256' : 'sha1';
  const contentHash = digest(algorithm, request.body);
  const headers: Record<string, string> = {
    'X-Ops-Sign': `algorithm=${algorithm};version=${version};`,
    'X-Ops-Userid': request.userId,
    'X-Ops-Timestamp': timestamp,
    'X-Ops-Content-Hash': contentHash,
    'X-Ops-Server-API-Version': '0',
  };
  const path = canonicalPath(request.path);
  const method = request.method.toUpperCase();
  const queryHash = request.signQuery === true ? digest('sha256', request.path.split('?')[1] ?? '') : undefined;
  if (queryHash !== undefined) headers['X-Muster-Query-Hash'] = queryHash;
  let signature: string;
  if (version === '1.3') {
    const text = [
      `Method:${method}`,
      `Path:${path}`,
      `X-Ops-Content-Hash:${contentHash}`,
      'X-Ops-Sign:version=1.3',
      `X-Ops-Timestamp:${timestamp}`,
      `X-Ops-UserId:${request.userId}`,
      'X-Ops-Server-API-Version:0',
      ...(queryHash === undefined ? [] : [`X-Muster-Query-Hash:${queryHash}`]),
    ].join('\n');
    signature = createSign('sha256').update(text).sign(request.privateKey, 'base64');
  } else {
    const text = [
      `Method:${method}`,
      `Hashed Path:${digest('sha1', path)}`,
      `X-Ops-Content-Hash:${contentHash}`,
      `X-Ops-Timestamp:${timestamp}`,
      `X-Ops-UserId:${version === '1.0' ? request.userId : digest('sha1', request.userId)}`,
    ].join('\n');
    signature = privateEncrypt(
      { key: request.privateKey, padding: constants.RSA_PKCS1_PADDING },
      Buffer.from(text),
    ).toString('base64');
  }
  for (let line = 0; line * 60 < signature.length; line++) {
    headers[`X-Ops-Authorization-${line + 1}`] = signature.slice(line * 60, line * 60 + 60);
  }
  return headers;
}
