/** Answers that the web console reads, by the names it knows them by. */
const ANSWERS = {
  NodeDetail: ['get', '/organizations/{org}/nodes/{node}'],
  NodeWhy: ['get', '/organizations/{org}/nodes/{node}/why'],
  NodeHistory: ['get', '/organizations/{org}/nodes/{node}/history'],
  CommandCounts: ['get', '/organizations/{org}/pushy/commands'],
  JobPreview: ['post', '/organizations/{org}/pushy/jobs/preview'],
  JobStarted: ['post', '/organizations/{org}/pushy/jobs'],
  JobWhy: ['get', '/organizations/{org}/pushy/jobs/{id}/why'],
  JobResults: ['get', '/organizations/{org}/pushy/jobs/{id}/results'],
};

/** `packages/console/src/api/types.gen.ts`, made from the description that the server serves. */
export function consoleTypes({ paths }) {
  const types = Object.entries(ANSWERS).map(([name, [method, path]]) => {
    const answers = paths[path][method].responses;
    const schema = (answers[200] ?? answers[201]).content['application/json'].schema;
    return `/** ${method.toUpperCase()} ${path} */\nexport type ${name} = ${typeOf(schema, '')};\n`;
  });
  return `// Made from /openapi.json by \`npm run docs\`.\n\n${types.join('\n')}`;
}

function typeOf(schema, indent) {
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => typeOf(each, indent)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  switch (schema.type) {
    case 'array':
      return `readonly (${typeOf(schema.items ?? {}, indent)})[]`;
    case 'object':
      return objectType(schema, indent);
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    default:
      return 'unknown';
  }
}

function objectType({ properties, patternProperties, additionalProperties, required = [] }, indent) {
  const inner = `${indent}  `;
  const values = patternProperties === undefined ? additionalProperties : Object.values(patternProperties)[0];
  if (properties === undefined || Object.keys(properties).length === 0) {
    return `Readonly<Record<string, ${typeof values === 'object' ? typeOf(values, indent) : 'unknown'}>>`;
  }
  const lines = Object.entries(properties).map(([name, schema]) => {
    const about =
      schema.description === undefined ? '' : `${inner}/** ${schema.description.replaceAll('*/', '*')} */\n`;
    return `${about}${inner}readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)};`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}
