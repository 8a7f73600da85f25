import { createHash } from 'node:crypto';
import { whyNoValue } from '@muster/platform/secrets';
import { invalid } from '../request/fields.js';
import type { Parameter, Parameters } from './definition.js';
import { RUNBOOK_LIMITS } from './limits.js';
import type { Values } from './places.js';

/** What is given for the parameters of a run, and what is told of it. */

type Given = Readonly<Record<string, string | number>>;

/**
 * Whether it can go well with values for these parameters, whatever they are.
 * @throws MusterError `invalid_field`, which names the parameter.
 */
export function checkGiven(parameters: Parameters, given: readonly string[]): void {
  checkKnown(parameters, given);
  const missing = Object.entries(parameters).find(([name, parameter]) => !given.includes(name) && isNeeded(parameter));
  if (missing !== undefined) throw invalid(`parameters.${missing[0]}`, 'it is missing');
}

function checkKnown(parameters: Parameters, given: readonly string[]): void {
  const unknown = given.find((name) => !Object.hasOwn(parameters, name));
  if (unknown !== undefined) {
    const known = Object.keys(parameters).join(', ');
    throw invalid(`parameters.${unknown}`, `there is no such parameter; there is ${known === '' ? 'none' : known}`);
  }
}

const isNeeded = ({ default: standard, required }: Parameter): boolean => standard === undefined && required !== false;

/** @throws MusterError `invalid_field`, which names the parameter. */
export function readValues(parameters: Parameters, given: Given): Values {
  checkKnown(parameters, Object.keys(given));
  const values = new Map<string, string>();
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = Object.hasOwn(given, name) ? given[name] : parameter.default;
    if (value !== undefined) values.set(name, readValue(`parameters.${name}`, parameter, value));
    else if (isNeeded(parameter)) throw invalid(`parameters.${name}`, 'it is missing');
  }
  return values;
}

/** @throws MusterError `invalid_field` */
export function readValue(field: string, parameter: Parameter, value: string | number): string {
  if (parameter.type === 'number') return readNumber(field, parameter, value);
  const text = String(value);
  if (parameter.type === 'choice') {
    const { choices = [] } = parameter;
    if (choices.includes(text)) return text;
    throw invalid(field, `must be one of ${choices.join(', ')}`);
  }
  checkText(field, parameter, text);
  const unfit = parameter.type === 'secret' ? whyNoValue(text) : null;
  if (unfit !== null) throw invalid(field, unfit);
  return text;
}

function readNumber(field: string, { min, max, whole = false }: Parameter, value: string | number): string {
  const number = typeof value === 'number' ? value : value.trim() === '' ? Number.NaN : Number(value);
  if (!Number.isFinite(number)) throw invalid(field, 'must be a number');
  if (whole && !Number.isSafeInteger(number)) throw invalid(field, 'must be a whole number');
  if (min !== undefined && number < min) throw invalid(field, `must be at least ${min}`);
  if (max !== undefined && number > max) throw invalid(field, `must be at most ${max}`);
  return String(number);
}

function checkText(field: string, parameter: Parameter, text: string): void {
  const { type, min_length = 0, max_length, characters, leading_dash = false } = parameter;
  // NUL ends strings for the operating system and PostgreSQL alike; unpaired surrogates are not text.
  const refused = type === 'string' ? /[\p{Cc}\p{Surrogate}]/u : /[\0\p{Surrogate}]/u;
  if (refused.test(text)) {
    throw invalid(
      field,
      type === 'string' ? 'must be one line without control characters' : 'must be text without NUL',
    );
  }
  const length = [...text].length;
  if (length < min_length) throw invalid(field, `must have at least ${min_length} characters`);
  const most = max_length ?? (type === 'string' ? RUNBOOK_LIMITS.text : RUNBOOK_LIMITS.fileText);
  if (length > most) throw invalid(field, `must have at most ${most} characters`);
  if (type !== 'string') return;
  if (!leading_dash && text.startsWith('-')) throw invalid(field, 'must not begin with -');
  if (characters !== undefined && !characterSet(characters).test(text)) {
    throw invalid(field, `may only have characters of ${characters}`);
  }
}

/** One class of characters and nothing more, so that no text takes long to be matched. Ranges are as in `a-z`. */
export function characterSet(characters: string): RegExp {
  const escaped = characters.replace(/[\\\]^[]/g, '\\$&');
  return new RegExp(`^[${escaped}]*$`, 'u');
}

/** As jobs, events and the audit may tell them: of a secret nothing, of a file its hash. */
export function toldValues(parameters: Parameters, values: Values): Readonly<Record<string, string>> {
  const told = [...values].map(([name, value]): [string, string] => {
    switch (parameters[name]?.type) {
      case 'secret':
        return [name, '***'];
      case 'file':
        return [name, `sha256:${createHash('sha256').update(value).digest('hex')}`];
      default:
        return [name, value];
    }
  });
  return Object.fromEntries(told);
}
