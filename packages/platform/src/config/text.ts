import { expectedQuantity, parseQuantity } from '@muster/base';
import type { SettingSchema } from './settings.js';

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i;
const YES = new Set(['true', 'yes', 'on', '1']);
const NO = new Set(['false', 'no', 'off', '0']);

/** Turns the text of a variable or flag into what the schema wants; text that does not fit stays text and is refused later. */
export function fromText(schema: SettingSchema, text: string): unknown {
  switch (schema.type) {
    case 'number':
    case 'integer':
      if (NUMBER.test(text.trim())) return Number(text);
      return schema.unit === undefined ? text : (parseQuantity(schema.unit, text) ?? text);
    case 'boolean': {
      const word = text.trim().toLowerCase();
      return YES.has(word) ? true : NO.has(word) ? false : text;
    }
    case 'array':
      return listOf(text);
    default:
      return text;
  }
}

/** A file says by itself what is a number; only a duration or a size may be text there, too. */
export function fromFile(schema: SettingSchema, value: unknown): unknown {
  return typeof value === 'string' && schema.unit !== undefined ? fromText(schema, value) : value;
}

/** `a, b`, or a JSON list when an element has a comma in it. */
function listOf(text: string): unknown {
  if (text.trimStart().startsWith('[')) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text
    .split(',')
    .map((element) => element.trim())
    .filter((element) => element !== '');
}

/** What a setting may be, in words. */
export function expected(schema: SettingSchema): string {
  if (schema.anyOf !== undefined) return `one of ${schema.anyOf.map((choice) => String(choice.const)).join(', ')}`;
  const { minimum, maximum, unit } = schema;
  const bounded = minimum !== undefined && maximum !== undefined;
  if (unit !== undefined && bounded) return expectedQuantity({ unit, minimum, maximum });
  const range = bounded ? ` from ${minimum} to ${maximum}` : '';
  switch (schema.type) {
    case 'integer':
      return `an integer${range}`;
    case 'number':
      return `a number${range}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'a list of strings';
    default:
      return 'a string';
  }
}
