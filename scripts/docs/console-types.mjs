/** Answers that the web console reads, by the names it knows them by; of some only what is in the envelope. */
const ANSWERS = {
  NodeDetail: ['get', '/organizations/{org}/nodes/{node}'],
  NodeWhy: ['get', '/organizations/{org}/nodes/{node}/why'],
  NodeHistory: ['get', '/organizations/{org}/nodes/{node}/history'],
  CommandCounts: ['get', '/organizations/{org}/pushy/commands'],
  JobPreview: ['post', '/organizations/{org}/pushy/jobs/preview'],
  JobStarted: ['post', '/organizations/{org}/pushy/jobs'],
  JobWhy: ['get', '/organizations/{org}/pushy/jobs/{id}/why'],
  Queues: ['get', '/organizations/{org}/queues'],
  Balance: ['get', '/organizations/{org}/disbatch/balance'],
  Tasks: ['get', '/organizations/{org}/tasks'],
  Task: ['get', '/organizations/{org}/tasks/{id}'],
  TaskAttempts: ['get', '/organizations/{org}/tasks/{id}/attempts'],
  TasksActedOn: ['post', '/organizations/{org}/tasks/actions'],
  BulkRun: ['get', '/organizations/{org}/tasks/bulk/{bulk}'],
  Schedules: ['get', '/organizations/{org}/schedules'],
  Schedule: ['get', '/organizations/{org}/schedules/{schedule}'],
  ScheduleRuns: ['get', '/organizations/{org}/schedules/{schedule}/runs'],
  Rules: ['get', '/organizations/{org}/rules'],
  RuleRuns: ['get', '/organizations/{org}/rules/{rule}/runs'],
  JobResults: ['get', '/organizations/{org}/pushy/jobs/{id}/results'],
  LongJob: ['get', '/organizations/{org}/jobs/v2/{id}', 'result'],
  LongJobHistory: ['get', '/organizations/{org}/jobs/v2/{id}/history', 'result'],
  LongJobWhy: ['get', '/organizations/{org}/job-recovery/jobs/{id}/why'],
  LongJobOutputs: ['get', '/organizations/{org}/jobs/v2/{id}/outputs/listings', 'result'],
  LongJobShares: ['get', '/organizations/{org}/jobs/v2/{id}/pems', 'result'],
  JobQueues: ['get', '/organizations/{org}/job-queues'],
  JobQueueStats: ['get', '/organizations/{org}/job-queues/stats'],
  JobWorkers: ['get', '/organizations/{org}/job-workers'],
  JobRecovery: ['get', '/organizations/{org}/job-recovery'],
  JobMessages: ['get', '/organizations/{org}/job-messages'],
  AuditEntries: ['get', '/organizations/{org}/audit'],
  Access: ['get', '/organizations/{org}/access'],
  WhoMayRun: ['get', '/organizations/{org}/nodes/{node}/who'],
  Groups: ['get', '/organizations/{org}/groups'],
  NodeGroups: ['get', '/organizations/{org}/node_groups'],
  Sessions: ['get', '/organizations/{org}/sessions'],
  OfferedSignIns: ['get', '/organizations/{org}/login'],
  Session: ['get', '/session'],
  SignInBegun: ['post', '/organizations/{org}/login/{name}'],
  AccessTokens: ['get', '/access_tokens'],
  EnrolTokens: ['get', '/organizations/{org}/tokens'],
  UserKeys: ['get', '/users/{name}/keys'],
  NodeKeys: ['get', '/organizations/{org}/nodes/{node}/keys'],
  Cluster: ['get', '/cluster'],
  Counts: ['get', '/organizations/{org}/counts'],
  FoundThings: ['get', '/organizations/{org}/search'],
  WhoAmI: ['get', '/organizations/{org}/whoami'],
  Runbooks: ['get', '/organizations/{org}/runbooks'],
  Runbook: ['get', '/organizations/{org}/runbooks/{runbook}'],
  RunbookVersions: ['get', '/organizations/{org}/runbooks/{runbook}/versions'],
  RunbookPreview: ['post', '/organizations/{org}/runbooks/{runbook}/preview'],
  Approvals: ['get', '/organizations/{org}/approvals'],
  Approval: ['get', '/organizations/{org}/approvals/{id}'],
  JobMessage: ['get', '/organizations/{org}/job-messages/{id}'],
};

/** `packages/console/src/api/types.gen.ts`, made from the description that the server serves. */
export function consoleTypes({ paths }) {
  const types = Object.entries(ANSWERS).map(([name, [method, path, within]]) => {
    const answers = paths[path][method].responses;
    const whole = (answers[200] ?? answers[201]).content['application/json'].schema;
    const schema = within === undefined ? whole : whole.properties[within];
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
      (schema.description ?? '') === '' ? '' : `${inner}/** ${schema.description.replaceAll('*/', '*')} */\n`;
    return `${about}${inner}readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)};`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}
