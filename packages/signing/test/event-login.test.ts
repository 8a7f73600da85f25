import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isLoginTimely, readLoginSignature, signLogin, verifyLogin } from '../src/event-login.js';
import { SIGNING_LIMITS } from '../src/limits.js';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ABOUT = { login: 'default/web1', timestampMs: 1_800_000_000_000, nonce: '0123456789abcdef0123456789abcdef' };

const signed = (about = ABOUT) => {
  const read = readLoginSignature(signLogin(about, privateKey));
  if (read === null) throw new Error('not a signed login');
  return read;
};

describe('a signed login', () => {
  it('says when and with which nonce it was made', () => {
    expect(signed()).toMatchObject({ timestampMs: ABOUT.timestampMs, nonce: ABOUT.nonce });
  });

  it('verifies with the key that made it, and with no other', () => {
    expect(verifyLogin(ABOUT.login, signed(), publicKey)).toBe(true);
    expect(verifyLogin(ABOUT.login, signed(), other.publicKey)).toBe(false);
  });

  it('is for one login name', () => {
    expect(verifyLogin('default/web2', signed(), publicKey)).toBe(false);
    expect(verifyLogin('other/web1', signed(), publicKey)).toBe(false);
  });

  it('covers its time and its nonce', () => {
    expect(verifyLogin(ABOUT.login, { ...signed(), timestampMs: ABOUT.timestampMs + 1 }, publicKey)).toBe(false);
    expect(verifyLogin(ABOUT.login, { ...signed(), nonce: 'f'.repeat(32) }, publicKey)).toBe(false);
  });

  it('is timely within 300 s before and after', () => {
    const at = (difference: number) => isLoginTimely(signed(), ABOUT.timestampMs + difference);
    expect([at(SIGNING_LIMITS.loginSkewMs - 1), at(1 - SIGNING_LIMITS.loginSkewMs)]).toEqual([true, true]);
    expect([at(SIGNING_LIMITS.loginSkewMs), at(-SIGNING_LIMITS.loginSkewMs)]).toEqual([false, false]);
  });

  it.each([
    ['a token', 'access_abc'],
    ['nothing', ''],
    ['another version', `key2:1:${ABOUT.nonce}:AAAA`],
    ['a short nonce', 'key1:1:ff:AAAA'],
    ['upper-case digits', `key1:1:${ABOUT.nonce.toUpperCase()}:AAAA`],
    ['a time that is no number', `key1:x:${ABOUT.nonce}:AAAA`],
    ['no signature', `key1:1:${ABOUT.nonce}:`],
    ['text behind it', `key1:1:${ABOUT.nonce}:AAAA\n`],
    ['a signature longer than any key’s', `key1:1:${ABOUT.nonce}:${'A'.repeat(1400)}`],
  ])('is not %s', (_what, passcode) => {
    expect(readLoginSignature(passcode)).toBeNull();
  });
});
