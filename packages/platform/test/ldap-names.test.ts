import fc from 'fast-check';
import { FilterParser } from 'ldapts';
import { describe, expect, test } from 'vitest';
import { canonicalDn } from '../src/auth/issuers/ldap/dn.js';
import { filterOf, filterValue, whyNoTemplate } from '../src/auth/issuers/ldap/filter.js';
import { readAnswer } from '../src/auth/issuers/ldap/start-tls.js';
import { isUnlikely } from '../src/auth/issuers/ldap/sync.js';
import { groupsGiven } from '../src/auth/issuers/rules.js';

describe('a value of a filter', () => {
  test.each([
    ['jdoe', 'jdoe'],
    ['*)(uid=*', '\\2a\\29\\28uid=\\2a'],
    ['a\\b', 'a\\5cb'],
    ['a\0', 'a\\00'],
    ['Žofie', 'Žofie'],
  ])('%j is written %s', (text, written) => {
    expect(filterValue(text)).toBe(written);
  });

  test('says itself and nothing else, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (text) => {
        const filter = FilterParser.parseString(filterOf('(uid={user})', { user: text }));
        expect(filter).toMatchObject({ attribute: 'uid', value: text });
      }),
    );
  });

  test('is put wherever the template says, and is no template itself', () => {
    const template = '(&(uid={user})(|(member={dn})(memberUid={user})))';
    expect(filterOf(template, { user: '{dn}', dn: 'cn=a\\,b' })).toBe(
      '(&(uid={dn})(|(member=cn=a\\5c,b)(memberUid={dn})))',
    );
  });
});

test.each([
  ['(uid={user})', null],
  ['(uid={name})', 'there is no {name}, only {user}'],
  ['(uid=*)', 'must have {user} in it'],
  ['uid={user}', 'must be in parentheses, such as (uid={user})'],
])('the template %s: %s', (template, reason) => {
  expect(whyNoTemplate(template, ['user'])).toBe(reason);
});

describe('a distinguished name', () => {
  test.each([
    ['cn=ops,dc=example,dc=org', 'CN = Ops , DC=Example,  dc=ORG'],
    ['cn=a+ou=b,dc=x', 'OU=B+CN=A,DC=X'],
    ['cn=a\\,b,dc=x', 'cn=a\\2Cb,dc=x'],
    ['cn=Žofie,dc=x', 'cn=\\c5\\bdofie,dc=x'],
    ['cn=a  b,dc=x', 'cn=a b,dc=x'],
    ['2.5.4.3=a', '2.5.4.3 = A'],
  ])('%s is %s', (one, other) => {
    expect(canonicalDn(one)).toBe(canonicalDn(other));
    expect(canonicalDn(one)).not.toBe(null);
  });

  test.each([
    ['cn=a,dc=x', 'cn=a\\,dc\\=x'],
    ['cn=a,dc=x', 'cn=a+dc=x'],
    ['cn=a,dc=x', 'dc=x,cn=a'],
    ['cn=a\\ ', 'cn=a'],
  ])('%s is not %s', (one, other) => {
    expect(canonicalDn(one)).not.toBe(canonicalDn(other));
  });

  test.each(['', 'ops', 'cn=a,', ',cn=a', 'cn=a,,dc=x', '=a', 'cn=a\\'])('%j is none', (text) => {
    expect(canonicalDn(text)).toBe(null);
  });
});

test('groups are given by what the issuer calls them, and by nothing else', () => {
  const groups = { 'cn=ops,dc=x': 'operators', 'cn=dev,dc=x': 'developers' };
  expect([...groupsGiven({ groups }, ['CN=Ops, DC=X', 'cn=other,dc=x', 'no name'], canonicalDn)]).toEqual([
    'operators',
  ]);
  expect([...groupsGiven({ groups }, ['CN=Ops, DC=X'])]).toEqual([]);
  expect([...groupsGiven({ groups: {} }, ['constructor', '__proto__'])]).toEqual([]);
});

describe('an answer to StartTLS', () => {
  const answer = (hex: string) => readAnswer(Buffer.from(hex, 'hex'));

  test('is its result, when all of it is there', () => {
    const whole = '300c02010178070a010004000400';
    expect(answer(whole)).toBe(0);
    expect(answer('300c02010178070a013504000400')).toBe(0x35);
    for (let bytes = 0; bytes < whole.length / 2; bytes++) expect(answer(whole.slice(0, bytes * 2))).toBe(null);
    expect(answer('30840000000c02010178070a010004000400')).toBe(0);
  });

  test.each([
    ['more after it', '300c02010178070a01000400040000'],
    ['another message', '300c02010278070a010004000400'],
    ['another operation', '300c02010161070a010004000400'],
    ['no result', '300c020101780702010004000400'],
    ['no length', '3080020101'],
    ['text', '48545450'],
  ])('is none with %s', (_, hex) => {
    expect(() => answer(hex)).toThrow('StartTLS');
  });
});

test.each([
  [0, 0, false],
  [10, 10, false],
  [11, 22, false],
  [11, 21, true],
  [1000, 1000, true],
])('%d gone of %d: is it the directory that is wrong? %s', (gone, of, unlikely) => {
  expect(isUnlikely(gone, of)).toBe(unlikely);
});
