import { constants, createHash, privateEncrypt, sign } from 'node:crypto';
import { MusterError } from '@muster/base';
import { describe, expect, it } from 'vitest';
import { canonicalPath, type RequestToSign, signRequest, verifyRequest } from '../src/request-signing.js';
import { QUERY_HASH_HEADER, readSignedHeaders, type SigningVersion } from '../src/signed-headers.js';
import { SIGNATURES, SIGNING_KEY, SIGNING_PUBLIC_KEY } from './vectors.js';

const spec: RequestToSign = {
  method: 'POST',
  path: '/organizations/clownco',
  body: 'Spec Body',
  userId: 'spec-user',
  timestamp: '2009-01-01T12:00:00Z',
  privateKey: SIGNING_KEY,
  version: '1.0',
};
const specTime = Date.UTC(2009, 0, 1, 12);
const config: RequestToSign = {
  ...spec,
  method: 'GET',
  path: '/organizations/acme/pushy/config/node1.example.com',
  body: '',
  userId: 'node1.example.com',
  timestamp: '2012-05-12T20:33:15Z',
};

const vectors: Record<keyof typeof SIGNATURES, RequestToSign> = {
  A: spec,
  B: { ...spec, version: '1.1' },
  C: { ...spec, version: '1.3', serverApiVersion: 1 },
  D: { ...config, version: '1.1' },
  E: { ...config, version: '1.3', serverApiVersion: 2 },
};

describe.each(Object.entries(vectors))('vector %s of the sheet §1.8', (name, request) => {
  const pieces = SIGNATURES[name as keyof typeof SIGNATURES];

  it('is signed to the letter', () => {
    const headers = signRequest(request);
    expect(pieces.map((_, n) => headers[`X-Ops-Authorization-${n + 1}`])).toEqual(pieces);
    expect(headers['X-Ops-Authorization-7']).toBeUndefined();
  });

  it('verifies', () => {
    const now = Date.parse(String(request.timestamp));
    const signed = readSignedHeaders(signRequest(request), now);
    expect(verifyRequest(signed, request, SIGNING_PUBLIC_KEY)).toBe(true);
  });
});

it('writes X-Ops-Sign as the Ruby library does', () => {
  expect(signRequest({ ...spec, version: '1.1' })['X-Ops-Sign']).toBe('algorithm=sha1;version=1.1;');
  expect(signRequest({ ...spec, version: '1.3' })['X-Ops-Sign']).toBe('algorithm=sha256;version=1.3;');
});

it('writes a time in milliseconds as whole seconds of UTC', () => {
  expect(signRequest({ ...spec, timestamp: specTime + 999 })['X-Ops-Timestamp']).toBe('2009-01-01T12:00:00Z');
});

it.each([
  ['/organizations/x', '/organizations/x'],
  ['/organizations//x///y/', '/organizations/x/y'],
  ['/a/?b=/c//d', '/a'],
  ['/a%2Fb/', '/a%2Fb'],
  ['/', '/'],
  ['//', '/'],
])('the canonical path of %s is %s', (path, canonical) => {
  expect(canonicalPath(path)).toBe(canonical);
});

/** Headers as a verifier gets them, with some replaced or (undefined) removed. */
function signed(request: RequestToSign, changes: Record<string, string | undefined> = {}, now = specTime) {
  return readSignedHeaders({ ...signRequest(request), ...changes }, now);
}

function errorOf(work: () => unknown): MusterError {
  try {
    work();
  } catch (error) {
    if (error instanceof MusterError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('negative cases of the sheet §1.7', () => {
  const long = { userId: 'u'.repeat(200), path: `/organizations/clownco/nodes/${'n'.repeat(250)}` };

  it('version 1.0 cannot sign a long user name', () => {
    expect(errorOf(() => signRequest({ ...spec, ...long })).code).toBe('invalid_field');
  });

  it('version 1.1 signs a long user name', () => {
    const request: RequestToSign = { ...spec, ...long, version: '1.1' };
    expect(verifyRequest(signed(request), request, SIGNING_PUBLIC_KEY)).toBe(true);
  });

  it('a clock 1000 s off is refused although the signature is valid', () => {
    expect(errorOf(() => signed(spec, {}, specTime + 1_000_000)).code).toBe('clock_skew');
    expect(errorOf(() => signed(spec, {}, specTime - 1_000_000)).code).toBe('clock_skew');
  });

  it.each(['1.0', '1.1', '1.3'] as const)(
    'a content hash with one more character does not verify with %s',
    (version) => {
      const request = { ...spec, version };
      const hash = `${signRequest(request)['X-Ops-Content-Hash']}x`;
      expect(verifyRequest(signed(request, { 'X-Ops-Content-Hash': hash }), request, SIGNING_PUBLIC_KEY)).toBe(false);
    },
  );

  it.each(['1.0', '1.1', '1.3'] as const)(
    'a replaced first piece of the signature does not verify with %s',
    (version) => {
      const request = { ...spec, version };
      const changed = signed(request, { 'X-Ops-Authorization-1': 'epicfail' });
      expect(verifyRequest(changed, request, SIGNING_PUBLIC_KEY)).toBe(false);
    },
  );

  it.each(['1.2', '2.0', ''])('signing with version %j is refused', (version) => {
    const request = { ...spec, version: version as '1.0' };
    expect(errorOf(() => signRequest(request)).code).toBe('unsupported_signing_version');
  });
});

it.each(['1.0', '1.1', '1.3'] as const)('another method, path, user or body does not verify with %s', (version) => {
  const request = { ...spec, version };
  const headers = signed(request);
  expect(verifyRequest(headers, { ...request, method: 'PUT' }, SIGNING_PUBLIC_KEY)).toBe(false);
  expect(verifyRequest(headers, { ...request, path: '/organizations/other' }, SIGNING_PUBLIC_KEY)).toBe(false);
  expect(verifyRequest(headers, { ...request, body: 'Other Body' }, SIGNING_PUBLIC_KEY)).toBe(false);
  expect(verifyRequest({ ...headers, userId: 'other' }, request, SIGNING_PUBLIC_KEY)).toBe(false);
});

it('the query is not signed (sheet §1.2)', () => {
  expect(verifyRequest(signed(spec), { ...spec, path: `${spec.path}?ccpk=x` }, SIGNING_PUBLIC_KEY)).toBe(true);
});

it('1.3 signs the server API version, and 1.1 does not', () => {
  const other = { 'X-Ops-Server-API-Version': '7' };
  const latest: RequestToSign = { ...spec, version: '1.3', serverApiVersion: 1 };
  const older: RequestToSign = { ...spec, version: '1.1', serverApiVersion: 1 };
  expect(verifyRequest(signed(latest, other), latest, SIGNING_PUBLIC_KEY)).toBe(false);
  expect(verifyRequest(signed(older, other), older, SIGNING_PUBLIC_KEY)).toBe(true);
});

it('1.2 verifies: RSASSA with SHA-1 over the text of 1.1', () => {
  const sha1 = (text: string): string => createHash('sha1').update(text).digest('base64');
  const text = [
    'Method:POST',
    `Hashed Path:${sha1(spec.path)}`,
    `X-Ops-Content-Hash:${sha1('Spec Body')}`,
    'X-Ops-Timestamp:2009-01-01T12:00:00Z',
    `X-Ops-UserId:${sha1('spec-user')}`,
  ].join('\n');
  const signature = sign('sha1', Buffer.from(text), SIGNING_KEY).toString('base64');
  const headers = signed({ ...spec, version: '1.1' }, { 'X-Ops-Sign': 'version=1.2' });
  expect(verifyRequest({ ...headers, signature }, spec, SIGNING_PUBLIC_KEY)).toBe(true);
  // The operation of 1.1 over the same text is not one of 1.2.
  const raw = privateEncrypt({ key: SIGNING_KEY, padding: constants.RSA_PKCS1_PADDING }, Buffer.from(text));
  expect(verifyRequest({ ...headers, signature: raw.toString('base64') }, spec, SIGNING_PUBLIC_KEY)).toBe(false);
});

it('an unusable public key does not verify and does not throw', () => {
  expect(verifyRequest(signed(spec), spec, 'not a key')).toBe(false);
});

describe('the header checks of the sheet §1.5', () => {
  it('1: names what is missing or empty, in the order of the sheet', () => {
    const error = errorOf(() => signed(spec, { 'X-Ops-Sign': '', 'X-Ops-UserId': undefined }));
    expect(error.message).toBe("missing required authentication header(s) 'X-Ops-UserId', 'X-Ops-Sign'");
    expect(error.status).toBe(400);
  });

  it('1: comes before all others', () => {
    const error = errorOf(() => readSignedHeaders({ 'x-ops-timestamp': 'x', 'x-ops-sign': 'version=9' }, 0));
    expect(error.message).toBe("missing required authentication header(s) 'X-Ops-UserId', 'X-Ops-Content-Hash'");
  });

  it.each([
    '2009-01-01T12:00:00+00:00',
    '2009-01-01T12:00Z',
    '2009-01-01T12:00:00.5Z',
    'Thu, 01 Jan 2009 12:00:00 GMT',
    '2009-13-01T12:00:00Z',
    '2009-02-30T12:00:00Z',
    '2009-01-01T12:00:61Z',
    '99999-01-01T12:00:00Z',
    'now',
  ])('2: %s is a bad timestamp', (timestamp) => {
    const error = errorOf(() => signed(spec, { 'X-Ops-Timestamp': timestamp }));
    expect(error.message).toBe("bad header(s) 'X-Ops-Timestamp'");
    expect(error.status).toBe(401);
  });

  it('3: 900 s is too much, a millisecond less is not', () => {
    expect(signed(spec, {}, specTime + 899_999).userId).toBe('spec-user');
    const error = errorOf(() => signed(spec, {}, specTime + 900_000));
    expect(error.message).toBe('Failed to authenticate as spec-user. Synchronize the clock on your host.');
    expect(error.status).toBe(401);
  });

  it('3 comes before 4', () => {
    expect(errorOf(() => signed(spec, { 'X-Ops-Sign': 'version=9' }, 0)).code).toBe('clock_skew');
  });

  it.each([
    ['version=1.0', '1.0'],
    ['version=1.1;', '1.1'],
    ['algorithm=sha1;version=1.2', '1.2'],
    ['version=1.3', '1.3'],
    ['version=1.3;algorithm=sha256;nonsense;a=b=c', '1.3'],
  ] satisfies [string, SigningVersion][])('4: %s is version %s', (header, version) => {
    expect(signed(spec, { 'X-Ops-Sign': header }).version).toBe(version);
  });

  it.each([
    'version=1.4',
    'version=1.3;algorithm=sha1',
    'version=1.0;algorithm=sha256',
    'version= 1.0',
    'algorithm=sha1',
    'version=1.0=',
    'version',
  ])('4: %s is not supported', (header) => {
    const error = errorOf(() => signed(spec, { 'X-Ops-Sign': header }));
    expect(error.message).toBe('Unsupported authentication protocol version');
    expect(error.status).toBe(400);
  });
});

it('finds headers in any case, and the first of several', () => {
  const lower = Object.entries(signRequest(spec)).map(([name, value]) => [name.toLowerCase(), [value, 'other']]);
  const read = readSignedHeaders(Object.fromEntries(lower), specTime);
  expect(verifyRequest(read, spec, SIGNING_PUBLIC_KEY)).toBe(true);
});

it('reads the pieces of the signature from 1 up to the first that is missing', () => {
  const read = signed(spec, { 'X-Ops-Authorization-3': undefined });
  expect(read.signature).toBe(SIGNATURES.A[0] + SIGNATURES.A[1]);
});

describe('a query', () => {
  const request = { ...spec, version: '1.3', path: '/nodes/web1?ccpk=A&version=3.0' } as const;

  it('that is signed cannot be changed, taken away or added', () => {
    const headers = signed({ ...request, signQuery: true });
    expect(verifyRequest(headers, request, SIGNING_PUBLIC_KEY)).toBe(true);
    for (const path of ['/nodes/web1?ccpk=B&version=3.0', '/nodes/web1?version=3.0&ccpk=A', '/nodes/web1']) {
      expect([path, verifyRequest(headers, { ...request, path }, SIGNING_PUBLIC_KEY)]).toEqual([path, false]);
    }
    const none = { ...request, path: '/nodes/web1' };
    const headersOfNone = signed({ ...none, signQuery: true });
    expect(verifyRequest(headersOfNone, none, SIGNING_PUBLIC_KEY)).toBe(true);
    expect(verifyRequest(headersOfNone, { ...none, path: '/nodes/web1?force=true' }, SIGNING_PUBLIC_KEY)).toBe(false);
  });

  it('that is signed cannot be passed off as one that is not', () => {
    const bare = signed({ ...request, signQuery: true }, { [QUERY_HASH_HEADER]: undefined });
    expect(verifyRequest(bare, request, SIGNING_PUBLIC_KEY)).toBe(false);
  });

  it('that is not signed cannot be passed off as one that is', () => {
    const hash = createHash('sha256').update('ccpk=A&version=3.0').digest('base64');
    const claimed = signed(request, { [QUERY_HASH_HEADER]: hash });
    expect(claimed.queryHash).toBe(hash);
    expect(verifyRequest(claimed, request, SIGNING_PUBLIC_KEY)).toBe(false);
  });

  it.each(['1.0', '1.1'] as const)('is not signed by version %s, whatever a header says', (version) => {
    const headers = signed({ ...request, version, signQuery: true }, { [QUERY_HASH_HEADER]: 'x' });
    expect(headers.queryHash).toBeNull();
    expect(verifyRequest(headers, request, SIGNING_PUBLIC_KEY)).toBe(true);
  });
});
