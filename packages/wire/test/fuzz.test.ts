import { MusterError } from '@muster/base';
import { readSignedHeaders, verifyRequest } from '@muster/signing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SIGNING_KEY, SIGNING_PUBLIC_KEY } from '../../signing/test/vectors.js';
import { claimedSender, dialectOfHeader, dialects } from '../src/dialects/index.js';
import { Dropped } from '../src/dialects/types.js';
import { formatHeader, parseHeader } from '../src/header.js';
import { signHmac, signRsaSha1 } from '../src/message-signing.js';
import type { Dialect } from '../src/messages/index.js';
import { parseNodeConfiguration } from '../src/node-configuration.js';
import { openServerHeartbeat } from '../src/server-heartbeat.js';
import { parseHttpDate } from '../src/timestamps.js';
import { z85Decode } from '../src/z85.js';
import { LIMITS_NOW, NOW, sessionPair } from './sessions.js';

/** Anything but `kind` is a defect. */
function only(kind: new (...args: never[]) => Error, work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof kind)) throw error;
  }
}

const clause = fc.oneof(
  fc.constantFrom('Version:1.0', 'Version:2.0', 'Version:3.0', 'SigningMethod:hmac_sha256', 'Sequence:5', 'Signature:'),
  fc.string(),
);
const header = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc.array(clause, { maxLength: 8 }).map((clauses) => Buffer.from(clauses.join(';'))),
);

/** Bodies that come far: right names, wrong values. */
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('Sat, 12 May 2012 20:33:15 GMT', '2012-05-12T20:33:15.000Z', 'j', null),
);
const agentTypes = 'heartbeat ready ack nack started finished aborted error crashed output facts stopping'.split(' ');
const otherTypes = 'ack_commit nack_commit ack_run nack_run succeeded failed prepare commit run start abort'.split(' ');
const fields = fc.record(
  {
    type: fc.oneof(fc.constantFrom(...agentTypes, ...otherTypes), value),
    org: fc.oneof(fc.constant('acme'), value),
    node: fc.oneof(fc.constant('n'), value),
    job_id: value,
    state: fc.oneof(fc.constantFrom('ready', 'idle', 'OK', 'FAILED'), value),
    job_state: fc.oneof(fc.constantFrom('idle', 'running'), value),
    last: value,
    reason: value,
    from: value,
    output: value,
    bytes: value,
    facts: value,
    labels: value,
    stream: value,
    offset: value,
    data: value,
    command: value,
    options: value,
    env: value,
    incarnation: value,
    incarnation_id: value,
    sequence: value,
  },
  { requiredKeys: ['type'] },
);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .tuple(fields, fc.constantFrom('Sat, 12 May 2012 20:33:15 GMT', '2012-05-12T20:33:15.000Z'))
    .map(([body, timestamp]) => Buffer.from(JSON.stringify({ ...body, timestamp }))),
);

const { server, agent } = sessionPair();

function signedHeader(dialect: Dialect, bytes: Uint8Array, sequence: number): Uint8Array {
  switch (dialect) {
    case 'native':
      return formatHeader({ version: '3.0', sequence, signature: signHmac(server.key, `${sequence}\n`, bytes) });
    case 'chef2':
      return formatHeader({ version: '2.0', method: 'hmac_sha256', signature: signHmac(server.key, bytes) });
    case 'spec1':
      return formatHeader({ version: '1.0', checksum: signRsaSha1(SIGNING_KEY, bytes) });
  }
}

describe.each(['native', 'chef2', 'spec1'] as const)('%s', (dialect) => {
  const codec = dialects[dialect];

  it('arbitrary frames are dropped, never more', () => {
    fc.assert(
      fc.property(header, body, (head, bytes) => {
        expect(() => codec.openAgent(head, bytes, server, LIMITS_NOW)).toThrow(Dropped);
        expect(() => codec.openServer(head, bytes, agent, LIMITS_NOW)).toThrow(Dropped);
      }),
    );
  });

  it('an arbitrary body of an authentic node is read or dropped', () => {
    let sequence = 0;
    fc.assert(
      fc.property(body, (bytes) => {
        sequence += 1;
        only(Dropped, () => codec.openAgent(signedHeader(dialect, bytes, sequence), bytes, server, LIMITS_NOW));
        const own = { ...agent, rsa: server.rsa ?? { ownPrivateKey: '', peerPublicKey: '' } };
        only(Dropped, () => codec.openServer(signedHeader(dialect, bytes, sequence), bytes, own, LIMITS_NOW));
      }),
      { numRuns: 500 },
    );
  });
});

it('arbitrary headers have a version we know, or none', () => {
  fc.assert(
    fc.property(header, (head) => {
      expect(parseHeader(head) === null).toBe(dialectOfHeader(head) === null);
    }),
  );
});

it('arbitrary bodies name a sender, or none', () => {
  fc.assert(
    fc.property(body, (bytes) => {
      expect(claimedSender(bytes)?.node).not.toBe('');
    }),
  );
});

it('arbitrary server heartbeats are dropped', () => {
  fc.assert(
    fc.property(header, body, fc.constantFrom<Dialect>('native', 'chef2', 'spec1'), (head, bytes, dialect) => {
      const open = () => openServerHeartbeat([head, bytes], SIGNING_PUBLIC_KEY, { ...LIMITS_NOW, dialect });
      expect(open).toThrow(Dropped);
    }),
  );
});

it('arbitrary signing headers give an error of the table, or do not verify', () => {
  const names = ['X-Ops-UserId', 'x-ops-timestamp', 'X-Ops-Sign', 'X-Ops-Content-Hash', 'X-Ops-Authorization-1'];
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '2012-05-12T20:33:15Z',
      'version=1.0',
      'version=1.3;algorithm=sha256',
      'algorithm=sha1;version=1.1;',
    ),
  );
  const entry = fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.constant(undefined));
  fc.assert(
    fc.property(fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), entry), (headers) => {
      only(MusterError, () => {
        const read = readSignedHeaders(headers, NOW);
        expect(verifyRequest(read, { method: 'GET', path: '/', body: '' }, SIGNING_PUBLIC_KEY)).toBe(false);
      });
    }),
  );
  const complete = fc.record({
    'X-Ops-UserId': fc.string({ minLength: 1 }),
    'X-Ops-Timestamp': fc.constant('2012-05-12T20:33:15Z'),
    'X-Ops-Sign': fc.constantFrom('version=1.0', 'version=1.1', 'version=1.2', 'version=1.3'),
    'X-Ops-Content-Hash': fc.constantFrom(
      '2jmj7l5rSw0yVb/vlWAYkK/YBwk=',
      '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
    ),
    'X-Ops-Authorization-1': fc.oneof(fc.base64String(), fc.string()),
  });
  fc.assert(
    fc.property(complete, fc.constantFrom(SIGNING_PUBLIC_KEY, 'no key'), (headers, key) => {
      const read = readSignedHeaders(headers, NOW);
      expect(verifyRequest(read, { method: 'GET', path: '/', body: '' }, key)).toBe(false);
    }),
  );
});

it('an arbitrary configuration is read or refused', () => {
  fc.assert(fc.property(fc.jsonValue(), (json) => only(MusterError, () => parseNodeConfiguration(json))));
});

it('arbitrary text is a date and a key, or null', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      expect(parseHttpDate(text)).toBeNull();
      expect(z85Decode(text)?.length ?? 32).toBe(32);
    }),
  );
});

it('a body of deep nesting is dropped or read without exhausting the stack', () => {
  const deep = Buffer.from(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`);
  only(Dropped, () => dialects.native.openAgent(signedHeader('native', deep, 9_999), deep, server, LIMITS_NOW));
});
