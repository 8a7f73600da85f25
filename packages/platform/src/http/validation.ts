import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import { MusterError } from '../errors.js';

type Finding = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

function stepsOf(pointer: string): string[] {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => step.replace(/~1/g, '/').replace(/~0/g, '~'));
}

/** `/nodes/0/name` -> `nodes.0.name`. */
function dotted(pointer: string): string {
  return stepsOf(pointer).join('.');
}

/** The fields that there are in the object at this place of the schema, when they are few enough to be read. */
function knownFields(schema: TSchema, place: string): string {
  const inside = (at: unknown, step: string): unknown =>
    typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined;
  const properties = [...stepsOf(place), 'properties'].reduce(inside, schema);
  const names = Object.keys(properties ?? {});
  return names.length === 0 || names.length > MOST_KNOWN ? '' : `; there are ${names.join(', ')}`;
}

const MOST_KNOWN = 12;

function named(parent: string, key: unknown): string {
  return parent === '' ? String(key) : `${parent}.${String(key)}`;
}

/** The first problem as field path and reason, in words rather than in JSON Schema's. */
function explain(schema: TSchema, findings: readonly Finding[], part: string): MusterError {
  const finding =
    findings.find((one) => one.keyword === 'additionalProperties') ??
    findings.find((one) => one.keyword === 'anyOf') ??
    findings[0];
  if (finding === undefined) return new MusterError('invalid_field', { field: part, reason: 'it does not fit' });
  const at = dotted(finding.instancePath);
  const params: Readonly<Record<string, unknown>> = { ...finding.params };
  const first = (list: unknown): unknown => (Array.isArray(list) ? list[0] : list);
  switch (finding.keyword) {
    case 'additionalProperties':
      return new MusterError('invalid_field', {
        field: named(at, first(params.additionalProperties)),
        reason: `there is no such field${knownFields(schema, finding.schemaPath)}`,
      });
    case 'required':
      return new MusterError('invalid_field', {
        field: named(at, first(params.requiredProperties)),
        reason: 'it is missing',
      });
    case 'anyOf': {
      const meant = meantAlternative(findings, finding);
      if (meant !== null) return explain(schema, meant, part);
      return new MusterError('invalid_field', { field: at || part, reason: choices(findings, finding.instancePath) });
    }
    default: {
      const reason = nameInWords(params.pattern) ?? finding.message;
      return new MusterError('invalid_field', { field: at || part, reason });
    }
  }
}

const NAME =
  /^\^\[(?:A-Z)?a-z0-9([^\]\w\\]*_?[^\]\w\\]*)\]\[(A-Z)?a-z0-9([^\]\w\\]*_?[^\]\w\\]*)\](?:\*|\{0,(\d+)\})\$$/;

/** What a name may have whose schema is a pattern; null of other patterns. */
function nameInWords(pattern: unknown): string | null {
  const [, first, capitals, marks, further] = NAME.exec(String(pattern)) ?? [];
  if (first === undefined || marks === undefined) return null;
  const letters = capitals === undefined ? 'small letters' : 'letters';
  const most = further === undefined ? '' : `, at most ${Number(further) + 1} in all`;
  const later = [...marks].filter((mark) => !first.includes(mark));
  return `must be ${letters}, digits and ${[...marks].join(' ')}${most}, and not begin with ${later.join(' or ')}`;
}

/** What is wrong by the only alternative that takes this kind of value: of a number that may also be null, its range. */
function meantAlternative(
  findings: readonly Finding[],
  { schemaPath, instancePath }: Finding,
): readonly Finding[] | null {
  const prefix = `${schemaPath}/anyOf/`;
  const alternatives = new Map<string, Finding[]>();
  for (const one of findings) {
    if (!one.schemaPath.startsWith(prefix)) continue;
    const [index = ''] = one.schemaPath.slice(prefix.length).split('/', 1);
    alternatives.set(index, [...(alternatives.get(index) ?? []), one]);
  }
  const isOther = (one: Finding) => one.instancePath === instancePath && /^(type|const)$/.test(one.keyword);
  const [meant, ...others] = [...alternatives.values()].filter((all) => !all.some(isOther));
  return others.length === 0 ? (meant ?? null) : null;
}

/** What is accepted in that place, as far as it is a list of values or types. */
function choices(findings: readonly Finding[], place: string): string {
  const accepted = findings.flatMap(({ instancePath, keyword, params }) => {
    if (instancePath !== place) return [];
    const { allowedValue, type } = params as { readonly allowedValue?: unknown; readonly type?: unknown };
    if (keyword === 'const') return [String(allowedValue)];
    return keyword === 'type' ? [`a ${String(type)}`] : [];
  });
  return accepted.length === 0 ? 'it is none of what is accepted' : `must be one of ${accepted.join(', ')}`;
}

/** Of some hundred routes most servers see a few: what is for the others is not made. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Strict: nothing is removed and bodies are not converted. What comes as text (path, query, headers) is converted to
 * the type its schema names.
 */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compile = once(() => Compile(schema));
  const part = httpPart ?? 'request';
  return (value: unknown) => {
    const compiled = compile();
    const converted = httpPart === 'body' ? value : Value.Convert(schema, value);
    const complete = Value.Default(schema, converted);
    if (compiled.Check(complete)) return { value: complete };
    return { error: explain(schema, [...compiled.Errors(complete)], part) };
  };
};

/** For routes that check bodies themselves, as they read them also where they are no JSON: the schema describes only. */
export const describedBody: FastifySchemaCompiler<TSchema> = (route) =>
  route.httpPart === 'body' ? (value: unknown) => ({ value }) : validatorCompiler(route);

/** Answers are what handlers return: nothing is dropped or converted behind their back. */
export const plainSerializer: FastifySerializerCompiler<TSchema> = () => (data) => JSON.stringify(data);

/** Refuses an answer that does not fit its schema. */
export const checkingSerializer: FastifySerializerCompiler<TSchema> = ({ schema, url }) => {
  const compile = once(() => Compile(schema));
  return (data) => {
    const compiled = compile();
    const text = JSON.stringify(data);
    const sent: unknown = JSON.parse(text);
    if (compiled.Check(sent)) return text;
    const { message } = explain(schema, [...compiled.Errors(sent)], 'answer');
    throw new Error(`the answer of ${url ?? 'a route'} does not fit its schema: ${message}`);
  };
};
