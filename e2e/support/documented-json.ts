import { answersOfRoutes, type JsonSchema, PRINTED, schemaOf } from '@muster/cli';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const compiled = new Map<string, ValidateFunction>();

/**
 * What a command printed with `--json` is as the command declares it, and nothing of it is undeclared: what `muster schema` and
 * docs/reference/cli-json.md say is true of real servers.
 */
export function assertAsDeclared(args: readonly string[], stdout: string): void {
  const name = commandIn(args);
  if (name === undefined || stdout.trim() === '') return;
  const printed = PRINTED[name];
  if (printed === undefined || printed.as === 'other') return;
  const validate = compiled.get(name) ?? ajv.compile(closed(schemaOf(printed.shape, answersOfRoutes())));
  compiled.set(name, validate);
  for (const document of documentsIn(stdout)) {
    if (validate(document)) continue;
    const wrong = (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    const shown = JSON.stringify(document).slice(0, 2000);
    throw new Error(`muster ${name} --json printed what it does not declare:\n${wrong.join('\n')}\n${shown}`);
  }
}

/** The longest name of a command that the words begin with, after flags of all commands. */
function commandIn(args: readonly string[]): string | undefined {
  return [3, 2, 1].map((length) => args.slice(0, length).join(' ')).find((name) => Object.hasOwn(PRINTED, name));
}

/** One document, or one a line. */
function documentsIn(stdout: string): unknown[] {
  try {
    return [JSON.parse(stdout) as unknown];
  } catch {
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  }
}

/** The same, but what it does not name is not allowed, unless it says that there may be more. */
function closed(schema: JsonSchema): JsonSchema {
  const inside = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'const' || key === 'enum' ? value : closedWithin(value),
    ]),
  );
  const { properties, additionalProperties, patternProperties } = schema;
  const open = properties === undefined || additionalProperties !== undefined || patternProperties !== undefined;
  return open ? inside : { ...inside, additionalProperties: false };
}

function closedWithin(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedWithin);
  return typeof value === 'object' && value !== null ? closed(value as JsonSchema) : value;
}
