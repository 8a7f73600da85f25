import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@muster/platform/config';
import { startServer } from '@muster/server';

/** Fetched from a server that is started for it, so that the page says what is really served. */
export async function openApi() {
  const dataDir = mkdtempSync(join(tmpdir(), 'muster-docs-'));
  const flags = {
    dataDir,
    http: '127.0.0.1:0',
    heartbeat: 'tcp://127.0.0.1:0',
    command: 'tcp://127.0.0.1:0',
    stomp: '127.0.0.1:0',
    logLevel: 'silent',
  };
  try {
    const server = await startServer(loadConfig({ env: {}, flags }), { print: () => {} });
    try {
      return await (await fetch(`${server.url}/openapi.json`)).json();
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/**
 * Schemas of what the named operations answer when they succeed, for packages/cli/route-answers.json. Where an operation succeeds
 * in several ways, the others follow with their status: `runRunbook`, `runRunbook 202`.
 */
export function answersOf({ paths }, operations) {
  const all = new Map();
  for (const { operationId, responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const good = Object.entries(responses).filter(([status]) => /^2\d\d$/.test(status));
    for (const [index, [status, { content = {} }]] of good.entries()) {
      const schema = content['application/json']?.schema;
      if (schema !== undefined) all.set(index === 0 ? operationId : `${operationId} ${status}`, schema);
    }
  }
  return Object.fromEntries(
    operations.map((operation) => {
      if (!all.has(operation)) throw new Error(`no route answers ${operation}`);
      return [operation, asPrinted(all.get(operation))];
    }),
  );
}

/** The command line tells all times in one form (packages/cli/src/chef-times.ts). */
function asPrinted(schema) {
  const said = (_, value) => (typeof value === 'string' ? value.replace('RFC 1123', 'ISO 8601') : value);
  return JSON.parse(JSON.stringify(schema), said);
}

/** A line for each, so that a change is seen for what it is. */
export function answersFile(answers) {
  const lines = Object.entries(answers).map(([name, schema]) => `${JSON.stringify(name)}: ${JSON.stringify(schema)}`);
  return `{\n${lines.join(',\n')}\n}`;
}
