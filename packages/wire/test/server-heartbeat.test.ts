import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MESSAGE_KEY } from '../../signing/test/vectors.js';
import type { Frames } from '../src/dialects/types.js';
import { verifyRsaSha1 } from '../src/message-signing.js';
import {
  encodeServerHeartbeat,
  encodeSpec1Heartbeat,
  type HeartbeatChecks,
  openServerHeartbeat,
} from '../src/server-heartbeat.js';
import { dropCause, header, json, LIMITS_NOW, NOW } from './sessions.js';

const publicKey = createPublicKey(MESSAGE_KEY);
const beat = { server: 'push1', incarnation: 'inc-1', sequence: 5, now: NOW };
const frames = encodeServerHeartbeat(beat, MESSAGE_KEY);
const native: HeartbeatChecks = { ...LIMITS_NOW, dialect: 'native' };

/** Changes clauses of the header. */
function changed(pattern: RegExp, replacement: string): Frames {
  return [Buffer.from(header(frames).replace(pattern, replacement)), frames[1]];
}

const cause = (given: Frames, checks: HeartbeatChecks) =>
  dropCause(() => openServerHeartbeat(given, publicKey, checks));

it('has the body of the sheet §4.2', () => {
  expect(json(frames)).toEqual({
    server: 'push1',
    timestamp: 'Sat, 12 May 2012 20:33:15 GMT',
    type: 'heartbeat',
    sequence: 5,
    incarnation_id: 'inc-1',
  });
});

it('a deployed agent verifies it by Signature and SigningMethod alone (sheet §3.3)', () => {
  const clauses = Object.fromEntries(
    header(frames)
      .split(';')
      .map((clause) => clause.split(':')),
  ) as Record<string, string>;
  expect(clauses).toMatchObject({ Version: '2.0', SigningMethod: 'rsa2048_sha1' });
  expect(verifyRsaSha1(publicKey, frames[1], clauses.Signature ?? '')).toBe(true);
});

it.each(['native', 'chef2'] as const)('opens in %s', (dialect) => {
  expect(openServerHeartbeat(frames, publicKey, { ...LIMITS_NOW, dialect })).toEqual({
    server: 'push1',
    incarnation: 'inc-1',
    sequence: 5,
    timestamp: NOW,
  });
});

it('the beat of spec 1.0 opens in spec1 only', () => {
  const spec = encodeSpec1Heartbeat(beat, MESSAGE_KEY);
  expect(header(spec)).toMatch(/^Version:1\.0;Checksum:/);
  expect(cause(spec, { ...LIMITS_NOW, dialect: 'spec1' })).toBe('accepted');
  expect(cause(spec, native)).toBe('bad_header');
  expect(cause(frames, { ...LIMITS_NOW, dialect: 'spec1' })).toBe('bad_header');
});

describe('a native agent', () => {
  it('does not need the SHA-1 signature', () => {
    expect(cause(changed(/Signature:[^;]*/, 'Signature:x'), native)).toBe('accepted');
  });

  it('does not accept the SHA-1 signature instead', () => {
    expect(cause(changed(/;Signature256:.*/, ''), native)).toBe('bad_sig');
    expect(cause(changed(/Signature256:.*/, 'Signature256:x'), native)).toBe('bad_sig');
  });

  it('drops another body', () => {
    const body = Buffer.from(frames[1]);
    body.write('6', body.indexOf('5,"inc'));
    expect(cause([frames[0], body], native)).toBe('bad_sig');
    expect(cause([frames[0], Buffer.from('{')], native)).toBe('parse_fail');
  });

  it.each([300_000, -300_000])('drops a beat that is %i ms off', (offset) => {
    expect(cause(frames, { ...native, now: NOW + offset })).toBe('bad_timestamp');
  });

  it('drops a beat it had already, or one before it, of the same incarnation', () => {
    const after = (sequence: number, incarnation = 'inc-1') =>
      cause(frames, { ...native, after: { incarnation, sequence } });
    expect([after(4), after(5), after(6), after(6, 'inc-0')]).toEqual(['accepted', 'replayed', 'replayed', 'accepted']);
  });
});
