import type { NodeView } from '@muster/nodes';
import { deleteSome, type Schema, type Store, upsert, type Write } from '@muster/store';
import type { Selectable, Transaction } from 'kysely';
import { OwnedNode } from './owned-node.js';
import type { Owner } from './types.js';

type OwnerRow = Selectable<Schema['push_node_owners']>;

const upsertOwner = upsert(
  'push_node_owners',
  {
    org_id: 'text',
    node: 'text',
    owner: 'text',
    job_id: 'text',
    reason: 'text',
    since: 'integer',
    server: 'text',
  },
  ['org_id', 'node'],
);

/** In place of an incarnation: the server that had the node has stopped as it should, and the node was idle. */
const LEFT_IDLE = '';

/** Whose the node is now; `server` is the incarnation of the process that writes. */
export function saveOwner({ node, owner, since }: OwnedNode, server: string): Write {
  return upsertOwner({
    org_id: node.org.id,
    node: node.name,
    owner: owner.kind,
    job_id: owner.kind === 'job' ? owner.jobId : null,
    reason: owner.kind === 'rehab' ? owner.reason : null,
    since,
    server,
  });
}

/** Whose each of these nodes was when it was last stored. */
export async function loadOwners(store: Store, nodes: Iterable<NodeView>): Promise<OwnedNode[]> {
  const rows = new Map<string, OwnerRow>();
  const keyOf = (orgId: string, name: string): string => `${orgId}/${name}`;
  for (const row of await store.read.selectFrom('push_node_owners').selectAll().execute()) {
    rows.set(keyOf(row.org_id, row.node), row);
  }
  return Array.from(nodes, (node) => {
    const owned = new OwnedNode(node);
    const row = rows.get(keyOf(node.org.id, node.name));
    owned.since = row?.since ?? node.statusAt;
    owned.owner = readOwner(owned, row);
    owned.untouched = row?.server === LEFT_IDLE;
    return owned;
  });
}

/** The row of the node itself is stored first, so it may tell of a change that this one does not know of. */
function readOwner({ node, since }: OwnedNode, row: OwnerRow | undefined): Owner {
  if (node.status === 'down') return { kind: 'down' };
  if (row?.owner === 'idle') return { kind: 'idle' };
  if (row?.owner === 'job' && row.job_id !== null) return { kind: 'job', jobId: row.job_id };
  return { kind: 'rehab', since, reason: row?.reason ?? node.reason };
}

/** What this server leaves idle, the next one may take for idle. Whatever is written to a node later takes that back. */
export async function leaveIdle(trx: Transaction<Schema>, server: string): Promise<void> {
  await trx
    .updateTable('push_node_owners')
    .set({ server: LEFT_IDLE })
    .where('server', '=', server)
    .where('owner', '=', 'idle')
    .execute();
}

export async function deleteOwner(trx: Transaction<Schema>, { org, name }: NodeView): Promise<void> {
  await trx.deleteFrom('push_node_owners').where('org_id', '=', org.id).where('node', '=', name).execute();
}

/** What is left of an organization that was deleted. True when nothing is. */
export function clearNodeOwners(trx: Transaction<Schema>, orgId: string, most: number): Promise<boolean> {
  return deleteSome(trx, { table: 'push_node_owners', key: ['org_id', 'node'], where: ['org_id', [orgId]], most });
}
