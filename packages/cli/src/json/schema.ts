import { readOwn } from '@muster/base/own-parts';
import { PRINTED } from './printed.js';
import type { JsonSchema, Printed, Shape } from './shapes.js';

export { PRINTED };

/** Schemas of the answers of routes, by operation. */
export type Answers = Readonly<Record<string, JsonSchema>>;

/** Those that commands print: taken from /openapi.json by `npm run docs`. */
export function answersOfRoutes(): Answers {
  return JSON.parse(readOwn(new URL('../../route-answers.json', import.meta.url)).toString()) as Answers;
}

/** What a command prints with `--json`, as a JSON Schema that stands alone. */
export function jsonSchema(command: string, { as, shape, note }: Printed, answers: Answers): JsonSchema {
  const description = [as === 'lines' ? 'One of the lines that it prints.' : '', note ?? ''].join(' ').trim();
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `muster ${command} --json`,
    ...(description !== '' && { description }),
    ...schemaOf(shape, answers),
  };
}

/** The schema of a shape: of one line where lines are printed. */
export function schemaOf(shape: Shape, answers: Answers): JsonSchema {
  if ('own' in shape) return shape.own;
  if ('listOf' in shape) return { type: 'array', items: schemaOf(shape.listOf, answers) };
  if ('either' in shape) return { anyOf: shape.either.map((one) => schemaOf(one, answers)) };
  if ('object' in shape) return changed(schemaOf(shape.object, answers), shape, answers);
  const whole = answers[shape.answer];
  if (whole === undefined) throw new Error(`no route answers ${shape.answer}`);
  return shape.at.reduce((schema, name) => part(schema, name, shape.answer), whole);
}

/** Operations whose answers commands print. */
export function operations(): string[] {
  const found = new Set<string>();
  const visit = (shape: Shape): void => {
    if ('answer' in shape) found.add(shape.answer);
    else if ('listOf' in shape) visit(shape.listOf);
    else if ('either' in shape) shape.either.forEach(visit);
    else if ('object' in shape) [shape.object, ...Object.values(shape.more)].forEach(visit);
  };
  for (const { shape } of Object.values(PRINTED)) visit(shape);
  return [...found].sort();
}

function part(schema: JsonSchema, name: string, operation: string): JsonSchema {
  const found = partOf(schema, name);
  if (typeof found !== 'object' || found === null) throw new Error(`the answer of ${operation} has no ${name}`);
  return found as JsonSchema;
}

/** `[]`: an element of a list; `|0`: the first of those that it may be. */
function partOf({ items, anyOf, properties }: JsonSchema, name: string): unknown {
  if (name === '[]') return items;
  if (name.startsWith('|')) return (anyOf as readonly unknown[] | undefined)?.[Number(name.slice(1))];
  return (properties as Readonly<Record<string, unknown>> | undefined)?.[name];
}

function changed(
  schema: JsonSchema,
  { without, more }: Extract<Shape, { readonly object: Shape }>,
  answers: Answers,
): JsonSchema {
  const properties = { ...(schema.properties as Readonly<Record<string, unknown>>) };
  const required = new Set((schema.required ?? []) as readonly string[]);
  for (const name of without) {
    delete properties[name];
    required.delete(name);
  }
  for (const [key, shape] of Object.entries(more)) {
    const name = key.replace(/\?$/, '');
    properties[name] = schemaOf(shape, answers);
    if (name === key) required.add(name);
  }
  return { ...schema, properties, required: [...required] };
}
