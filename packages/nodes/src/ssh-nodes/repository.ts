import { type Organization, organizationsById } from '@muster/platform/auth';
import { deleteSome, type Schema, type Store } from '@muster/store';
import type { Selectable, Transaction } from 'kysely';
import '../tables.js';
import type { SshNode, SshNodePolicy } from './types.js';

type Row = Selectable<Schema['ssh_nodes']>;

export async function loadSshNodes({ read }: Pick<Store, 'read'>): Promise<SshNode[]> {
  const organizations = await organizationsById(read);
  const rows = await read.selectFrom('ssh_nodes').selectAll().orderBy('name').execute();
  return rows.flatMap((row) => {
    const org = organizations.get(row.org_id);
    return org === undefined ? [] : [sshNodeOf(org, row)];
  });
}

function sshNodeOf(org: Organization, row: Row): SshNode {
  return {
    id: row.id,
    org,
    name: row.name,
    host: row.host,
    port: row.port,
    user: row.login,
    hostKey: row.host_key,
    keySecret: row.key_secret,
    passwordSecret: row.password_secret,
    policy: JSON.parse(row.policy) as SshNodePolicy,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export async function insertSshNode(trx: Transaction<Schema>, node: SshNode): Promise<void> {
  const { id, org, name, createdAt } = node;
  await trx
    .insertInto('ssh_nodes')
    .values({ id, org_id: org.id, name, created_at: createdAt, ...valuesOf(node) })
    .execute();
}

/** False: it is not there any more. */
export async function updateSshNode(trx: Transaction<Schema>, node: SshNode): Promise<boolean> {
  const rows = trx.updateTable('ssh_nodes').set(valuesOf(node)).where('id', '=', node.id);
  return (await rows.executeTakeFirstOrThrow()).numUpdatedRows > 0n;
}

export async function deleteSshNode(trx: Transaction<Schema>, orgId: string, name: string): Promise<void> {
  await trx.deleteFrom('ssh_nodes').where('org_id', '=', orgId).where('name', '=', name).execute();
}

/** What is left of an organization that was deleted. True when nothing is. */
export function clearSshNodes(trx: Transaction<Schema>, orgId: string, most: number): Promise<boolean> {
  return deleteSome(trx, { table: 'ssh_nodes', key: ['id'], where: ['org_id', [orgId]], most });
}

function valuesOf({ host, port, user, hostKey, keySecret, passwordSecret, policy, updatedAt }: SshNode) {
  return {
    ...{ host, port, login: user, host_key: hostKey, key_secret: keySecret, password_secret: passwordSecret },
    ...{ policy: JSON.stringify(policy), updated_at: updatedAt },
  };
}
