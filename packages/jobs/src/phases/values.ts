import type { App, AppInput, AppParameter } from '../apps/types.js';
import type { Job, ParameterValue } from '../types.js';
import type { StagedInput } from './inputs.js';

/** What a program gets for one input or parameter of its app. */
export interface ArgumentValue {
  readonly id: string;
  /** Texts, in order; none: it was not given. */
  readonly values: readonly string[];
  /** Stands before the value, such as `--query ` or `-e=`; empty: nothing does. */
  readonly argument: string;
  /** Before each of several values. */
  readonly repeat: boolean;
  readonly enquote: boolean;
}

/** By id, in the order of the app: inputs first. */
export function argumentValues(
  app: Pick<App, 'inputs' | 'parameters'>,
  job: Pick<Job, 'parameters'>,
  staged: readonly StagedInput[],
): readonly ArgumentValue[] {
  const inputs = app.inputs.map((input) => {
    const names = staged.filter(({ id }) => id === input.id).map(({ name }) => name);
    return made(input, names);
  });
  const parameters = app.parameters.map((parameter) => {
    const given = job.parameters[parameter.id] ?? parameter.default;
    return parameterValue(parameter, [given].flat());
  });
  return [...inputs, ...parameters];
}

/** A flag has no value: its argument stands there, or does not. */
function parameterValue(parameter: AppParameter, given: readonly ParameterValue[]): ArgumentValue {
  if (parameter.type !== 'flag') return made(parameter, given.map(String));
  const { id, argument, enquote } = parameter;
  const set = given.some((value) => value === true || value === 'true' || value === 1 || value === '1');
  return { id, values: set ? [argument.trim()] : [], argument: '', repeat: false, enquote };
}

function made(
  { id, argument, showArgument, repeatArgument, enquote }: AppInput | AppParameter,
  values: readonly string[],
) {
  return { id, values, argument: showArgument ? argument : '', repeat: repeatArgument, enquote };
}

/** As the environment has it: several values with spaces between them. */
export function textOf({ values }: ArgumentValue): string {
  return values.join(' ');
}

/** As words of a command: the argument is a word of its own when a space ends it, else it begins the value's. */
export function wordsOf({ values, argument, repeat }: ArgumentValue): readonly string[] {
  const apart = /\s$/.test(argument);
  return values.flatMap((value, index) => {
    if (argument === '' || (index > 0 && !repeat)) return [value];
    return apart ? [...argument.trim().split(/\s+/), value] : [`${argument.trimStart()}${value}`];
  });
}
