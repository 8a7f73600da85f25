import { storeOutput } from '@muster/platform/output';
import type { Schema } from '@muster/store';
import type { Transaction } from 'kysely';
import { outputOfAttempt } from '../../output.js';
import { BadDocument, type FileDocument, PARTS, type Piece } from './documents.js';

type Trx = Transaction<Schema>;

/** A file of output, of a task that was imported before it. False: it is there already. @throws BadDocument */
export async function storeFile(trx: Trx, orgId: string, { id, taskId, stream }: FileDocument): Promise<boolean> {
  const there = await trx
    .selectFrom('task_import_files')
    .select('task_id')
    .where('org_id', '=', orgId)
    .where('file_id', '=', id)
    .executeTakeFirst();
  if (there !== undefined) return false;
  const task = await trx
    .selectFrom('tasks')
    .select(['attempt', stream, `${stream}_bytes`])
    .where('id', '=', taskId)
    .where('org_id', '=', orgId)
    .executeTakeFirst();
  if (task === undefined) throw new BadDocument(`there is no task ${taskId}`);
  if (task[stream] !== null || task[`${stream}_bytes`] !== null)
    throw new BadDocument(`task ${taskId} has its ${stream}`);
  const row = { org_id: orgId, file_id: id, task_id: taskId, stream, attempt: task.attempt, next: 0, bytes: 0 };
  await trx.insertInto('task_import_files').values(row).execute();
  await setBytes(trx, taskId, stream, 0);
  return true;
}

/** The next piece of a file. False: it is there already. @throws BadDocument when one before it is missing. */
export async function storePiece(trx: Trx, orgId: string, { fileId, n, part, parts, data }: Piece): Promise<boolean> {
  const file = await trx
    .selectFrom('task_import_files')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('file_id', '=', fileId)
    .executeTakeFirst();
  if (file === undefined) throw new BadDocument(`there is no file ${fileId} in tasks.files`);
  const place = n * PARTS + part;
  if (place < file.next) return false;
  if (place > file.next) {
    throw new BadDocument(
      `a chunk of file ${fileId} before ${n} is missing: export with --sort '{"files_id":1,"n":1}'`,
    );
  }
  const of = { ...outputOfAttempt(file.task_id, file.attempt), stream: file.stream };
  await storeOutput(trx, of, file.bytes, data);
  const bytes = file.bytes + data.length;
  const next = part + 1 === parts ? (n + 1) * PARTS : place + 1;
  await trx
    .updateTable('task_import_files')
    .set({ next, bytes })
    .where('org_id', '=', orgId)
    .where('file_id', '=', fileId)
    .execute();
  await setBytes(trx, file.task_id, file.stream, bytes);
  return true;
}

function setBytes(trx: Trx, taskId: string, stream: 'stdout' | 'stderr', bytes: number): Promise<unknown> {
  return trx
    .updateTable('tasks')
    .set(stream === 'stdout' ? { stdout_bytes: bytes } : { stderr_bytes: bytes })
    .where('id', '=', taskId)
    .execute();
}
