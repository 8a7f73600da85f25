import { insert, type Schema, type Write } from '@muster/store';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { OUTPUT_LIMITS } from './limits.js';
import type { OutputSource, OutputStream, SourceStream } from './types.js';

type Read = Kysely<Schema>;
type ChunkRow = Selectable<Schema['output_chunks']>;

/** Natural key, so that a chunk that is sent again after a lost confirmation changes nothing. */
export const appendChunk: (row: ChunkRow) => Write = insert(
  'output_chunks',
  { subject: 'text', part: 'text', stream: 'text', position: 'integer', data: 'bytes' },
  ['subject', 'part', 'stream', 'position'],
);

function chunksOf(read: Read, { subject, part, stream }: SourceStream) {
  return read
    .selectFrom('output_chunks')
    .where('subject', '=', subject)
    .where('part', '=', part)
    .where('stream', '=', stream);
}

/** Stored chunks in order, from the one that holds byte `from` on. */
export function readChunks(
  read: Read,
  of: SourceStream,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<Pick<ChunkRow, 'position' | 'data'>[]> {
  // Chunks do not overlap: what `from` may lie in is the last that begins before it, and none of those before that is looked at.
  const holder = chunksOf(read, of)
    .select('position')
    .where('position', '<=', from)
    .orderBy('position', 'desc')
    .limit(1);
  return chunksOf(read, of)
    .select(['position', 'data'])
    .where((eb) => eb('position', '>=', eb.fn.coalesce(holder, eb.lit(0))))
    .where((eb) => eb(eb('position', '+', eb.fn<number>('length', ['data'])), '>', from))
    .orderBy('position')
    .limit(limit)
    .execute();
}

/** How much of a stream is stored, and where the last byte of it ends. */
export async function extentOf(
  read: Read,
  of: SourceStream,
): Promise<{ readonly chunks: number; readonly bytes: number; readonly end: number }> {
  const row = await chunksOf(read, of)
    .select((eb) => [
      eb.fn.countAll<number>().as('chunks'),
      eb.fn.sum<number | null>(eb.fn('length', ['data'])).as('bytes'),
      eb.fn.max<number | null>(eb('position', '+', eb.fn<number>('length', ['data']))).as('end'),
    ])
    .executeTakeFirstOrThrow();
  return { chunks: Number(row.chunks), bytes: Number(row.bytes ?? 0), end: Number(row.end ?? 0) };
}

/** Where the first byte is missing of a stream of which not all is stored. */
export async function gapOf(read: Read, of: SourceStream): Promise<number> {
  const chunks = chunksOf(read, of).select((eb) => [
    eb('position', '+', eb.fn<number>('length', ['data'])).as('end'),
    sql<number | null>`lead(${eb.ref('position')}) over (order by ${eb.ref('position')})`.as('following'),
  ]);
  const row = await read
    .selectFrom(chunks.as('chunks'))
    .select((eb) => eb.fn.min<number | null>('end').as('end'))
    .where(({ eb, or, ref }) => or([eb('following', 'is', null), eb('following', '>', ref('end'))]))
    .executeTakeFirstOrThrow();
  return Number(row.end ?? 0);
}

/** The stream of a subject after this one, by name; the first of all after none. Its chunks are not looked at. */
export function streamAfter(
  read: Read,
  subject: OutputSource['subject'],
  after: Pick<SourceStream, 'part' | 'stream'> | undefined,
): Promise<SourceStream | undefined> {
  return read
    .selectFrom('output_chunks')
    .select(['subject', 'part', 'stream'])
    .where('subject', '=', subject)
    .$if(after !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('part', 'stream'), '>', tuple(after?.part ?? '', after?.stream ?? 'stdout')),
      ),
    )
    .orderBy('part')
    .orderBy('stream')
    .limit(1)
    .executeTakeFirst();
}

/** How much of every stream of a subject is stored: reads all of it. */
export async function extentsOf(
  read: Read,
  subject: OutputSource['subject'],
): Promise<{ part: string; stream: OutputStream; bytes: number; end: number }[]> {
  const rows = await read
    .selectFrom('output_chunks')
    .select((eb) => [
      'part',
      'stream',
      eb.fn.sum<number>(eb.fn('length', ['data'])).as('bytes'),
      eb.fn.max<number>(eb('position', '+', eb.fn<number>('length', ['data']))).as('end'),
    ])
    .where('subject', '=', subject)
    .groupBy(['part', 'stream'])
    .execute();
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes), end: Number(row.end) }));
}

/**
 * Where the stored byte with this number, from 0 on, stands in the stream. They differ behind bytes that were dropped.
 * Undefined when there are not so many.
 */
export async function positionOf(read: Read, of: SourceStream, number: number): Promise<number | undefined> {
  const counted = chunksOf(read, of).select([
    'position',
    sql<number>`length(data)`.as('size'),
    sql<number>`sum(length(data)) over (order by position)`.as('through'),
  ]);
  const row = await read
    .selectFrom(counted.as('counted'))
    .selectAll()
    .where('through', '>', number)
    .orderBy('position')
    .limit(1)
    .executeTakeFirst();
  return row && row.position + number - (Number(row.through) - row.size);
}

/** Stores bytes of a stream from this position on, in a transaction: of output that came from elsewhere. */
export async function storeOutput(
  trx: Transaction<Schema>,
  { subject, part, stream }: SourceStream,
  position: number,
  data: Uint8Array,
): Promise<void> {
  for (let from = 0; from < data.length; from += OUTPUT_LIMITS.chunkBytes) {
    const some = data.subarray(from, from + OUTPUT_LIMITS.chunkBytes);
    const row = { subject, part, stream, position: position + from, data: some };
    await trx.insertInto('output_chunks').values(row).execute();
  }
}

/** Deletes output of a subject that is gone, at most so much that nobody is held up. True when none is left. */
export async function clearOutput(trx: Transaction<Schema>, subject: OutputSource['subject']): Promise<boolean> {
  // Up to the first row that stays, which both databases find and reach by the primary key.
  const first = await trx
    .selectFrom('output_chunks')
    .select(['part', 'stream', 'position'])
    .where('subject', '=', subject)
    .orderBy('part')
    .orderBy('stream')
    .orderBy('position')
    .offset(OUTPUT_LIMITS.chunksCleared)
    .limit(1)
    .executeTakeFirst();
  const all = trx.deleteFrom('output_chunks').where('subject', '=', subject);
  if (first === undefined) await all.execute();
  else {
    const { part, stream, position } = first;
    await all
      .where(({ eb, refTuple, tuple }) =>
        eb(refTuple('part', 'stream', 'position'), '<', tuple(part, stream, position)),
      )
      .execute();
  }
  return first === undefined;
}
