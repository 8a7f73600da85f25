import { checkText, invalid, isFields, Reader } from '../definition/reader.js';
import type { ParameterValue } from '../types.js';
import { APP_LIMITS } from './limits.js';
import { unsafeName } from './safe-names.js';
import type { AppInput, AppParameter, ParameterType } from './types.js';
import { conforms, validatorProblem } from './validators.js';

const LINE = { least: 0, most: APP_LIMITS.text } as const;
const VALUE = { least: 0, most: APP_LIMITS.value, lines: true } as const;
const WORDS = { most: APP_LIMITS.text } as const;
const TYPES = ['string', 'number', 'bool', 'flag', 'enumeration'] as const;

/** An input of a definition, in Agave's form. @throws MusterError `invalid_field` with the field's path. */
export function readInput(body: unknown, path: string): AppInput {
  const { reader, value, ...common } = readArgument(body, path);
  const fileTypes = reader.object('semantics').texts('fileTypes', APP_LIMITS.words, WORDS);
  const defaults = listed(value.value('default')).map((each, index) => {
    return checkText(`${value.path('default')}${index === 0 ? '' : `.${index}`}`, each, VALUE);
  });
  const input: AppInput = { ...common, default: defaults.filter((each) => each !== ''), fileTypes };
  value.ignore('type');
  end(reader, value);
  checkDefaults(input, value.path('default'));
  return input;
}

/** A parameter of one, likewise. */
export function readParameter(body: unknown, path: string): AppParameter {
  const { reader, value, ...common } = readArgument(body, path);
  const type = value.oneOf('type', TYPES, 'string');
  const enumValues = value.list('enum_values', APP_LIMITS.choices, readChoice);
  const where = value.path('default');
  const found = listed(value.value('default')).filter((each) => each !== '' || type === 'string');
  const parameter: AppParameter = {
    ...common,
    type,
    default: found.filter((each) => each !== '').map((each) => defaultOf(type, each, where)),
    enumValues,
  };
  if (type === 'enumeration' && enumValues.length === 0) {
    throw invalid(value.path('enum_values'), 'it is missing: an enumeration has values to choose from');
  }
  const stranger = parameter.default.find(
    (each) => type === 'enumeration' && !enumValues.some((choice) => choice.value === each),
  );
  if (stranger !== undefined) throw invalid(where, 'must be one of the enum_values');
  if (isSwitch(type) && (common.maxCardinality ?? 1) > 1) {
    throw invalid(`${path}.semantics.maxCardinality`, `a ${type} has one value`);
  }
  end(reader, value);
  checkDefaults(parameter, where);
  return parameter;
}

export function isSwitch(type: ParameterType): boolean {
  return type === 'bool' || type === 'flag';
}

function end(reader: Reader, value: Reader): void {
  value.ignore('enum_values', 'type');
  value.end();
  reader.end();
}

/** What both have: `id`, and what is in `value`, `details` and `semantics`. */
function readArgument(body: unknown, path: string) {
  const reader = new Reader(body, path);
  const id = reader.text('id', { most: 64 });
  const problem = unsafeName(id);
  if (problem !== null) throw invalid(reader.path('id'), problem);
  const value = reader.object('value');
  const details = reader.object('details');
  const semantics = reader.object('semantics');
  const required = value.boolean('required', false);
  const validator = value.optionalText('validator', { most: APP_LIMITS.text });
  const wrong = validator === null ? null : validatorProblem(validator);
  if (wrong !== null) throw invalid(value.path('validator'), wrong);
  const least = semantics.integer('minCardinality', -1, APP_LIMITS.cardinality);
  const most = semantics.integer('maxCardinality', -1, APP_LIMITS.cardinality);
  const argument = {
    id,
    visible: value.boolean('visible', true),
    required,
    order: value.integer('order', 0, APP_LIMITS.cardinality) ?? 0,
    validator,
    enquote: value.boolean('enquote', false),
    minCardinality: Math.max(least ?? 0, required ? 1 : 0),
    // As in Agave: one, when nothing is said, and any number for -1.
    maxCardinality: most === null ? 1 : most === -1 ? null : most,
    label: details.optionalText('label', LINE) ?? id,
    description: details.optionalText('description', { ...VALUE }) ?? '',
    argument: details.optionalText('argument', LINE) ?? '',
    showArgument: details.boolean('showArgument', false),
    repeatArgument: details.boolean('repeatArgument', false),
    ontology: semantics.texts('ontology', APP_LIMITS.words, WORDS),
  };
  if (argument.maxCardinality !== null && argument.maxCardinality < Math.max(argument.minCardinality, 1)) {
    throw invalid(semantics.path('maxCardinality'), 'must be at least 1, not less than minCardinality, or -1');
  }
  details.end();
  semantics.ignore('fileTypes');
  semantics.end();
  return { reader, value, ...argument };
}

/** `"a"`, or `{"a": "What a form says of it"}`. */
function readChoice(choice: unknown, path: string): AppParameter['enumValues'][number] {
  if (!isFields(choice)) {
    const value = checkText(path, choice, WORDS);
    return { value, label: value };
  }
  const [[value, label] = ['', ''], ...more] = Object.entries(choice);
  if (more.length > 0) throw invalid(path, 'must be text, or an object with one field');
  return { value: checkText(path, value, WORDS), label: checkText(path, label, LINE) };
}

function listed(value: unknown): readonly unknown[] {
  return value === undefined ? [] : [value].flat();
}

/** Of the declared type; descriptions of Agave's time have numbers and booleans as text, too. */
function defaultOf(type: ParameterType, value: unknown, path: string): ParameterValue {
  switch (type) {
    case 'number': {
      const number = typeof value === 'string' ? Number(value) : value;
      if (typeof number === 'number' && Number.isFinite(number)) return number;
      throw invalid(path, 'must be a number');
    }
    case 'bool':
    case 'flag': {
      if (typeof value === 'boolean') return value;
      const known = SWITCHES[String(value).toLowerCase()];
      if (known === undefined) throw invalid(path, 'must be true or false');
      return known;
    }
    case 'string':
    case 'enumeration':
      return checkText(path, value, VALUE);
  }
}

const SWITCHES: Readonly<Record<string, boolean>> = {
  true: true,
  false: false,
  '1': true,
  '0': false,
  on: true,
  off: false,
};

/** A job that gives no value of its own must not be refused for the app's. */
function checkDefaults({ default: values, ...rule }: AppInput | AppParameter, path: string): void {
  if (!rule.visible && values.length < rule.minCardinality) {
    throw invalid(path, 'has too few values: nobody can give one for what is not visible');
  }
  if (rule.maxCardinality !== null && values.length > rule.maxCardinality) {
    throw invalid(path, `has ${values.length} values, and maxCardinality is ${rule.maxCardinality}`);
  }
  const { validator } = rule;
  const wrong = validator === null ? undefined : values.find((value) => !conforms(validator, String(value)));
  if (wrong !== undefined) throw invalid(path, 'does not match its own validator');
}
