import { describe, expect, it } from 'vitest';
import { Nonces } from '../src/events/nonces.js';

const LIMITS = { perPrincipal: 3, all: 5 };

describe('nonces', () => {
  it('are each used once by one principal', () => {
    const nonces = new Nonces(LIMITS);
    expect([nonces.use('a', '1', 100, 0), nonces.use('a', '1', 100, 0), nonces.use('b', '1', 100, 0)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('are remembered to their end, whatever the order of the ends', () => {
    const nonces = new Nonces(LIMITS);
    nonces.use('a', 'long', 100, 0);
    nonces.use('a', 'short', 10, 0);
    expect(nonces.use('a', 'long', 100, 99)).toBe(false);
    expect(nonces.use('a', 'short', 200, 99)).toBe(true);
  });

  it('of one principal are no more than a limit at once; others are not in the way', () => {
    const nonces = new Nonces(LIMITS);
    for (const nonce of ['1', '2', '3']) nonces.use('a', nonce, 100, 0);
    expect(() => nonces.use('a', '4', 100, 0)).toThrow('too many logins of one name at once (limit 3)');
    expect(nonces.use('b', '1', 100, 0)).toBe(true);
    expect(nonces.use('a', '4', 200, 100)).toBe(true);
  });

  it('of all are no more than a limit at once', () => {
    const nonces = new Nonces(LIMITS);
    for (const principal of ['a', 'b', 'c', 'd', 'e']) nonces.use(principal, '1', 10_000, 0);
    expect(() => nonces.use('f', '1', 10_000, 0)).toThrow('too many signed logins at once (limit 5)');
    expect(nonces.size).toBe(5);
    expect(nonces.use('f', '1', 20_000, 10_000)).toBe(true);
  });

  it('are forgotten when they have ended', () => {
    const nonces = new Nonces({ perPrincipal: 10, all: 1000 });
    for (let n = 0; n < 500; n++) nonces.use(`p${n}`, '1', n, n);
    expect(nonces.size).toBeLessThan(5);
  });
});
