import { loadConfig } from '@muster/platform/config';
import { expect, test } from 'vitest';
import { TEST_CERTIFICATE } from '../../platform/test/support/tls.js';
import { ownUrl } from '../src/own-url.js';

const TLS = { 'tls-cert': '/etc/muster/cert.pem', 'tls-key': '/etc/muster/key.pem' };

/** The certificate of the tests is for `localhost`, and signed by itself. */
test.each([
  ['by its name, when the certificate is not for the address', '127.0.0.1', 'localhost', 'localhost'],
  ['by its name, when the certificate is not for the IPv6 address', '[::1]', 'localhost', 'localhost'],
  ['where it listens, when the certificate is for that', 'localhost', 'muster.example.com', 'localhost'],
  ['where it listens, when the certificate is for neither', '127.0.0.1', 'muster.example.com', '127.0.0.1'],
])('a server with TLS is reached %s', (_, address, name, host) => {
  const config = loadConfig({ env: {}, flags: { ...TLS, name } });
  expect(ownUrl(`https://${address}:8443`, config, TEST_CERTIFICATE)).toEqual({
    url: `https://${host}:8443`,
    ca: '/etc/muster/cert.pem',
  });
});

test('a server without TLS is reached where it listens', () => {
  const config = loadConfig({ env: {}, flags: { name: 'localhost' } });
  expect(ownUrl('http://127.0.0.1:8080', config)).toEqual({ url: 'http://127.0.0.1:8080' });
});
