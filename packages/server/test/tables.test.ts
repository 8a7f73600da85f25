import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** A table belongs to the package whose migrations create it, and no other package names it in a query. */

const PACKAGES = join(import.meta.dirname, '../..');
/** What stores; agents, the CLI and the simulators have no database, or look at the whole. */
const LAYERS = ['store', 'broker', 'platform', 'nodes', 'push', 'tasks', 'jobs', 'rules', 'server'];

const CREATED = /create table (?:if not exists )?"?([a-z_]+)/g;

/** Where a query names a table: kysely, statement objects, and SQL. */
const NAMED = [
  /\b(?:selectFrom|insertInto|updateTable|deleteFrom|(?:inner|left|right|full)Join|mergeInto|using|withTables)\(\s*'([a-z_]+)/g,
  /\b(?:upsert|update|insert|append|guard|absent)\(\s*'([a-z_]+)'/g,
  /\b(?:lastNumber|sql\.table)\([^')]*'([a-z_]+)'/g,
  /\btable: '([a-z_]+)'/g,
  /\bSchema\['([a-z_]+)'\]/g,
  /\b(?:from|into|update|join|table) "?([a-z_]+)"?/g,
];
/** Lists of names, such as of the tables whose rows go together; `nodes` and `groups` mean other things, too. */
const LISTED = /'([a-z]+_[a-z_]+)'(?=,?\s*[\],\n])/g;

const sources = new Map(LAYERS.map((name) => [name, sourcesOf(join(PACKAGES, name, 'src'))]));
const owners = new Map<string, string>();
for (const [name, texts] of sources) {
  for (const text of texts.values()) for (const [, table = ''] of text.matchAll(CREATED)) owners.set(table, name);
}

function sourcesOf(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return new Map(files.map((file) => [file, withoutComments(readFileSync(join(folder, file), 'utf8'))]));
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

function namesIn(text: string): Set<string> {
  const found = [...NAMED, LISTED].flatMap((pattern) => [...text.matchAll(pattern)].map(([, table = '']) => table));
  return new Set(found.filter((table) => owners.has(table)));
}

test('every layer that stores has tables of its own', () => {
  expect(new Set(owners.values())).toEqual(
    new Set(['store', 'broker', 'platform', 'nodes', 'push', 'tasks', 'jobs', 'rules']),
  );
  expect(owners.get('push_jobs')).toBe('push');
  expect(owners.get('event_log')).toBe('platform');
});

test('every table that a package creates is named by its own queries', () => {
  const unnamed = [...owners].filter(
    ([table, owner]) =>
      table !== 'schema_version' &&
      ![...(sources.get(owner)?.values() ?? [])].some((text) => namesIn(text.replaceAll(CREATED, '')).has(table)),
  );
  expect(unnamed).toEqual([]);
});

test('a query is seen to name its table, however it does', () => {
  const named = [
    ".leftJoin('nodes as n')",
    "guard('nodes', {",
    "absent('nodes', {",
    "upsert(\n  'nodes',",
    "lastNumber(store.read, 'nodes')",
    "{ table: 'nodes', key",
    'select 1 from nodes where',
    "Schema['nodes']",
  ];
  expect(named.filter((query) => !namesIn(query).has('nodes'))).toEqual([]);
});

test('no package names a table of another one', () => {
  const foreign: string[] = [];
  for (const [name, texts] of sources) {
    for (const [file, text] of texts) {
      for (const table of namesIn(text)) {
        const owner = owners.get(table);
        if (owner !== name) foreign.push(`${name}/src/${file} names ${table} of ${owner}`);
      }
    }
  }
  expect(foreign).toEqual([]);
});
