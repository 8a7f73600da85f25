import type { Parameter } from '../runbooks/parameters.js';

type Value = string | number | boolean;

/** An input or a parameter of an app, as the server shows it. */
export interface AppArgument {
  readonly id: string;
  readonly value: {
    readonly visible: boolean;
    readonly required: boolean;
    readonly order: number;
    readonly default: Value | readonly Value[] | null;
    /** Of parameters. */
    readonly type?: 'string' | 'number' | 'bool' | 'flag' | 'enumeration';
    readonly enum_values?: readonly Readonly<Record<string, string>>[];
  };
  readonly details: { readonly label: string; readonly description: string };
  /** At most -1: as many as one likes. */
  readonly semantics: { readonly maxCardinality: number };
}

export interface AppArguments {
  readonly inputs: readonly AppArgument[];
  readonly parameters: readonly AppArgument[];
}

/** What is asked for on a form: one field for each that may be given. */
export interface AppField {
  readonly of: 'inputs' | 'parameters';
  /** Several values, one a line. */
  readonly several: boolean;
  readonly boolean: boolean;
  readonly parameter: Parameter;
}

/** In the order that the app wants, inputs first. What nobody may give is left out. */
export function fieldsOf(app: AppArguments): readonly AppField[] {
  const shown = (all: readonly AppArgument[]) =>
    all.filter(({ value }) => value.visible).sort((a, b) => a.value.order - b.value.order);
  return [
    ...shown(app.inputs).map((argument) => fieldOf('inputs', argument)),
    ...shown(app.parameters).map((argument) => fieldOf('parameters', argument)),
  ];
}

function fieldOf(of: AppField['of'], { id, value, details, semantics }: AppArgument): AppField {
  const boolean = value.type === 'bool' || value.type === 'flag';
  const choices = boolean ? ['true', 'false'] : (value.enum_values ?? []).flatMap((each) => Object.keys(each));
  const several = choices.length === 0 && semantics.maxCardinality !== 1;
  const begins = value.default === null ? [] : [value.default].flat();
  const label = details.label === id ? '' : details.label;
  const what = of === 'inputs' ? `a path or URI${several ? ', one a line' : ''}` : several ? 'one a line' : '';
  return {
    of,
    several,
    boolean,
    parameter: {
      name: id,
      type: choices.length > 0 ? 'choice' : several ? 'file' : value.type === 'number' ? 'number' : 'string',
      description: [label, details.description, what].filter((text) => text !== '').join('; '),
      required: value.required && begins.length === 0,
      start: begins.map(String).join('\n'),
      choices,
      min: null,
      max: null,
      whole: false,
    },
  };
}

export interface JobForm {
  readonly app: { readonly id: string; readonly name: string };
  readonly fields: readonly AppField[];
  /** By the names of the fields. */
  readonly values: Readonly<Record<string, string>>;
  /** Others are '' unless they are given. */
  readonly name: string;
  readonly system: string;
  readonly maxRunTime: string;
  readonly archive: boolean;
}

/** What is submitted: what is as the app has it anyway is left out. */
export function submissionOf(form: JobForm): Readonly<Record<string, unknown>> {
  const { app, name, system, maxRunTime, archive } = form;
  const given = (of: AppField['of']) =>
    Object.fromEntries(
      changed(form)
        .filter((each) => each.field.of === of)
        .map(({ field, texts }) => {
          const values = texts.map((text) => typed(field, text));
          return [field.parameter.name, values.length === 1 ? values[0] : values];
        }),
    );
  return {
    name: name.trim() === '' ? app.name : name.trim(),
    appId: app.id,
    archive,
    ...(archive && { archivePath: '' }),
    ...(system.trim() !== '' && { executionSystem: system.trim() }),
    ...(maxRunTime.trim() !== '' && { maxRunTime: maxRunTime.trim() }),
    inputs: given('inputs'),
    parameters: given('parameters'),
  };
}

/** The words of `muster job run` that do the same. */
export function runWords(form: JobForm): readonly string[] {
  const { app, name, system, maxRunTime, archive } = form;
  return [
    ...['job', 'run', app.id],
    ...(name.trim() === '' || name.trim() === app.name ? [] : ['--name', name.trim()]),
    ...changed(form).flatMap(({ field, texts }) =>
      texts.flatMap((text) => [
        field.of === 'inputs' ? '--input' : '--param',
        `${field.parameter.name}=${field.of === 'parameters' && typed(field, text) === text ? textWord(text) : text}`,
      ]),
    ),
    ...(system.trim() === '' ? [] : ['--system', system.trim()]),
    ...(maxRunTime.trim() === '' ? [] : ['--max-run-time', maxRunTime.trim()]),
    ...(archive ? [] : ['--no-archive']),
  ];
}

function changed({ fields, values }: JobForm) {
  return fields.flatMap((field) => {
    const { name, start } = field.parameter;
    const value = values[name] ?? '';
    const texts = (field.several ? value.split('\n') : [value])
      .map((text) => text.trim())
      .filter((text) => text !== '');
    return texts.length === 0 || value === start ? [] : [{ field, texts }];
  });
}

function typed({ boolean, parameter }: AppField, text: string): Value {
  if (boolean) return text === 'true';
  return parameter.type === 'number' ? Number(text) : text;
}

/** The command line takes what is JSON as JSON: a text that looks so is given as a text of JSON. */
function textWord(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  return JSON.stringify(text);
}
