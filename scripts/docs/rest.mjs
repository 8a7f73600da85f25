import { code, table } from './markdown.mjs';

/** From the description that a server gives, so that the page says what is really served. */
export function restPage(description) {
  const byTag = new Map();
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? 'other';
      byTag.set(tag, [...(byTag.get(tag) ?? []), { method, path, ...operation }]);
    }
  }
  const groups = [...byTag].sort(([a], [b]) => (a < b ? -1 : 1));
  return `# REST reference

Generated from the route schemas (\`/openapi.json\`, OpenAPI 3.1) by \`npm run docs\`. A running server shows the same, with
every field of every answer, at \`/docs\`.

${description.info.description}

Permissions are explained in [permissions.md](permissions.md), the two event feeds in [push-events.md](push-events.md), errors in
[errors.md](errors.md). Besides the answers listed, every route may answer 400 (malformed request), 401 (not authenticated), 403 (not
allowed), 404 (no such thing), 405 (with \`Allow\`) and 406; what changes something also 409 (it exists already,
or something is under way with it), 413 (the body is too large) and 415 (it is not JSON); whoever asks too often 429 (with \`Retry-After\`, see [limits.md](limits.md)). Times are ISO 8601 in UTC, except in what
clients of Chef Push Jobs know: push jobs, their list, and node states have RFC 1123; and in what clients of Disbatch know, which has seconds since 1970. A query parameter that is not listed is refused.

${groups.map(([tag, operations]) => group(tag, operations)).join('\n')}
`;
}

function group(tag, operations) {
  return `## ${tag.charAt(0).toUpperCase()}${tag.slice(1)}\n\n${operations.map(entry).join('\n')}`;
}

function entry(operation) {
  const { method, path, summary = '', description = '', parameters = [] } = operation;
  const permission = operation['x-permission'];
  const body = operation.requestBody?.content?.['application/json']?.schema;
  const success = Object.entries(operation.responses).filter(([status]) => /^(101|2\d\d)$/.test(status));
  const parts = [
    `### ${method.toUpperCase()} ${path}`,
    '',
    [summary, description]
      .filter((text) => text !== '')
      .join('. ')
      .replace(/\.?$/, '.'),
    '',
    `Permission: ${code(permission)}. Answers: ${success.map(([status]) => status).join(', ') || '200'}.`,
    '',
  ];
  const query = parameters.filter((parameter) => parameter.in === 'query');
  if (query.length > 0) {
    const rows = query.map(({ name, schema = {}, required, description: about }) => [
      code(name),
      typeText(schema),
      required === true ? 'yes' : '',
      about ?? schema.description ?? '',
    ]);
    parts.push(table(['query parameter', 'type', 'required', 'what for'], rows), '');
  }
  if (body !== undefined) parts.push(...bodyText(body));
  return parts.join('\n');
}

function bodyText(schema) {
  // One, or a list of them: the keys are those of one.
  const one = schema.anyOf?.find(({ type }) => type === 'object');
  if (one !== undefined) return bodyText(one);
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, property]) => [
    code(name),
    typeText(property),
    required.has(name) ? 'yes' : '',
    property.description ?? '',
  ]);
  const about = schema.description === undefined ? [] : [`${schema.description}.`, ''];
  return rows.length === 0 ? about : [...about, table(['body key', 'type', 'required', 'what for'], rows), ''];
}

function typeText(schema) {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeText))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  if (schema.type === 'array') return `list of ${typeText(schema.items ?? {})}`;
  if (schema.type === 'object') {
    const keys = Object.keys(schema.properties ?? {});
    return keys.length === 0 ? 'object' : `object with ${keys.join(', ')}`;
  }
  return schema.type ?? 'any';
}
