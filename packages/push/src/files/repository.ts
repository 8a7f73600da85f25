import { deleteSome, type Schema, update } from '@muster/store';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { FILES } from '../limits.js';

type Read = Kysely<Schema>;
type Trx = Transaction<Schema>;

export type FileRow = Selectable<Schema['push_files']>;
export type FilePiece = Pick<Selectable<Schema['push_file_pieces']>, 'position' | 'data'>;

export function findFile(read: Read, orgId: string, sha256: string): Promise<FileRow | undefined> {
  return read
    .selectFrom('push_files')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('sha256', '=', sha256)
    .executeTakeFirst();
}

/** A job names it: it is kept from then on as long as any. */
export const useFile = update('push_files', { org_id: 'text', sha256: 'text', used_at: 'integer' }, [
  'org_id',
  'sha256',
]);

/** One that would be deleted otherwise. */
export async function touchOld(
  trx: Trx,
  { orgId, sha256, before, now }: Readonly<Record<'orgId' | 'sha256', string> & Record<'before' | 'now', number>>,
): Promise<void> {
  await trx
    .updateTable('push_files')
    .set({ used_at: now })
    .where('org_id', '=', orgId)
    .where('sha256', '=', sha256)
    .where('used_at', '<', before)
    .execute();
}

/** What files take: of all organizations in bytes, those on their way with what they will take; of one, how many there are. */
export async function filesKept(trx: Trx, orgId: string): Promise<{ readonly bytes: number; readonly own: number }> {
  const all = await trx
    .selectFrom('push_files')
    .select((eb) => eb.fn.sum<number | null>('size').as('bytes'))
    .executeTakeFirstOrThrow();
  const own = await trx
    .selectFrom('push_files')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('org_id', '=', orgId)
    .executeTakeFirstOrThrow();
  return { bytes: Number(all.bytes ?? 0), own: Number(own.count) };
}

/** The piece that holds the byte at `from`. */
export function pieceAt(read: Read, fileId: string, from: number): Promise<FilePiece | undefined> {
  return read
    .selectFrom('push_file_pieces')
    .select(['position', 'data'])
    .where('file_id', '=', fileId)
    .where('position', '<=', from)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** False when the file stands elsewhere by now: somebody else brought the same bytes. */
export async function addPiece(trx: Trx, { id, stored }: FileRow, data: Uint8Array, now: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('push_files')
    .set({ stored: stored + data.length, used_at: now })
    .where('id', '=', id)
    .where('stored', '=', stored)
    .executeTakeFirstOrThrow();
  if (Number(numUpdatedRows) === 0) return false;
  await trx.insertInto('push_file_pieces').values({ file_id: id, position: stored, data }).execute();
  return true;
}

/** They are gone at once; their pieces are deleted some at a time. */
export async function deleteFiles(trx: Trx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const there = trx.selectFrom('push_files').select('id').where('id', 'in', ids);
  await trx.insertInto('deleted_push_files').columns(['file_id']).expression(there).execute();
  await trx.deleteFrom('push_files').where('id', 'in', ids).execute();
}

export async function filesUsedBefore(read: Read, before: number, limit: number): Promise<string[]> {
  const rows = await read
    .selectFrom('push_files')
    .select('id')
    .where('used_at', '<', before)
    .orderBy('used_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Some pieces of one file that is gone. False when none is left of any. */
export async function clearPieces(trx: Trx): Promise<boolean> {
  const gone = await trx.selectFrom('deleted_push_files').select('file_id').limit(1).executeTakeFirst();
  if (gone === undefined) return false;
  const where = ['file_id', [gone.file_id]] as const;
  const all = await deleteSome(trx, {
    table: 'push_file_pieces',
    key: ['file_id', 'position'],
    where,
    most: FILES.piecesCleared,
  });
  if (all) await trx.deleteFrom('deleted_push_files').where('file_id', '=', gone.file_id).execute();
  return true;
}
