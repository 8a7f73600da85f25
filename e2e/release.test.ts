import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

// How a release is signed, and how two of them are compared; `npm run release -- --sign FILE --check-reproducible` does both.

/** Without types: Node.js runs them as they are. */
const script = (path: string) => import(new URL(`../scripts/packages/${path}`, import.meta.url).href);
const { signingKey, publicKeyFile, signatureFile, verified } = (await script('signature.mjs')) as {
  readonly signingKey: (pem: string) => { readonly id: Buffer };
  readonly publicKeyFile: (key: object) => string;
  readonly signatureFile: (content: string, key: object, comment: string) => string;
  readonly verified: (content: string, signature: string, publicKey: string) => string;
};
const { checksums, differences } = (await script('reproducible.mjs')) as {
  readonly checksums: (directory: string, names: readonly string[]) => string;
  readonly differences: (one: string, other: string) => readonly string[];
};
const { billOfMaterials } = (await script('components.mjs')) as {
  readonly billOfMaterials: (components: readonly object[], of: object) => { readonly metadata: object };
};
const pem = (type: 'ed25519' | 'ed448') => {
  const options = { privateKeyEncoding: { type: 'pkcs8', format: 'pem' } } as never;
  return generateKeyPairSync(type as 'ed25519', options).privateKey as unknown as string;
};

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-release-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('signatures of releases', () => {
  it('hold for the file, the comment and the key that they were made of, and for nothing else', () => {
    const key = signingKey(pem('ed25519'));
    const signature = signatureFile('sums', key, 'muster 1.2.3');
    expect(verified('sums', signature, publicKeyFile(key))).toBe('muster 1.2.3');
    expect(() => verified('Sums', signature, publicKeyFile(key))).toThrow('not the one that was signed');
    expect(() => verified('sums', signature.replace('1.2.3', '1.2.4'), publicKeyFile(key))).toThrow('the comment');
    expect(() => verified('sums', signature, publicKeyFile(signingKey(pem('ed25519'))))).toThrow('another key');
  });

  it('have the form of minisign, with a number of the key that follows from it', () => {
    const key = signingKey(
      `-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI${'A'.repeat(43)}\n-----END PRIVATE KEY-----`,
    );
    const [, line = ''] = signatureFile('sums', key, 'x').split('\n');
    const signed = Buffer.from(line, 'base64');
    expect(signed).toHaveLength(2 + 8 + 64);
    expect(signed.toString('latin1', 0, 2)).toBe('ED');
    expect(signed.subarray(2, 10)).toEqual(key.id);
    expect(Buffer.from(publicKeyFile(key).split('\n')[1] ?? '', 'base64').subarray(2, 10)).toEqual(key.id);
  });

  it('are made with an Ed25519 key alone', () => {
    expect(() => signingKey(pem('ed448'))).toThrow('--sign takes an Ed25519 key (openssl genpkey -algorithm ed25519)');
  });
});

describe('two releases', () => {
  const release = (name: string, files: Readonly<Record<string, string>>) => {
    const path = join(directory, name);
    execFileSync('mkdir', ['-p', join(path, 'work')]);
    for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content);
    return path;
  };

  it('are the same when each file has the same bytes', () => {
    const files = { muster: 'program', 'muster.deb': 'package' };
    expect(differences(release('a', files), release('b', files))).toEqual([]);
  });

  it('say which files differ, and where', () => {
    const one = release('a', { muster: 'program', 'muster.deb': 'package', gone: '' });
    const other = release('b', { muster: 'program', 'muster.deb': 'pacKage+', more: '' });
    expect(differences(one, other)).toEqual([
      'gone: was not made again',
      'more: was not there the first time',
      'muster.deb: 7 and 8 bytes, different from byte 3 on',
    ]);
  });

  it('have checksums that sha256sum takes', () => {
    const path = release('a', { muster: 'program', 'muster.deb': 'package' });
    writeFileSync(join(path, 'SHA256SUMS'), checksums(path, ['muster.deb', 'muster']));
    expect(execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: path, encoding: 'utf8' })).toBe(
      'muster: OK\nmuster.deb: OK\n',
    );
  });
});

it('says in its bill of materials which commit it was made from, and nothing of when and where', () => {
  const of = { version: '1.2.3', node: { version: '20.20.2' }, epoch: 1_790_000_000, commit: 'c0ffee' };
  expect(billOfMaterials([], of)).toEqual(billOfMaterials([], of));
  expect(billOfMaterials([], of).metadata).toEqual({
    timestamp: '2026-09-21T14:13:20.000Z',
    component: expect.objectContaining({ name: 'muster', version: '1.2.3' }),
    properties: [{ name: 'muster:commit', value: 'c0ffee' }],
  });
});
