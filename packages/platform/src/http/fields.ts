import { type TObject, Type } from 'typebox';
import { MusterError } from '../errors.js';
import type { App, ListedFields } from './route.js';

const MOST_CHARACTERS = 2000;

/** @param entry As entries are described. @param leftOut Of its members those that lists do not have. */
export function listedFields(
  { properties }: Pick<TObject, 'properties'>,
  within: string | null = null,
  leftOut: readonly string[] = [],
): ListedFields {
  return { names: Object.keys(properties).filter((name) => !leftOut.includes(name)), within };
}

/** The query parameter, for the description of a route. */
export function fieldsParameter({ names }: ListedFields) {
  const description = `Only these members of each entry, separated by commas; all unless given: ${names.join(', ')}`;
  return { fields: Type.Optional(Type.String({ maxLength: MOST_CHARACTERS, description })) };
}

/** Each once, in the order in which they are asked for. @throws MusterError `invalid_field` for one that there is not */
export function readFields(text: string, { names }: ListedFields): readonly string[] {
  const asked = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const unknown = asked.find((name) => !names.includes(name));
  if (unknown === undefined && asked.length > 0) return [...new Set(asked)];
  const wrong = unknown === undefined ? 'it names none' : `there is no '${unknown.slice(0, 40)}'`;
  throw new MusterError('invalid_field', { field: 'fields', reason: `${wrong}: one or more of ${names.join(', ')}` });
}

/** The entry with these members of it, as far as it has them. */
export function onlyFields(entry: object, fields: readonly string[]): Readonly<Record<string, unknown>> {
  const has = fields.filter((name) => Object.hasOwn(entry, name));
  return Object.fromEntries(has.map((name) => [name, Reflect.get(entry, name)]));
}

/** Routes that declare `fields` answer with what is asked for of each entry, whatever their handlers make. */
export function limitFields(app: App): void {
  app.addHook('onRoute', (route) => {
    const listed = route.config?.fields;
    if (listed === undefined) return;
    const askedOf = (query: unknown): readonly string[] | null => {
      const { fields } = query as { readonly fields?: string };
      return fields === undefined ? null : readFields(fields, listed);
    };
    // Before anything is looked for.
    route.preHandler = async ({ query }: { readonly query: unknown }) => void askedOf(query);
    route.preSerialization = async (request, reply, answer) => {
      const asked = reply.statusCode < 300 ? askedOf(request.query) : null;
      if (asked === null) return answer;
      // The schema is that of whole entries.
      reply.serializer((limited) => JSON.stringify(limited));
      const limit = (list: unknown) => (list as readonly object[]).map((entry) => onlyFields(entry, asked));
      if (listed.within === null) return limit(answer);
      return { ...(answer as object), [listed.within]: limit(Reflect.get(answer as object, listed.within)) };
    };
  });
}

/** The query parameter `sort`: by one of these, with `-` before it the other way round. @param usual Unless given. */
export function sortParameter<const Name extends string>(names: readonly Name[], usual: Name | `-${Name}`) {
  const ways = names.flatMap((name) => [name, `-${name}`] as const);
  return {
    sort: Type.Optional(
      Type.Unsafe<Name | `-${Name}`>(
        Type.Union(
          ways.map((way) => Type.Literal(way)),
          { description: `By which the list is sorted; with - the other way round. ${usual} unless given` },
        ),
      ),
    ),
  };
}
