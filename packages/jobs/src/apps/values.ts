import { MusterError } from '../errors.js';
import type { InputValues, ParameterValue, ParameterValues } from '../types.js';
import { isSwitch } from './arguments.js';
import { inputProblem } from './input-uris.js';
import { APP_LIMITS } from './limits.js';
import type { App, AppInput, AppParameter, ParameterType } from './types.js';
import { conforms } from './validators.js';

type Kind = 'input' | 'parameter';
type Given = Readonly<Record<string, unknown>>;

/** Of whom an error tells. */
interface Asked {
  readonly app: Pick<App, 'id' | 'inputs' | 'parameters'>;
  /** Name of the job. */
  readonly job: string;
}

/** What a job is run with: what was given, and the app's own values where nobody gives any or nobody did. */
export interface CheckedValues {
  readonly inputs: InputValues;
  readonly parameters: ParameterValues;
}

/**
 * Checks the inputs and parameters of a submission against its app (sheet §1.3). What is optional and not given stays away
 * from the app, also where it has a default: that is only a proposal.
 * @throws MusterError, one for each row of the sheet's table: `job_arg_missing`, `job_arg_prohibited`, …
 */
export function checkValues(
  asked: Asked,
  given: { readonly inputs: Given; readonly parameters: Given },
): CheckedValues {
  const { inputs, parameters } = asked.app;
  return {
    inputs: valuesOf(asked, 'input', inputs, given.inputs, readInput),
    parameters: valuesOf(asked, 'parameter', parameters, given.parameters, readParameter),
  };
}

function valuesOf<Rule extends AppInput | AppParameter, Value extends ParameterValue>(
  asked: Asked,
  kind: Kind,
  rules: readonly Rule[],
  given: Given,
  read: (place: Place, rule: Rule, value: unknown) => readonly Value[],
): Readonly<Record<string, Value | readonly Value[]>> {
  const known = new Set(rules.map(({ id }) => id));
  const stranger = Object.keys(given).find((key) => !known.has(key));
  if (stranger !== undefined) throw new MusterError('job_arg_undefined', placeOf(asked, kind, stranger));
  // Without a prototype: ids are whatever an app calls them.
  const values: Record<string, Value | readonly Value[]> = Object.create(null);
  for (const rule of rules) {
    const place = placeOf(asked, kind, rule.id);
    const said = Object.hasOwn(given, rule.id) ? given[rule.id] : undefined;
    if (said !== undefined && !rule.visible) throw new MusterError('job_arg_prohibited', place);
    if (said === undefined && rule.visible && !rule.required) continue;
    const own = rule.default as readonly unknown[] as readonly Value[];
    const found = said === undefined ? own : read(place, rule, said);
    if (said === undefined && found.length === 0) {
      if (rule.required) throw new MusterError('job_arg_missing', place);
      continue;
    }
    checkNumber(place, rule, found.length);
    for (const value of found) checkConforms(place, rule, value);
    const [first] = found;
    values[rule.id] = found.length === 1 && first !== undefined && !Array.isArray(said) ? first : found;
  }
  return values;
}

interface Place extends Record<string, string> {
  readonly app: string;
  readonly job: string;
  readonly kind: Kind;
  readonly key: string;
  /** Its path in the request. */
  readonly field: string;
}

function placeOf({ app, job }: Asked, kind: Kind, id: string): Place {
  const key = id.slice(0, 64);
  return { app: app.id, job, kind, key, field: `${kind}s.${key}` };
}

function checkNumber(place: Place, rule: AppInput | AppParameter, count: number): void {
  const { minCardinality: least, maxCardinality: most } = rule;
  if (count < least) throw new MusterError('job_arg_too_few', { ...place, count, limit: least });
  if (most !== null && count > most) throw new MusterError('job_arg_too_many', { ...place, count, limit: most });
}

function checkConforms(place: Place, { validator }: AppInput | AppParameter, value: ParameterValue): void {
  if (validator === null || conforms(validator, String(value))) return;
  throw new MusterError('job_arg_nonconforming', { ...place, value: shown(value), regex: validator });
}

function readInput(place: Place, _rule: AppInput, said: unknown): readonly string[] {
  const values: unknown[] = [said].flat();
  return values.map((value) => {
    if (typeof value !== 'string') throw new MusterError('job_arg_bad_entry', place);
    const problem = inputProblem(value);
    if (problem === null) return value;
    if ('scheme' in problem) throw new MusterError('job_input_unsupported_scheme', { ...place, ...problem });
    throw new MusterError('job_input_uri', { ...place, error: problem.error });
  });
}

/** What JSON calls the values of a type. */
const JSON_TYPES: Readonly<Record<ParameterType, 'string' | 'number' | 'boolean'>> = {
  string: 'string',
  enumeration: 'string',
  number: 'number',
  bool: 'boolean',
  flag: 'boolean',
};

function readParameter(place: Place, rule: AppParameter, said: unknown): readonly ParameterValue[] {
  const { type, enumValues } = rule;
  const expected = Object.hasOwn(JSON_TYPES, type) ? JSON_TYPES[type] : undefined;
  if (expected === undefined) {
    throw new MusterError('job_parameter_type_unknown', { ...place, type, error: 'no such type' });
  }
  const values: unknown[] = [said].flat();
  // Whatever the app says of their number: a switch is on or off.
  if (isSwitch(type) && values.length > 1) {
    throw new MusterError('job_arg_too_many', { ...place, count: values.length, limit: 1 });
  }
  return values.map((value) => {
    if (!isValueOf(expected, value)) {
      throw new MusterError('job_parameter_type_mismatch', { ...place, expected: type, actual: jsonType(value) });
    }
    const error = unusable(value);
    if (error !== null) throw new MusterError('job_parameter_invalid', { ...place, type, value: shown(value), error });
    if (type === 'enumeration' && !enumValues.some((choice) => choice.value === value)) {
      throw new MusterError('job_parameter_not_in_enum', { ...place, value: shown(value) });
    }
    return value;
  });
}

function isValueOf(expected: 'string' | 'number' | 'boolean', value: unknown): value is ParameterValue {
  return typeof value === expected;
}

/** Values become environment variables and arguments, which hold any text but NUL, and are stored as UTF-8. */
function unusable(value: ParameterValue): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'it is no finite number';
  if (typeof value === 'boolean') return null;
  if (value.length > APP_LIMITS.value) return `it has more than ${APP_LIMITS.value} characters`;
  return /[\0\p{Surrogate}]/u.test(value) ? 'it has a NUL or half a character in it' : null;
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** In one line of an answer. */
function shown(value: ParameterValue): string {
  return String(value)
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, 80);
}
