import { createHash } from 'node:crypto';
import { type OutputStream, storedOutput } from '@muster/platform/output';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
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

/** Ids of the files of output that came with tasks of a dump: they stay what they were. */
export class ImportedFiles {
  readonly #ids = new Map<string, string>();

  /** @param rows Tasks of one organization. */
  static async of(read: Kysely<Schema>, rows: readonly TaskRow[]): Promise<ImportedFiles> {
    const files = new ImportedFiles();
    const [first] = rows;
    const apart = rows.filter((row) => isApart(row, 'stdout') || isApart(row, 'stderr')).map(({ id }) => id);
    for (let from = 0; first !== undefined && from < apart.length; from += TASKS_ASKED) {
      const found = await read
        .selectFrom('task_import_files')
        .select(['file_id', 'task_id', 'stream', 'attempt'])
        .where('org_id', '=', first.org_id)
        .where('task_id', 'in', apart.slice(from, from + TASKS_ASKED))
        .execute();
      for (const file of found) files.#ids.set(placeOf(file.task_id, file.attempt, file.stream), file.file_id);
    }
    return files;
  }

  /** Undefined: it came with none. */
  idOf({ id, attempt }: TaskRow, stream: OutputStream): string | undefined {
    return this.#ids.get(placeOf(id, attempt, stream));
  }
}

/** Of one statement: SQLite takes 32,766 values. */
const TASKS_ASKED = 1000;

const placeOf = (taskId: string, attempt: number, stream: OutputStream): string => `${taskId}/${attempt}/${stream}`;

/** Its output is not in its row. */
function isApart(row: TaskRow, stream: OutputStream): boolean {
  return row[stream] === null && row[`${stream}_bytes`] !== null;
}

/** A stream of a task's output as the task shows it: null, text, or an id. */
export async function shownOutput(
  deps: OutputDeps,
  row: TaskRow,
  stream: OutputStream,
  wish: OutputWish,
  { budget, files }: { readonly budget: OutputBudget; readonly files: ImportedFiles },
): Promise<string | Oid | null> {
  const inline = row[stream];
  const bytes = row[`${stream}_bytes`];
  const file = files.idOf(row, stream);
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
  const of = { subject: `task/${id}`, part: String(attempt), stream };
  for await (const chunk of storedOutput(read, of, 0)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
