import type { NodeView } from '@muster/nodes';
import { deleteSome, type Schema, type Store, upsert, type Write } from '@muster/store';
import type { NodeCommands } from '@muster/wire';
import type { Transaction } from 'kysely';

const save = upsert('push_node_commands', { org_id: 'text', node: 'text', commands: 'text' }, ['org_id', 'node']);

/** What a node told last; null: it tells nothing any more. */
export function saveCommands({ org, name }: NodeView, commands: NodeCommands | null): Write {
  return save({ org_id: org.id, node: name, commands: JSON.stringify(commands) });
}

/** JSON by organization id and node. */
export async function loadCommands(store: Store): Promise<ReadonlyMap<string, string>> {
  const rows = await store.read.selectFrom('push_node_commands').selectAll().execute();
  return new Map(rows.map(({ org_id, node, commands }) => [`${org_id}/${node}`, commands]));
}

export async function deleteCommands(trx: Transaction<Schema>, { org, name }: NodeView): Promise<void> {
  await trx.deleteFrom('push_node_commands').where('org_id', '=', org.id).where('node', '=', name).execute();
}

/** What is left of an organization that was deleted. True when nothing is. */
export function clearCommands(trx: Transaction<Schema>, orgId: string, most: number): Promise<boolean> {
  return deleteSome(trx, { table: 'push_node_commands', key: ['org_id', 'node'], where: ['org_id', [orgId]], most });
}
