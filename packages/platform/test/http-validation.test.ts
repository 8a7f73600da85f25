import { type TSchema, Type } from 'typebox';
import { expect, test } from 'vitest';
import { PRINCIPAL_NAME } from '../src/auth/names.js';
import { validatorCompiler } from '../src/http/validation.js';

const nullable = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const strict = (fields: Record<string, TSchema>) => Type.Object(fields, { additionalProperties: false });

function refusal(schema: TSchema, value: unknown): string {
  const check = validatorCompiler({ schema: strict({ it: schema }), method: 'PUT', url: '/', httpPart: 'body' });
  const { error } = check({ it: value }) as { readonly error?: Error };
  return error?.message ?? 'taken';
}

const TTL = nullable(Type.Integer({ minimum: 300, maximum: 86_400 }));
const RULES = nullable(strict({ ttl: Type.Optional(TTL), name: Type.String({ maxLength: 3 }) }));
const EITHER = Type.Union([Type.Literal('all'), Type.Literal('none'), Type.Null()]);

test.each([
  ['a number below its range', TTL, 5, 'invalid it: must be >= 300'],
  ['a number above its range', TTL, 2_592_000, 'invalid it: must be <= 86400'],
  ['another kind of value', TTL, 'soon', 'invalid it: must be one of a integer, a null'],
  ['a number within what may be null, too', RULES, { name: 'a', ttl: 5 }, 'invalid it.ttl: must be >= 300'],
  ['a field of an object that may be null', RULES, { name: 'abcd' }, 'invalid it.name: must not have more than 3'],
  ['a field that is missing there', RULES, {}, 'invalid it.name: it is missing'],
  [
    'a field that there is not',
    RULES,
    { name: 'a', x: 1 },
    'invalid it.x: there is no such field; there are ttl, name',
  ],
  ['none of some words', EITHER, 'some', 'invalid it: must be one of all, none, a null'],
])('%s is refused with what it may be', (_, schema, value, message) => {
  expect(refusal(schema, value)).toContain(message);
});

test.each([
  [
    '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$',
    'must be letters, digits and . _ -, at most 100 in all, and not begin with . or _ or -',
  ],
  [
    '^[a-z0-9][a-z0-9_-]{0,254}$',
    'must be small letters, digits and _ -, at most 255 in all, and not begin with _ or -',
  ],
  [PRINCIPAL_NAME, 'must be letters, digits and _ . : @ -, at most 255 in all, and not begin with . or : or @ or -'],
  ['^[A-Za-z0-9][A-Za-z0-9._-]*$', 'must be letters, digits and . _ -, and not begin with . or _ or -'],
  ['^[0-9a-f]{64}$', 'must match pattern'],
])('a name that does not fit %s is refused with what it may have, in words', (pattern, reason) => {
  expect(refusal(Type.String({ pattern }), '-a b')).toContain(`invalid it: ${reason}`);
});

test('what may be null is taken as null', () => expect(refusal(TTL, null)).toBe('taken'));
