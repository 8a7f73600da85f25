import { readFileSync } from 'node:fs';
import { LAYERS } from '@muster/server';
import { code, table } from './markdown.mjs';

const PAGE = new URL('../../docs/reference/permissions.md', import.meta.url);
const TABLE = /\| permission \| who has it \|\n(\|.*\n)+/;

/** The page with its first table as the layers declare it; the rest is written by hand. */
export function permissionsPage() {
  const declared = LAYERS.flatMap(({ rights }) => Object.entries(rights.rights));
  const rows = declared.map(([name, { holders }]) => [code(name), holders]);
  rows.push(['`enrol`', 'whoever bears a valid enrolment token'], ['`public`', 'anybody']);
  return readFileSync(PAGE, 'utf8').replace(TABLE, () => `${table(['permission', 'who has it'], rows)}\n`);
}
