import { createHash } from 'node:crypto';
import { type OutputStream, storedOutput } from '@muster/platform/output';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { outputOfAttempt } from '../output.js';
import type { TaskRow } from '../repository/writes.js';
import { type Dialect, type Oid, oid } from './dialect.js';
import { DISBATCH_LIMITS } from './limits.js';
import { Refusal } from './refusal.js';

/** Whether output is shown in the task or by an id in its place (the original's setting `gfs`, T6). */
export type Gfs = 'auto' | 'true' | 'false';

/** What a request wants to see of output: nothing but that there is some, what is in the task, or all of it. */
export type OutputWish = 'terse' | 'plain' | 'full';

export interface OutputDeps {
  readonly read: Kysely<Schema>;
  readonly dialect: Dialect;
  readonly gfs: Gfs;
}

/** Output of one answer: so much of it that the answer does not grow without bounds. */
export class OutputBudget {
  #left: number = DISBATCH_LIMITS.outputBytes;

  /** @throws Refusal */
  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) {
      throw new Refusal(
        `more than ${DISBATCH_LIMITS.outputBytes} bytes of output in one answer: ask for fewer tasks (limit, skip)`,
      );
    }
  }
}

/** Ids of the files of output that came with tasks of a dump, by `placeOf`: they stay what they were. */
export type ImportedFiles = ReadonlyMap<string, string>;

/** @param rows Tasks of one organization. */
export async function importedFiles(read: Kysely<Schema>, rows: readonly TaskRow[]): Promise<ImportedFiles> {
  const ids = new Map<string, string>();
  const apart = rows.filter((row) => isApart(row, 'stdout') || isApart(row, 'stderr'));
  for (let from = 0; from < apart.length; from += DISBATCH_LIMITS.page) {
    const some = apart.slice(from, from + DISBATCH_LIMITS.page);
    const found = await read
      .selectFrom('task_import_files')
      .select(['file_id', 'task_id', 'stream', 'attempt'])
      .where('org_id', '=', (some[0] as TaskRow).org_id)
      .where(
        'task_id',
        'in',
        some.map(({ id }) => id),
      )
      .execute();
    for (const { task_id, attempt, stream, file_id } of found) ids.set(placeOf(task_id, attempt, stream), file_id);
  }
  return ids;
}

const placeOf = (taskId: string, attempt: number, stream: OutputStream): string => `${taskId}/${attempt}/${stream}`;

/** Its output is not in its row. */
function isApart(row: TaskRow, stream: OutputStream): boolean {
  return row[stream] === null && row[`${stream}_bytes`] !== null;
}

/** What the tasks of one answer share. */
export interface SharedOutput {
  readonly budget: OutputBudget;
  readonly files: ImportedFiles;
}

/** A stream of a task's output as the task shows it: null, text, or an id. */
export async function shownOutput(
  deps: OutputDeps,
  row: TaskRow,
  stream: OutputStream,
  wish: OutputWish,
  { budget, files }: SharedOutput,
): Promise<string | Oid | null> {
  const inline = row[stream];
  const bytes = row[`${stream}_bytes`];
  const file = files.get(placeOf(row.id, row.attempt, stream));
  const shown = file === undefined ? placement(deps.gfs, inline, bytes, row.complete !== null) : 'id';
  if (shown === 'nothing') return null;
  if (shown === 'id' && wish !== 'full') return oid(deps.dialect, file ?? outputId(row, stream));
  if (wish === 'terse') return inline === '' || (inline === null && bytes === 0) ? '' : '[terse mode]';
  if (inline !== null) {
    budget.spend(Buffer.byteLength(inline));
    return inline;
  }
  budget.spend(bytes ?? 0);
  return readOutput(deps.read, row, stream);
}

/** Where output is shown: with `true` always by an id, also when there is none, as the original has it. */
function placement(gfs: Gfs, inline: string | null, bytes: number | null, ended: boolean): 'nothing' | 'text' | 'id' {
  if (gfs === 'true') return ended || inline !== null || bytes !== null ? 'id' : 'nothing';
  if (inline === null && bytes === null) return 'nothing';
  return gfs === 'auto' && (bytes ?? 0) > DISBATCH_LIMITS.inlineBytes ? 'id' : 'text';
}

/** Always the same for one output, as ids of files are. */
function outputId({ id, attempt }: TaskRow, stream: OutputStream): string {
  const hash = createHash('sha256')
    .update(placeOf(id, attempt, stream))
    .digest('hex');
  return id.slice(0, 8) + hash.slice(0, 16);
}

async function readOutput(read: Kysely<Schema>, { id, attempt }: TaskRow, stream: OutputStream): Promise<string> {
  const chunks: Uint8Array[] = [];
  const of = { ...outputOfAttempt(id, attempt), stream };
  for await (const chunk of storedOutput(read, of, 0)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
