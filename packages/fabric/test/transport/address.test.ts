import { formatAddress, isLoopback, parseAddress } from '@muster/fabric';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

describe('an address', () => {
  it.each([
    ['stomp://127.0.0.1:61613', { scheme: 'stomp', host: '127.0.0.1', port: 61_613, path: '', secure: false }],
    ['stomp+tls://events.example.org:7', { scheme: 'stomp+tls', host: 'events.example.org', port: 7, secure: true }],
    ['ws://localhost:8080/events', { scheme: 'ws', host: 'localhost', port: 8080, path: '/events', secure: false }],
    ['wss://[::1]:443/', { scheme: 'wss', host: '::1', port: 443, path: '/', secure: true }],
    ['stomp://*:0', { host: '*', port: 0 }],
    ['stomp://localhost', { port: 61_613 }],
    ['stomp+tls://localhost', { port: 61_613 }],
    ['ws://localhost', { port: 80 }],
    ['wss://localhost', { port: 443 }],
    ['stomp://localhost:1/', { path: '' }],
  ])('%s is read', (url, expected) => {
    expect(parseAddress(url)).toMatchObject(expected);
  });

  it.each([
    '',
    'localhost:61613',
    'http://localhost:1',
    'stomp:localhost:1',
    'stomp://',
    'stomp://:1',
    'stomp://local host:1',
    'stomp://localhost:65536',
    'stomp://localhost:-1',
    'stomp://localhost:1/path',
    'stomp://[localhost]:1',
    'ws://localhost:1/a b',
  ])('%j is refused', (url) => {
    expect(() => parseAddress(url)).toThrow(/^invalid address/);
  });

  it('with a secret in it is refused without showing it', () => {
    expect(() => parseAddress('stomp://ada:secret@localhost:1')).toThrow('stomp://…@localhost:1');
  });

  it('is written as it is read', () => {
    const host = fc.constantFrom('localhost', '10.0.0.1', '::1', 'a.example.org', '*');
    const scheme = fc.constantFrom('stomp', 'stomp+tls', 'ws', 'wss');
    fc.assert(
      fc.property(scheme, host, fc.nat(65_535), (its, name, port) => {
        const url = `${its}://${name.includes(':') ? `[${name}]` : name}:${port}`;
        expect(formatAddress(parseAddress(url))).toBe(url);
      }),
    );
  });

  it('is of this machine only when its host says so', () => {
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
      expect(isLoopback(host)).toBe(true);
    }
    for (const host of ['0.0.0.0', '::', '*', '10.0.0.1', '127.evil.org', 'localhost.evil.org']) {
      expect(isLoopback(host)).toBe(false);
    }
  });
});
