import {
  type AuditEntry,
  type Auth,
  actorOf,
  type Identity,
  type Organization,
  unknownMembers,
  whilePresent,
} from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Schema, Store } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import { MusterError } from '../errors.js';
import type { TargetAccess } from '../request/targets.js';
import { APPROVAL_LIMITS } from './limits.js';
import type { Need, Needs } from './needs.js';

/** Which push jobs wait for others: those on more than `above` nodes, of a group or of all. */
export interface Policy {
  readonly name: string;
  /** Null: all nodes count. */
  readonly nodeGroup: string | null;
  readonly above: number;
  readonly grants: number;
  readonly by: readonly string[];
  /** Seconds. */
  readonly within: number | null;
}

type Row = Selectable<Schema['push_approval_policies']>;

export function policiesOf(read: Kysely<Schema>, orgId: string): Promise<Policy[]> {
  const rows = read.selectFrom('push_approval_policies').selectAll().where('org_id', '=', orgId).orderBy('name');
  return rows.execute().then((all) => all.map(policyOf));
}

function policyOf({ name, node_group: nodeGroup, above, grants, approvers, within }: Row): Policy {
  return { name, nodeGroup, above, grants, by: JSON.parse(approvers) as string[], within };
}

export interface Asking {
  readonly read: Kysely<Schema>;
  readonly access: Pick<TargetAccess, 'nodeGroup'>;
}

/**
 * What the policies of an organization want for a push job on these nodes. Of a group that is gone every node counts.
 * @param most It will be on so many of them, and nobody knows on which.
 */
export async function policyNeeds(
  { read, access }: Asking,
  org: Organization,
  nodes: readonly string[],
  most: number = nodes.length,
): Promise<Needs> {
  const matched: Policy[] = [];
  for (const policy of await policiesOf(read, org.id)) {
    const group = policy.nodeGroup === null ? undefined : await access.nodeGroup(org, policy.nodeGroup);
    const counted = group === undefined ? nodes.length : countOf(nodes, new Set(group));
    if (Math.min(counted, most) > policy.above) matched.push(policy);
  }
  const within = matched.flatMap(({ within: seconds }) => (seconds === null ? [] : [seconds]));
  return {
    needs: matched.map(({ name, by, grants }): Need => ({ by, grants, why: `policy ${name}` })),
    ...(within.length > 0 && { within: Math.min(...within) }),
  };
}

function countOf(nodes: readonly string[], group: ReadonlySet<string>): number {
  return nodes.reduce((count, node) => count + (group.has(node) ? 1 : 0), 0);
}

/** A push job waits for others, and was not granted. */
export class ApprovalNeeded extends MusterError<'approval_needed'> {
  readonly asked: Needs;

  constructor(asked: Needs) {
    super('approval_needed', { why: asked.needs.map(({ why }) => why).join(', ') });
    this.asked = asked;
  }
}

export interface PoliciesDeps {
  readonly store: Pick<Store, 'read'>;
  readonly recorder: Recorder;
  readonly auth: Pick<Auth, 'audit' | 'nodeGroups' | 'organizations' | 'repository'>;
}

/** Policies of approval, made and deleted. Who may is decided by the routes. */
export class Policies {
  readonly #deps: PoliciesDeps;

  constructor(deps: PoliciesDeps) {
    this.#deps = deps;
  }

  all(org: Organization): Promise<Policy[]> {
    return policiesOf(this.#deps.store.read, org.id);
  }

  /** Those who may agree by name and are not there. */
  unknown(org: Organization, { by }: Policy): Promise<readonly string[]> {
    return unknownMembers(this.#deps.auth.repository, org.id, by);
  }

  /** New, or in the place of the one of this name. @throws MusterError `not_found` for the node group, `too_many_policies` */
  async set(org: Organization, policy: Policy, by: Identity): Promise<void> {
    const { recorder, auth } = this.#deps;
    const { name, nodeGroup: node_group, above, grants, within } = policy;
    if (node_group !== null && (await auth.nodeGroups.nodeGroup(org, node_group)) === undefined) {
      throw new MusterError('not_found', { kind: 'node group', name: node_group });
    }
    const values = { node_group, above, grants, approvers: JSON.stringify(policy.by), within };
    const detail = {
      ...{ above, grants, nodes: node_group === null ? 'all' : `node group ${node_group}` },
      ...(policy.by.length > 0 && { by: policy.by.join(', ') }),
    };
    await whilePresent(
      org,
      recorder.transact(async (trx, _record, write) => {
        const others = await trx
          .selectFrom('push_approval_policies')
          .select('name')
          .where('org_id', '=', org.id)
          .where('name', '<>', name)
          .execute();
        if (others.length >= APPROVAL_LIMITS.policies) {
          throw new MusterError('too_many_policies', { limit: APPROVAL_LIMITS.policies });
        }
        await trx
          .insertInto('push_approval_policies')
          .values({ org_id: org.id, name, ...values })
          .onConflict((conflict) => conflict.columns(['org_id', 'name']).doUpdateSet(values))
          .execute();
        write(this.#audited(org, by, 'approval.policy', name, detail));
      }),
    );
  }

  /** @throws MusterError `not_found` */
  async remove(org: Organization, name: string, by: Identity): Promise<void> {
    await whilePresent(
      org,
      this.#deps.recorder.transact(async (trx, _record, write) => {
        const { numDeletedRows } = await trx
          .deleteFrom('push_approval_policies')
          .where('org_id', '=', org.id)
          .where('name', '=', name)
          .executeTakeFirstOrThrow();
        if (numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'approval policy', name });
        write(this.#audited(org, by, 'approval.policy-delete', name, {}));
      }),
    );
  }

  #audited(org: Organization, by: Identity, action: string, target: string, detail: NonNullable<AuditEntry['detail']>) {
    const { organizations, audit } = this.#deps.auth;
    const entry = { orgId: org.id, actor: actorOf(by), action, target, outcome: 'done', detail } as const;
    return [organizations.present(org), audit.write(entry)];
  }
}
