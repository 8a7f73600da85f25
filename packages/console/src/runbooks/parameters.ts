/** A parameter of a runbook, as its definition has it. */
export interface Parameter {
  readonly name: string;
  readonly type: 'string' | 'number' | 'choice' | 'secret' | 'file';
  readonly description: string;
  readonly required: boolean;
  /** '': there is none. */
  readonly start: string;
  readonly choices: readonly string[];
  readonly min: number | null;
  readonly max: number | null;
  readonly whole: boolean;
}

const TYPES = ['string', 'number', 'choice', 'secret', 'file'] as const;

/** What a definition, as it was handed in, says of its parameters. The server decides what fits. */
export function parametersOf(definition: Readonly<Record<string, unknown>>): readonly Parameter[] {
  const { parameters } = definition;
  if (!isObject(parameters)) return [];
  return Object.entries(parameters).flatMap(([name, given]) => {
    if (!isObject(given)) return [];
    const { default: start, choices, min, max } = given;
    return [
      {
        name,
        type: TYPES.find((type) => type === given.type) ?? 'string',
        description: typeof given.description === 'string' ? given.description : '',
        required: given.required !== false && start === undefined,
        start: start === undefined || start === null ? '' : String(start),
        choices: Array.isArray(choices) ? choices.map(String) : [],
        min: typeof min === 'number' ? min : null,
        max: typeof max === 'number' ? max : null,
        whole: given.whole === true,
      },
    ];
  });
}

/** What is typed before anything is. */
export function startValues(parameters: readonly Parameter[]): Readonly<Record<string, string>> {
  return Object.fromEntries(parameters.map(({ name, start }) => [name, start]));
}

/** Of parameters, what is wrong with them or missing, by name. */
export function faultsOf(
  parameters: readonly Parameter[],
  values: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  return new Map(
    parameters.flatMap((parameter) => {
      const fault = faultOf(parameter, values[parameter.name] ?? '');
      return fault === null ? [] : [[parameter.name, fault] as const];
    }),
  );
}

function faultOf({ type, required, choices, min, max, whole }: Parameter, value: string): string | null {
  if (value === '') return required ? 'It must be given.' : null;
  if (type === 'choice' && !choices.includes(value)) return 'It is none of the choices.';
  if (type !== 'number') return null;
  const given = Number(value);
  if (value.trim() === '' || !Number.isFinite(given)) return 'It must be a number.';
  if (whole && !Number.isInteger(given)) return 'It must be a whole number.';
  if (min !== null && given < min) return `It must be at least ${min}.`;
  if (max !== null && given > max) return `It must be at most ${max}.`;
  return null;
}

/** As the server takes them: what was left out is left out. */
export function parametersBody(
  parameters: readonly Parameter[],
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, string | number>> {
  return Object.fromEntries(
    parameters.flatMap(({ name, type }) => {
      const value = values[name] ?? '';
      return value === '' ? [] : [[name, type === 'number' ? Number(value) : value] as const];
    }),
  );
}

/** Secrets and files are read from a file, so that nobody sees them among the processes. */
export function parameterWords(
  parameters: readonly Parameter[],
  values: Readonly<Record<string, string>>,
): readonly string[] {
  return parameters.flatMap(({ name, type }) => {
    const value = values[name] ?? '';
    if (type === 'secret' || type === 'file') return value === '' ? [] : ['--param-file', `${name}=${name}.txt`];
    return value === '' ? [] : ['--param', `${name}=${value}`];
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
