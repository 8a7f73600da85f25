import { organizationsById } from '@muster/platform/auth';
import { deleteSome, type Schema, type Store, upsert, type Write } from '@muster/store';
import type { FactValue } from '@muster/wire';
import type { Transaction } from 'kysely';
import { KnownNode } from './known-node.js';

const upsertNode = upsert(
  'nodes',
  {
    org_id: 'text',
    name: 'text',
    status: 'text',
    status_at: 'integer',
    reason: 'text',
    incarnation: 'text',
    last_end: 'text',
    dialect: 'text',
    key_fingerprint: 'text',
    facts: 'text',
    labels: 'text',
    created_at: 'integer',
  },
  ['org_id', 'name'],
);

/** The node as it is now. */
export function saveNode(node: KnownNode): Write {
  return upsertNode({
    org_id: node.org.id,
    name: node.name,
    status: node.status,
    status_at: node.statusAt,
    reason: node.reason,
    incarnation: node.incarnation,
    last_end: node.lastEnd,
    dialect: node.dialect,
    key_fingerprint: node.keyFingerprint,
    facts: JSON.stringify(node.facts),
    labels: JSON.stringify(node.labels),
    created_at: node.createdAt,
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

export async function deleteNode(trx: Transaction<Schema>, { org, name }: KnownNode): Promise<void> {
  await trx.deleteFrom('nodes').where('org_id', '=', org.id).where('name', '=', name).execute();
}

/** What is left of an organization that was deleted. True when nothing is. */
export function clearNodes(trx: Transaction<Schema>, orgId: string, most: number): Promise<boolean> {
  return deleteSome(trx, { table: 'nodes', key: ['org_id', 'name'], where: ['org_id', [orgId]], most });
}

function readValues(text: string): Readonly<Record<string, FactValue>> {
  const parsed: unknown = JSON.parse(text);
  const values: Record<string, FactValue> = {};
  for (const [name, value] of Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {})) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') values[name] = value;
  }
  return values;
}
