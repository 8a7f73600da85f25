import { organizationsById } from '@muster/platform/auth';
import { deleteSome, type Schema, type Store, upsert, type Write } from '@muster/store';
import type { FactValue } from '@muster/wire';
import type { Transaction } from 'kysely';
import { KnownNode } from './known-node.js';
import type { Owner } from './types.js';

const upsertNode = upsert(
  'nodes',
  {
    org_id: 'text',
    name: 'text',
    status: 'text',
    status_at: 'integer',
    owner: 'text',
    owner_job: 'text',
    owner_at: 'integer',
    reason: 'text',
    incarnation: 'text',
    last_end: 'text',
    dialect: 'text',
    key_fingerprint: 'text',
    facts: 'text',
    labels: 'text',
    created_at: 'integer',
    server: 'text',
  },
  ['org_id', 'name'],
);

/** In place of an incarnation: the server that had the node has stopped as it should, and the node was idle. */
const LEFT_IDLE = '';

/** The node as it is now; `server` is the incarnation of the process that writes. */
export function saveNode(node: KnownNode, server: string): Write {
  return upsertNode({
    org_id: node.org.id,
    name: node.name,
    status: node.status,
    status_at: node.statusAt,
    owner: node.owner.kind,
    owner_job: node.owner.kind === 'job' ? node.owner.jobId : null,
    owner_at: node.ownerAt,
    reason: node.reason,
    incarnation: node.incarnation,
    last_end: node.lastEnd,
    dialect: node.dialect,
    key_fingerprint: node.keyFingerprint,
    facts: JSON.stringify(node.facts),
    labels: JSON.stringify(node.labels),
    created_at: node.createdAt,
    server,
  });
}

/** All nodes of all organizations. Those that were up count as heard `now`: silence is measured from the start on. */
export async function loadNodes(store: Store, now: number): Promise<KnownNode[]> {
  const organizations = await organizationsById(store.read);
  const rows = await store.read.selectFrom('nodes').selectAll().execute();
  const nodes: KnownNode[] = [];
  for (const row of rows) {
    const org = organizations.get(row.org_id);
    if (org === undefined) continue;
    const node = new KnownNode(org, row.name, row.created_at);
    if (row.status === 'up') node.liveness = { status: 'up', heardAt: now };
    node.statusAt = row.status_at;
    node.owner = readOwner(row);
    node.untouched = row.server === LEFT_IDLE;
    node.ownerAt = row.owner_at;
    node.reason = row.reason;
    node.incarnation = row.incarnation;
    node.lastEnd = row.last_end;
    node.dialect = row.dialect;
    node.keyFingerprint = row.key_fingerprint;
    node.facts = readValues(row.facts);
    node.labels = readValues(row.labels);
    nodes.push(node);
  }
  return nodes;
}

/** What this server leaves idle, the next one may take for idle. Whatever is written to a node later takes that back. */
export async function leaveIdle(trx: Transaction<Schema>, server: string): Promise<void> {
  await trx
    .updateTable('nodes')
    .set({ server: LEFT_IDLE })
    .where('server', '=', server)
    .where('status', '=', 'up')
    .where('owner', '=', 'idle')
    .execute();
}

export async function deleteNode(trx: Transaction<Schema>, { org, name }: KnownNode): Promise<void> {
  await trx.deleteFrom('nodes').where('org_id', '=', org.id).where('name', '=', name).execute();
}

/** What is left of an organization that was deleted. True when nothing is. */
export function clearNodes(trx: Transaction<Schema>, orgId: string, most: number): Promise<boolean> {
  return deleteSome(trx, { table: 'nodes', key: ['org_id', 'name'], where: ['org_id', orgId], most });
}

function readOwner(row: {
  status: string;
  owner: Owner['kind'];
  owner_job: string | null;
  owner_at: number;
  reason: string;
}): Owner {
  if (row.status === 'down') return { kind: 'down' };
  if (row.owner === 'idle') return { kind: 'idle' };
  if (row.owner === 'job' && row.owner_job !== null) return { kind: 'job', jobId: row.owner_job };
  return { kind: 'rehab', since: row.owner_at, reason: row.reason };
}

function readValues(text: string): Readonly<Record<string, FactValue>> {
  const parsed: unknown = JSON.parse(text);
  const values: Record<string, FactValue> = {};
  for (const [name, value] of Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {})) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') values[name] = value;
  }
  return values;
}
