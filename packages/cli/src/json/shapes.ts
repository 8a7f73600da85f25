/** What commands print with `--json`, in terms of what the routes answer: nothing here is a copy of a route's schema. */

export type JsonSchema = Readonly<Record<string, unknown>>;

export type Shape =
  /** The answer of a route, by the name of its operation in /openapi.json; `at`: this part of it. */
  | { readonly answer: string; readonly at: readonly string[] }
  /** Of the command line itself. */
  | { readonly own: JsonSchema }
  | { readonly listOf: Shape }
  /** An object, and more of it. */
  | { readonly object: Shape; readonly without: readonly string[]; readonly more: Readonly<Record<string, Shape>> }
  /** Depending on the flags. */
  | { readonly either: readonly Shape[] };

export interface Printed {
  /** One document; a document for each thing, a line each; or what has a format of its own, with `--json` or without. */
  readonly as: 'document' | 'lines' | 'other';
  readonly shape: Shape;
  /** Where the schema does not say it. */
  readonly note?: string;
}

export const answer = (operation: string, ...at: readonly string[]): Shape => ({ answer: operation, at });
/** In the envelope of Agave, which the command line takes off. */
export const result = (operation: string, ...at: readonly string[]): Shape => answer(operation, 'result', ...at);
export const listOf = (shape: Shape): Shape => ({ listOf: shape });
export const either = (...shapes: readonly Shape[]): Shape => ({ either: shapes });
export const more = (object: Shape, fields: Readonly<Record<string, Shape>>): Shape => ({
  object,
  without: [],
  more: fields,
});
export const without = (object: Shape, ...fields: readonly string[]): Shape => ({ object, without: fields, more: {} });

export const document = (shape: Shape, note?: string): Printed => ({
  as: 'document',
  shape,
  ...(note !== undefined && { note }),
});
export const lines = (shape: Shape, note?: string): Printed => ({
  as: 'lines',
  shape,
  ...(note !== undefined && { note }),
});
export const other = (note: string): Printed => ({ as: 'other', shape: own({}), note });

export const own = (schema: JsonSchema): Shape => ({ own: schema });
const simple =
  (type: string) =>
  (description?: string): Shape =>
    own({ type, ...(description !== undefined && { description }) });
export const text = simple('string');
export const integer = simple('integer');
export const number = simple('number');
export const flag = simple('boolean');
export const constant = (value: unknown): Shape => own({ const: value });
export const orNull = (shape: Shape): Shape => either(shape, own({ type: 'null' }));
/** All of these keys, but those whose name ends in `?`. */
export function object(fields: Readonly<Record<string, Shape>>): Shape {
  return more(own({ type: 'object', properties: {} }), fields);
}
export const mapOf = (value: JsonSchema, description?: string): Shape =>
  own({ type: 'object', additionalProperties: value, ...(description !== undefined && { description }) });
/** What a removal says of itself. */
export const gone = (...names: readonly string[]): Printed =>
  document(object({ ...Object.fromEntries(names.map((name) => [name, text()])), deleted: constant(true) }));
