import { isDeepStrictEqual } from 'node:util';
import { notRunnable } from '@muster/base';
import { compileSearch } from '@muster/nodes';
import { invalid } from '../request/fields.js';
import { type JobRequest, readJobRequest } from '../request/request.js';
import type { Definition, Parameter, Parameters, ParameterType } from './definition.js';
import { RUNBOOK_LIMITS } from './limits.js';
import { placesIn } from './places.js';
import { openOptions, programTexts } from './program-text.js';
import { characterSet, readValue } from './values.js';

/** Which fields of a parameter go with which types, besides `type`, `description` and `required`. */
const OWN_FIELDS: Readonly<Record<ParameterType, readonly string[]>> = {
  string: ['default', 'min_length', 'max_length', 'characters', 'leading_dash'],
  number: ['default', 'min', 'max', 'whole'],
  choice: ['default', 'choices'],
  secret: ['min_length', 'max_length'],
  file: ['min_length', 'max_length'],
};
const COMMON_FIELDS = ['type', 'description', 'required'];
const NAME = /^[a-z][a-z0-9_]*$/;

/** What the schema of the route cannot tell. @throws MusterError as POST jobs, `invalid_field`, `invalid_selector` */
export function checkDefinition(definition: Definition, limits: { readonly maxNodes: number }): void {
  const { command, script, args, signature, file, parameters = {}, available, job } = definition;
  const bytes = Buffer.byteLength(JSON.stringify(definition));
  if (bytes > RUNBOOK_LIMITS.definition) {
    throw invalid('definition', `has ${bytes} bytes as JSON; at most ${RUNBOOK_LIMITS.definition}`);
  }
  if ((command === undefined) === (script === undefined)) throw invalid('command', 'give either command or script');
  if (script === undefined && args !== undefined) throw invalid('args', 'go with a script; a command has them itself');
  if (script === '') throw invalid('script', 'is empty');
  const unrunnable = script === undefined ? null : notRunnable(Buffer.from(script));
  if (unrunnable !== null) throw invalid('script', unrunnable);
  if (available === true && job.quorum !== undefined) {
    throw invalid('available', 'give either available or quorum: with it any number of nodes is enough');
  }
  const sample = { command: 'true', ...job };
  const { target, quorum } = readJobRequest(sample, JSON.stringify(sample), limits);
  if (isNone(quorum)) {
    throw invalid('quorum', 'must be at least one node; `available: true` in its place runs it wherever it can');
  }
  if (target.kind === 'search') compileSearch(target.query);
  checkParameters(parameters);
  if (typeof command === 'string' && command.trim() === '') throw invalid('command', 'is empty');
  if (typeof command === 'string' && placesIn(command).length > 0) {
    throw invalid('command', 'has parameters, so write it as a list of words, which no shell reads');
  }
  const words = { command: typeof command === 'object' ? command : [], args: args ?? [] };
  const [program] = words.command;
  if (typeof command === 'object' && (program === undefined || program === '')) throw invalid('command', 'is empty');
  if (placesIn(program ?? '').length > 0) throw invalid('command.0', 'is the program, which is no parameter');
  for (const index of programTexts(words.command)) {
    const [name] = placesIn(words.command[index] ?? '');
    if (name === undefined) continue;
    const instead =
      'give it after the program, as an argument of its own, which awk takes after -v, and `sh -c` has as "$1": ';
    const example = `[sh, -c, 'echo "$1"', sh, '{{${name}}}']`;
    throw invalid(`command.${index}`, `what is given for {{${name}}} would be run as a program; ${instead}${example}`);
  }
  const [open] = openOptions(words.command);
  if (open !== undefined) {
    const [name] = placesIn(words.command[open] ?? '');
    const why = `what is given for {{${name}}} would be an option of the program, and some have the next word run`;
    throw invalid(`command.${open}`, `${why}: write the option itself`);
  }
  for (const [field, list] of Object.entries(words)) {
    list.forEach((word, index) => {
      checkWord(`${field}.${index}`, word, parameters);
    });
  }
  const inFile = placesIn(file ?? '');
  for (const name of inFile) existing('file', name, parameters);
  const used = new Set([...[...words.command, ...words.args].flatMap(placesIn), ...inFile]);
  const unused = Object.keys(parameters).find((name) => !used.has(name));
  if (unused !== undefined) {
    throw invalid(`parameters.${unused}`, `is used nowhere: write {{${unused}}} in command, args or file`);
  }
  if (signature === undefined) return;
  if (script === undefined) throw invalid('signature', 'goes with a script');
  if (words.args.flatMap(placesIn).length > 0) throw invalid('signature', 'cannot be of arguments that are parameters');
}

/** With it a run on no node at all would be complete. */
function isNone(quorum: JobRequest['quorum']): boolean {
  if (quorum === null || quorum === 'default') return false;
  return 'count' in quorum ? quorum.count === 0 : quorum.percent === 0;
}

function checkWord(field: string, word: string, parameters: Parameters): void {
  if (/[\0\p{Surrogate}]/u.test(word)) throw invalid(field, 'must be text without NUL');
  for (const name of placesIn(word)) {
    const { type } = existing(field, name, parameters);
    if (type === 'secret' || type === 'file') {
      throw invalid(field, `{{${name}}} is a ${type}: others would see it among the arguments, so it goes into file`);
    }
  }
}

function existing(field: string, name: string, parameters: Parameters): Parameter {
  const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  if (parameter === undefined) throw invalid(field, `{{${name}}} is none of its parameters`);
  return parameter;
}

function checkParameters(parameters: Parameters): void {
  const named = Object.entries(parameters);
  if (named.length > RUNBOOK_LIMITS.parameters) throw invalid('parameters', `at most ${RUNBOOK_LIMITS.parameters}`);
  for (const [name, parameter] of named) {
    const field = `parameters.${name}`;
    if (!NAME.test(name) || name.length > RUNBOOK_LIMITS.parameterName) {
      throw invalid(field, 'a name is small letters, digits and _, and begins with a letter');
    }
    const allowed = [...COMMON_FIELDS, ...OWN_FIELDS[parameter.type]];
    const other = Object.keys(parameter).find((key) => !allowed.includes(key));
    if (other !== undefined) throw invalid(`${field}.${other}`, `does not go with the type ${parameter.type}`);
    checkParameter(field, parameter);
  }
}

function checkParameter(field: string, parameter: Parameter): void {
  const { type, choices, characters, default: standard } = parameter;
  if (type === 'choice') {
    if (choices === undefined || choices.length === 0) throw invalid(`${field}.choices`, 'it is missing');
    for (const choice of choices) checkWord(`${field}.choices`, choice, {});
  }
  if (characters !== undefined && !isCharacterSet(characters)) {
    throw invalid(`${field}.characters`, 'must be characters and ranges of them, such as a-z0-9._-');
  }
  if (standard === undefined) return;
  const read = readValue(`${field}.default`, parameter, standard);
  if (type === 'number' && !isDeepStrictEqual(Number(read), Number(standard))) {
    throw invalid(`${field}.default`, 'must be a number');
  }
}

function isCharacterSet(characters: string): boolean {
  try {
    return characters !== '' && characterSet(characters) instanceof RegExp;
  } catch {
    return false;
  }
}
