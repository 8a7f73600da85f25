import type { SettingSchema } from './settings.js';

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i;
const YES = new Set(['true', 'yes', 'on', '1']);
const NO = new Set(['false', 'no', 'off', '0']);

/** Turns the text of a variable or flag into what the schema wants; text that does not fit stays text and is refused later. */
export function fromText(schema: SettingSchema, text: string): unknown {
  switch (schema.type) {
    case 'number':
    case 'integer':
      return NUMBER.test(text.trim()) ? Number(text) : text;
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
  const range =
    schema.minimum === undefined || schema.maximum === undefined ? '' : ` from ${schema.minimum} to ${schema.maximum}`;
  switch (schema.type) {
    case 'integer':
      return `an integer${range}`;
    case 'number':
      return `a number${/\(seconds\)/.test(schema.description ?? '') ? ' of seconds' : ''}${range}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'a list of strings';
    default:
      return 'a string';
  }
}
