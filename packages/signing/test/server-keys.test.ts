import { beforeAll, describe, expect, test } from 'vitest';
import {
  generateKeyPair,
  keysAround,
  leadsTo,
  linkKeys,
  type ServerKey,
  type ServerKeyLink,
  serverKey,
  vouch,
  vouchedFor,
} from '../src/index.js';

/** Four keys of a server, one after the other, and one of somebody else. */
let keys: ServerKey[];
let links: ServerKeyLink[];

const AT = { announcedAt: Date.UTC(2030, 0, 1), takesOverAt: Date.UTC(2030, 0, 8), revoked: false };
const pem = (index: number): string => keys[index]?.publicKey ?? '';
const link = (from: number, to: number): ServerKeyLink => {
  const [previous, next] = [keys[from], keys[to]];
  if (previous === undefined || next === undefined) throw new Error('no such key');
  return linkKeys(previous, next, AT);
};
const STRANGER = 4;

beforeAll(async () => {
  const pairs = await Promise.all(Array.from({ length: 5 }, () => generateKeyPair()));
  keys = pairs.map(({ privateKey }) => serverKey(privateKey));
  links = [link(0, 1), link(1, 2), link(2, 3)];
});

describe('links', () => {
  test('lead from a key to itself and to every later one, and never back', () => {
    for (let from = 0; from < 4; from++)
      for (let to = 0; to < 4; to++)
        expect([from, to, leadsTo(pem(from), pem(to), links)]).toEqual([from, to, from <= to]);
  });

  test('lead nowhere when one is missing', () => {
    expect(leadsTo(pem(0), pem(3), links.slice(1))).toBe(false);
    expect(leadsTo(pem(0), pem(3), [])).toBe(false);
  });

  test.each([
    ['signed by somebody else', () => ({ ...link(STRANGER, 1), previous: pem(0) })],
    ['to a key that has not confirmed it', () => ({ ...link(0, STRANGER), key: pem(1) })],
    ['whose times were changed', () => ({ ...link(0, 1), takes_over_at: '2029-01-01T00:00:00.000Z' })],
    ['that says that the key was revoked, and was not signed so', () => ({ ...link(0, 1), revoked: true })],
    ['without a key', () => ({ ...link(0, 1), key: 'none' })],
  ])('do not count: one %s', (_, forged) => {
    expect(leadsTo(pem(0), pem(1), [forged()])).toBe(false);
    expect(keysAround(pem(1), [forged()])).toEqual([pem(1)]);
  });

  test('in a ring end nowhere', () => {
    const ring = [link(0, 1), link(1, 0)];
    expect(leadsTo(pem(0), pem(2), ring)).toBe(false);
    expect(keysAround(pem(0), ring).length).toBeLessThanOrEqual(ring.length + 1);
  });

  test('give all keys that belong together, the oldest first, from whichever is believed', () => {
    const all = [0, 1, 2, 3].map(pem);
    for (const known of all) expect(keysAround(known, links)).toEqual(all);
    expect(keysAround(pem(STRANGER), links)).toEqual([pem(STRANGER)]);
  });
});

test('a key vouches for a CURVE key and an incarnation, and for no other', () => {
  const [key] = keys;
  if (key === undefined) throw new Error('no key');
  const voucher = vouch(key, 'curve', 'life');
  expect(vouchedFor(pem(0), { curvePublicKey: 'curve', incarnation: 'life', voucher })).toBe(true);
  expect(vouchedFor(pem(0), { curvePublicKey: 'other', incarnation: 'life', voucher })).toBe(false);
  expect(vouchedFor(pem(0), { curvePublicKey: 'curve', incarnation: 'next', voucher })).toBe(false);
  expect(vouchedFor(pem(1), { curvePublicKey: 'curve', incarnation: 'life', voucher })).toBe(false);
});
