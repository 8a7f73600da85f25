import type { Organization } from '@muster/platform/auth';
import type { Schema, Store } from '@muster/store';
import type { Json } from '@muster/wire';
import type { Transaction } from 'kysely';
import type { By, TaskController } from '../../ports.js';
import type { QueueRow, TaskRow } from '../../repository/writes.js';
import { BadPlan, readPlan } from '../balance/document.js';
import {
  BadDocument,
  type Importing,
  readBalance,
  readFile,
  readNode,
  readPiece,
  readQueue,
  readTask,
} from './documents.js';
import { storeFile, storePiece } from './output-pieces.js';

type Trx = Transaction<Schema>;

/** What a dump has, in the order in which it is taken: each needs what comes before it. */
export const COLLECTIONS = ['queues', 'nodes', 'balance', 'tasks', 'tasks.files', 'tasks.chunks'] as const;
export type Collection = (typeof COLLECTIONS)[number];

/** A document, and where it stands in its file. */
export interface DumpLine {
  readonly collection: Collection;
  readonly line: number;
  readonly document: Json;
}

export interface Imported {
  /** Stored now, and there already. */
  readonly imported: Readonly<Partial<Record<Collection, number>>>;
  readonly present: Readonly<Partial<Record<Collection, number>>>;
  readonly errors: readonly { readonly collection: Collection; readonly line: number; readonly error: string }[];
}

export interface ImporterDeps {
  readonly store: Pick<Store, 'transact'>;
  readonly controller: Pick<TaskController, 'nodes' | 'queues' | 'setNode' | 'takeUp'>;
}

/** What came of one batch so far; made anew when the transaction begins again. */
class Tally {
  readonly imported: Partial<Record<Collection, number>> = {};
  readonly present: Partial<Record<Collection, number>> = {};
  readonly errors: { collection: Collection; line: number; error: string }[] = [];
  readonly queues: QueueRow[] = [];
  readonly tasks: TaskRow[] = [];

  count(collection: Collection, isNew: boolean): void {
    const counts = isNew ? this.imported : this.present;
    counts[collection] = (counts[collection] ?? 0) + 1;
  }

  refuse({ collection, line }: DumpLine, error: string): void {
    this.errors.push({ collection, line, error });
  }
}

/**
 * Stores documents of a dump with their ids, so that the same again changes nothing. One transaction for all of them; what cannot be
 * taken is told and passed over.
 */
export async function importDocuments(
  { store, controller }: ImporterDeps,
  organization: Organization,
  lines: readonly DumpLine[],
  about: Importing,
  by: By,
): Promise<Imported> {
  const nodes = lines.filter(({ collection }) => collection === 'nodes');
  const known = new Set(controller.queues(organization.id).map(({ name }) => name));
  const tally = await store.transact(async (trx, write) => {
    const tally = new Tally();
    write(by.record ?? []);
    await storeTasks(trx, lines, about, tally);
    for (const line of lines) await told(line, tally, () => storeOne(trx, line, about, known, tally));
    return tally;
  });
  await controller.takeUp(organization, { queues: tally.queues, tasks: tally.tasks.map(({ id }) => id) });
  for (const line of nodes) {
    await told(line, tally, async () => {
      const { node, ...settings } = readNode(line.document);
      if (!controller.nodes(organization.id).some((one) => one.node === node)) {
        throw new BadDocument(`there is no node '${node}' here`);
      }
      tally.count('nodes', await controller.setNode(organization, node, settings, by));
    });
  }
  const { imported, present, errors } = tally;
  return { imported, present, errors };
}

async function told(line: DumpLine, tally: Tally, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof BadDocument)) throw error;
    tally.refuse(line, error.message);
  }
}

async function storeOne(
  trx: Trx,
  line: DumpLine,
  about: Importing,
  known: ReadonlySet<string>,
  tally: Tally,
): Promise<void> {
  const { collection, document } = line;
  switch (collection) {
    case 'queues':
      return tally.count(collection, await storeQueue(trx, readQueue(document, about), tally));
    case 'balance':
      return tally.count(collection, await storeBalance(trx, document, about, known));
    case 'tasks.files':
      return tally.count(collection, await storeFile(trx, about.orgId, readFile(document)));
    case 'tasks.chunks':
      return tally.count(collection, await storePiece(trx, about.orgId, readPiece(document)));
    case 'tasks':
    case 'nodes':
      return;
  }
}

async function storeQueue(trx: Trx, row: QueueRow, tally: Tally): Promise<boolean> {
  const there = await trx
    .selectFrom('task_queues')
    .select(['id', 'org_id', 'name'])
    .where((eb) => eb.or([eb('id', '=', row.id), eb.and([eb('org_id', '=', row.org_id), eb('name', '=', row.name)])]))
    .execute();
  if (there.some(({ id, org_id }) => id === row.id && org_id === row.org_id)) return false;
  if (there.some(({ id }) => id === row.id)) throw new BadDocument('another organization has this queue');
  if (there.length > 0) throw new BadDocument(`there is another queue '${row.name}'`);
  await trx.insertInto('task_queues').values(row).execute();
  tally.queues.push(row);
  return true;
}

async function storeBalance(
  trx: Trx,
  document: Json,
  { orgId, now }: Importing,
  known: ReadonlySet<string>,
): Promise<boolean> {
  const { max_tasks, queues, disabled } = readBalance(document);
  const there = await trx.selectFrom('task_balances').select('org_id').where('org_id', '=', orgId).executeTakeFirst();
  if (there !== undefined) return false;
  try {
    const plan = readPlan({ max_tasks, queues: queues as unknown as Json }, known, Math.floor(now / 1000));
    const text = JSON.stringify({ disabled, ...plan });
    await trx.insertInto('task_balances').values({ org_id: orgId, document: text }).execute();
    return true;
  } catch (error) {
    throw error instanceof BadPlan ? new BadDocument(error.message) : error;
  }
}

/** Rows of one statement: SQLite takes 32,766 values. */
const ROWS = 500;

async function storeTasks(trx: Trx, lines: readonly DumpLine[], about: Importing, tally: Tally): Promise<void> {
  const read = new Map<string, TaskRow>();
  for (const line of lines) {
    if (line.collection !== 'tasks') continue;
    await told(line, tally, async () => {
      const row = readTask(line.document, about);
      if (read.has(row.id)) tally.count('tasks', false);
      read.set(row.id, row);
    });
  }
  if (read.size === 0) return;
  const there = await trx
    .selectFrom('tasks')
    .select('id')
    .where('id', 'in', [...read.keys()])
    .execute();
  for (const { id } of there) {
    read.delete(id);
    tally.count('tasks', false);
  }
  const rows = [...read.values()];
  for (let from = 0; from < rows.length; from += ROWS) {
    await trx
      .insertInto('tasks')
      .values(rows.slice(from, from + ROWS))
      .execute();
  }
  for (const row of rows) {
    tally.tasks.push(row);
    tally.count('tasks', true);
  }
}
