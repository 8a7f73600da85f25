import { generateKeyPair, signScript } from '@muster/signing';
import type { CommandOptions } from '@muster/wire';
import { describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { placeOf } from '../../src/files/allowed-paths.js';
import { filePolicy } from '../../src/files/policy.js';

const [anna, eve] = await Promise.all([generateKeyPair(), generateKeyPair()]);
const kept = { sha256: 'a'.repeat(64), size: 1 };
const statement = { org: 'acme', sha256: kept.sha256, args: ['--x'] };
const script = (signature?: string, args = ['--x']): CommandOptions => ({
  script: { ...kept, name: 's.sh', args, ...(signature === undefined ? {} : { signature }) },
});
const upload = (dest: string): CommandOptions => ({ uploads: [{ ...kept, dest, mode: 0o644 }] });
const signed = [{ name: 'anna', key: anna.publicKey }];
const byAnna = signScript(statement, anna.privateKey);

describe('what a node runs, takes and gives is its owner’s decision', () => {
  const cases: [string, Record<string, unknown>, CommandOptions, RegExp | null][] = [
    ['a script, by default', {}, script(byAnna), /allow_scripts in agent.yaml/],
    ['any script', { allow_scripts: true }, script(), null],
    ['a script without a signature', { allow_scripts: signed }, script(), /signed by anna; this one is not signed/],
    ['one that anna signed', { allow_scripts: signed }, script(byAnna), null],
    ['one that eve signed', { allow_scripts: signed }, script(signScript(statement, eve.privateKey)), /another key/],
    ['what anna signed with other arguments', { allow_scripts: signed }, script(byAnna, ['--y']), /another key/],
    ['a signature that is none', { allow_scripts: signed }, script('AAAA'), /another key/],
    [
      'what anna signed elsewhere',
      { allow_scripts: signed },
      script(signScript({ ...statement, org: 'x' }, anna.privateKey)),
      /another key/,
    ],
    ['a file, by default', {}, upload('/srv/app/x'), /'\/srv\/app\/x' on this node; .* allow_upload in agent.yaml/],
    ['a file in its place', { allow_upload: ['/srv/app/**'] }, upload('/srv/app/x/y'), null],
    ['a file elsewhere', { allow_upload: ['/srv/app/**'] }, upload('/srv/app2/x'), /allow_upload/],
    ['a file to fetch, by default', {}, { fetch: '/etc/shadow' }, /allow_fetch in agent.yaml/],
    ['a file that may be fetched', { allow_fetch: ['/var/log/*'] }, { fetch: '/var/log/syslog' }, null],
    ['a command', {}, {}, null],
  ];
  it.each(cases)('%s', (_what, config, options, refusal) => {
    const refused = filePolicy(parseAgentConfig(config), 'acme').refuse(options);
    if (refusal === null) expect(refused).toBeNull();
    else expect(refused).toMatch(refusal);
  });

  it('a key that is none is refused at the door, naming whose', () => {
    const config = parseAgentConfig({ allow_scripts: [{ name: 'anna', key: 'x' }] });
    expect(() => filePolicy(config, 'acme')).toThrow(/the key of anna is no public key/);
  });

  it.each(['relative/**', '/srv/../etc/**x', '/srv//app', '/srv/**/x', ''])(
    'a place such as %j is refused',
    (place) => {
      expect(() => parseAgentConfig({ allow_upload: [place] })).toThrow(/allow_upload/);
    },
  );
});

describe('places', () => {
  it.each([
    ['/srv/app/**', '/srv/app/a', { root: '/srv/app', names: ['a'] }],
    ['/srv/app/**', '/srv/app/a/b', { root: '/srv/app', names: ['a', 'b'] }],
    ['/srv/app/**', '/srv/app', null],
    ['/srv/app/**', '/srv/apple', null],
    ['/srv/app/**', '/srv/app/../etc', null],
    ['/srv/app/**', '/srv/app//x', null],
    ['/srv/app/**', '/srv/app/x\0y', null],
    ['/srv/app/*', '/srv/app/a', { root: '/srv/app', names: ['a'] }],
    ['/srv/app/*', '/srv/app/a/b', null],
    ['/**', '/a/b', { root: '/', names: ['a', 'b'] }],
    ['/etc/motd', '/etc/motd', { root: '/etc', names: ['motd'] }],
    ['/etc/motd', '/etc/motd2', null],
    ['/motd', '/motd', { root: '/', names: ['motd'] }],
  ])('%s and %j', (pattern, path, place) => {
    expect(placeOf([pattern], path)).toEqual(place);
  });
});
