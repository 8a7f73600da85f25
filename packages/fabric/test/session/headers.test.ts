import { allows, allowsAll, allowsEvent, EVERY_TYPE, mayAllow, mayAllowType, type TypeRules } from '@muster/fabric';
import { compileText, parseSelector } from '@muster/selector';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAt, parseFrom } from '../../src/protocol/replay-start.js';
import { PublishRights } from '../../src/session/publishing/publish-rights.js';
import {
  allowedEvents,
  allowedTypes,
  deniedTypes,
  isNarrowed,
} from '../../src/session/subscribing/subscribe-rights.js';

const type = fc.stringMatching(/^[a-c._]{1,3}$/);
const patterns = fc.array(
  fc.oneof(
    type,
    type.map((prefix) => `${prefix}*`),
    fc.constant('*'),
  ),
  { maxLength: 3 },
);
const rules: fc.Arbitrary<TypeRules> = fc.record({ granted: patterns, restricted: patterns, open: patterns });

describe('what somebody may follow', () => {
  test('narrowing lets exactly the allowed types through', () => {
    fc.assert(
      fc.property(rules, type, (given, asked) => {
        const narrowed = allowedTypes(given);
        const passes = narrowed !== null && compileText(narrowed)(new Map([['type', asked]]));
        expect(passes).toBe(allows(given, asked));
      }),
    );
  });

  const owner = fc.constantFrom('ann', "o'neil", '12');
  const pattern = fc.oneof(
    type,
    type.map((prefix) => `${prefix}*`),
  );
  const owned = fc.array(fc.record({ pattern, attribute: fc.constant('owner'), value: owner, restricted: patterns }), {
    maxLength: 2,
  });

  test('narrowing lets exactly the allowed types and what is one’s own of others through', () => {
    fc.assert(
      fc.property(rules, owned, type, fc.option(owner), (given, owned, asked, of) => {
        const rights = { ...given, owned };
        const event = new Map([['type', asked], ...(of === null ? [] : [['owner', of] as const])]);
        const narrowed = allowedEvents(rights);
        const passes = narrowed !== null && compileText(narrowed)(event);
        expect(passes).toBe(allowsEvent(rights, asked, (name) => event.get(name)));
        if (passes) expect([mayAllowType(rights, asked), mayAllow(rights, asked.slice(0, 1))]).toEqual([true, true]);
      }),
    );
  });

  test('who may follow everything is not narrowed at all', () => {
    expect(allowedTypes(EVERY_TYPE)).toEqual({ kind: 'everything' });
  });

  test('rights to publish are as the rules say, asked once or often', () => {
    fc.assert(
      fc.property(rules, fc.array(type), (given, asked) => {
        const rights = new PublishRights(given);
        for (const each of asked) expect(rights.allow(each)).toBe(allows(given, each));
      }),
    );
  });

  const denied = (text: string) =>
    deniedTypes(parseSelector(text, { sugar: false }), { granted: [], restricted: [], open: ['open.*'] });
  test.for([
    ["type = 'shut'", ['shut']],
    ["'shut' = type AND n > 5", ['shut']],
    ["n > 5 AND (type = 'shut' OR type = 'closed')", ['shut', 'closed']],
    ["type IN ('shut', 'closed')", ['shut', 'closed']],
    ["type = 'open.a' OR type = 'shut'", null],
    ["type = 'shut' OR n > 5", null],
    ["type LIKE 'shut%'", ['shut*']],
    ["type LIKE 'shut' OR type LIKE 'shut.%.a'", ['shut', 'shut.*']],
    ["type LIKE 's!%%' ESCAPE '!'", ['s%*']],
    ["n > 5 AND type LIKE 'open.%' AND type = 'shut'", ['shut']],
    ["type LIKE 'open.a%'", null],
    ["type LIKE 'op%'", null],
    ["type LIKE '%shut'", null],
    ["type NOT LIKE 'shut%'", null],
    ["word LIKE 'shut%'", null],
    ["type NOT IN ('shut')", null],
    ["NOT type = 'shut'", null],
    ['', null],
  ] as const)('%s asks for nothing but %s', ([text, types]) => {
    expect(denied(text)).toEqual(types);
  });
});

describe('a selector is narrowed', () => {
  const narrowed = (text: string) =>
    isNarrowed(parseSelector(text, { sugar: false }), {
      granted: ['auth.mine'],
      restricted: ['auth.*', 'pay'],
      open: ['*'],
    });

  test.for([
    '',
    'n > 5',
    "type IN ('open', 'pay')",
    "type LIKE 'a%'",
    "type LIKE 'pay%'",
    "type NOT LIKE 'auth.%'",
    "type <> 'pay'",
    "type = 'open' OR n > 5",
    "n > 5 AND type LIKE 'auth.m%'",
  ])('when it may match what is denied: %s', (text) => {
    expect(narrowed(text)).toBe(true);
  });

  test.for([
    "type = 'open'",
    "n > 5 AND type IN ('open', 'auth.mine')",
    "type LIKE 'auth.mine'",
    "type LIKE 'push.%' OR type = 'auth.mine'",
  ])('not when all that it may match is allowed: %s', (text) => {
    expect(narrowed(text)).toBe(false);
  });

  test('never for who may follow everything', () => {
    expect(isNarrowed(parseSelector('', { sugar: false }), EVERY_TYPE)).toBe(false);
  });
});

describe('types that begin so', () => {
  test.for([
    [{ granted: [], restricted: ['auth.*', 'node.up'], open: ['*'] }, 'auth.', false],
    [{ granted: [], restricted: ['auth.*', 'node.up'], open: ['*'] }, 'auth.key.', false],
    [{ granted: [], restricted: ['auth.*', 'node.up'], open: ['*'] }, 'au', true],
    [{ granted: [], restricted: ['auth.*', 'node.up'], open: ['*'] }, 'node.up', true],
    [{ granted: ['auth.key.*'], restricted: ['auth.*'], open: ['*'] }, 'auth.', true],
    [{ granted: ['auth.key.*'], restricted: ['auth.*'], open: ['*'] }, 'auth.key.add', true],
    [{ granted: ['auth.key.*'], restricted: ['auth.*'], open: ['*'] }, 'auth.user.', false],
    [{ granted: ['a'], restricted: [], open: [] }, '', true],
    [{ granted: [], restricted: [], open: [] }, '', false],
  ] as const)('under %j, %s: may be allowed: %s', ([rules, prefix, expected]) => {
    expect(mayAllow(rules, prefix)).toBe(expected);
  });

  test('are all denied where none may be allowed, and all allowed where they are said to be', () => {
    fc.assert(
      fc.property(rules, type, fc.constantFrom('', 'a', 'b.', '_c'), (given, prefix, rest) => {
        if (allows(given, prefix + rest)) expect(mayAllow(given, prefix)).toBe(true);
        else expect(allowsAll(given, prefix)).toBe(false);
      }),
    );
  });
});

describe('where a replay begins', () => {
  test.for([
    ['first', { kind: 'first' }],
    ['0', { kind: 'position', position: 0 }],
    ['123456789012345', { kind: 'position', position: 123_456_789_012_345 }],
    ['-10s', { kind: 'ago', ms: 10_000 }],
    ['-30m', { kind: 'ago', ms: 1_800_000 }],
    ['-1h', { kind: 'ago', ms: 3_600_000 }],
    ['-2d', { kind: 'ago', ms: 172_800_000 }],
    ['2026-11-20T12:00Z', { kind: 'time', atMs: Date.UTC(2026, 10, 20, 12) }],
    ['2026-11-20T12:00:00.5+01:00', { kind: 'time', atMs: Date.UTC(2026, 10, 20, 11, 0, 0, 500) }],
  ] as const)('%s', ([text, from]) => {
    expect(parseFrom(text)).toEqual(from);
  });

  test.for([
    '',
    ' ',
    'last',
    '-1',
    '-1w',
    '1h',
    '1e9',
    '2026-11-20',
    '2026-11-20T12:00:00',
    '2026-13-20T12:00Z',
    '9'.repeat(16),
  ])('not at %j', (text) => {
    expect(parseFrom(text)).toBeNull();
  });

  test('a future event is timed the same way', () => {
    expect(parseAt('2026-11-20T12:00:00Z')).toBe(Date.UTC(2026, 10, 20, 12));
    expect(parseAt('1700000000000')).toBe(1_700_000_000_000);
    expect(parseAt('tomorrow')).toBeNull();
  });
});
