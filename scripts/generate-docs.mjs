/**
 * Writes the reference pages, and the schemas, that are made from code, or with --check says which are out of date (exit 1).
 * A test runs it with --check, so that a page cannot fall behind the code it describes.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { commandReference, jsonReference, operationsOfCommands } from '@muster/cli';
import { configurationPage } from './docs/configuration.mjs';
import { consoleTypes } from './docs/console-types.mjs';
import { errorsPage } from './docs/errors.mjs';
import { eventsPage, eventTypes } from './docs/events.mjs';
import { answersFile, answersOf, openApi } from './docs/openapi.mjs';
import { permissionsPage } from './docs/permissions.mjs';
import { restPage } from './docs/rest.mjs';

const description = await openApi();
const answers = answersOf(description, operationsOfCommands());

const pages = {
  'docs/reference/cli.md': await commandReference(),
  'docs/reference/cli-json.md': await jsonReference(answers),
  'docs/reference/configuration.md': configurationPage(),
  'docs/reference/errors.md': errorsPage(),
  'docs/reference/events.md': eventsPage(),
  'docs/reference/permissions.md': permissionsPage(),
  'docs/reference/rest.md': restPage(description),
  'packages/console/src/api/types.gen.ts': consoleTypes(description),
  'packages/console/src/events/types.gen.ts': eventTypes(),
  'packages/cli/route-answers.json': answersFile(answers),
};

const check = process.argv.includes('--check');
const stale = [];
for (const [path, made] of Object.entries(pages)) {
  const file = new URL(`../${path}`, import.meta.url);
  const text = `${made.trimEnd()}\n`;
  if (readIfThere(file) === text) continue;
  stale.push(path);
  if (!check) writeFileSync(file, text);
}

if (check && stale.length > 0) {
  console.error(`out of date: ${stale.join(', ')}\nrun: npm run docs`);
  process.exitCode = 1;
} else {
  console.log(stale.length === 0 ? 'the reference pages are up to date' : `wrote ${stale.join(', ')}`);
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
