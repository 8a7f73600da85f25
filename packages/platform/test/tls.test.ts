import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '@muster/server';
import { generateKeyPair } from '@muster/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/load.js';
import { expiredCertificates } from '../src/config/tls.js';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './support/tls.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-tls-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** Settings of a server whose `prefix` listener uses these two files. */
function config(prefix: '' | 'stomp-', cert: string, key: string) {
  const flags = { 'data-dir': join(directory, 'data'), [`${prefix}tls-cert`]: cert, [`${prefix}tls-key`]: key };
  return loadConfig({ env: {}, flags: { ...flags, 'log-level': 'silent' } });
}

describe.each([
  ['http', ''],
  ['stomp', 'stomp-'],
] as const)('the certificate of %s', (listener, prefix) => {
  const cert = () => file('cert.pem', TEST_CERTIFICATE);
  const key = () => file('key.pem', TEST_CERTIFICATE_KEY);

  it('that can be used is taken', () => {
    expect(expiredCertificates(config(prefix, cert(), key()), Date.now())).toEqual([]);
  });

  it('that has expired is told', () => {
    const [told, ...more] = expiredCertificates(config(prefix, cert(), key()), Date.UTC(2200, 0));
    expect(told).toContain(`${listener}.tls_cert (--${prefix}tls-cert): the certificate expired at 2126-10-27T`);
    expect(more).toEqual([]);
  });

  it.each([
    ['a key that is none', () => [cert(), file('k', 'garbage')], 'tls_key', 'holds no PEM private key'],
    [
      'the key of another certificate',
      async () => [cert(), file('k', (await generateKeyPair()).privateKey)],
      'tls_key',
      'is not the private key of the certificate',
    ],
    [
      'a key behind a passphrase',
      () => [cert(), file('k', TEST_CERTIFICATE_KEY.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE'))],
      'tls_key',
      'is protected by a passphrase',
    ],
    [
      'a certificate that is none',
      () => [file('c', TEST_CERTIFICATE_KEY), key()],
      'tls_cert',
      'holds no PEM certificate',
    ],
    ['a key that is not there', () => [cert(), join(directory, 'none')], 'tls_key', 'cannot be read (ENOENT'],
    ['a directory', () => [directory, key()], 'tls_cert', 'cannot be read (EISDIR'],
  ])('is refused with %s, by the name of its setting', async (_, files, setting, reason) => {
    const [certFile = '', keyFile = ''] = await files();
    const settings = config(prefix, certFile, keyFile);
    const path = setting === 'tls_key' ? keyFile : certFile;
    const flag = `--${prefix}${setting.replace('_', '-')}`;
    const message = `configuration: ${listener}.${setting} (${flag}): ${path} ${reason}`;
    expect(() => expiredCertificates(settings, 0)).toThrow(message);
    await expect(startServer(settings)).rejects.toMatchObject({ code: 'invalid_certificate', exit: 2 });
  });
});
