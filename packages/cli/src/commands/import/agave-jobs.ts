import { resolve } from 'node:path';
import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { linesOfFile } from '../../lines.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { inBatches } from './batches.js';

/** Of a row with its history. */
const LINE_BYTES = 64 * 1024 * 1024;
/** Errors that are told one by one. */
const TOLD = 100;

interface Answer {
  readonly imported: number;
  readonly present: number;
  readonly errors: readonly { readonly row: number; readonly error: string }[];
}

export function addAgaveJobs(parent: Command, shell: Shell): void {
  const command = clientCommand(parent, {
    usage: 'agave-jobs <file>',
    summary:
      'jobs of Aloe or Agave that have ended, a row of aloe_jobs or jobs as JSON a line, with its history; they are listed and read',
    examples: ['muster import agave-jobs jobs.jsonl', 'muster import agave-jobs jobs.jsonl --json'],
  });
  does<object>(command, shell, (call) => importJobs(call));
}

/** A file of any length, in bounded memory. */
async function importJobs(call: Call<object>): Promise<number> {
  const { client, out, world } = call;
  const [file = ''] = call.args;
  const sum = { imported: 0, present: 0, refused: 0 };
  const errors: { line: number; error: string }[] = [];
  const refuse = (line: number, error: string): void => {
    sum.refused += 1;
    if (errors.length < TOLD) errors.push({ line, error });
  };
  await inBatches(rowsOf(resolve(world.cwd, file), refuse), async (rows) => {
    const text = { type: 'application/json', content: `[${rows.map((row) => row.text).join(',')}]` };
    const answer = (await client.json('POST', client.inOrg('job-import'), { text })) as Answer;
    sum.imported += answer.imported;
    sum.present += answer.present;
    for (const { row, error } of answer.errors) refuse(rows[row - 1]?.line ?? 0, error);
  });
  out.document({ ...sum, errors });
  for (const { line, error } of errors) out.note(`line ${line}: ${error}`);
  if (sum.refused > errors.length) out.note(`and ${sum.refused - errors.length} more`);
  out.line(`${sum.imported} jobs imported, ${sum.present} there already, ${sum.refused} refused`);
  return sum.refused === 0 ? EXIT.ok : EXIT.failed;
}

/** Lines that are rows, as far as that is seen here. */
async function* rowsOf(path: string, refuse: (line: number, error: string) => void) {
  for await (const row of linesOfFile(path, LINE_BYTES)) {
    if (row.text.trim() === '') continue;
    const why = problemOf(row.text);
    if (why === null) yield row;
    else refuse(row.line, why);
  }
}

/** A line that is no JSON object would make all of a request unreadable. */
function problemOf(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? null : 'it is no JSON object';
  } catch {
    return 'it is no JSON object';
  }
}
