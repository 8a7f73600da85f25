import type { SealingKey, Secrets } from '@muster/platform/secrets';
import type { Schema, Store } from '@muster/store';
import type { Transaction } from 'kysely';
import { hashOf, readOrder, writeOrder } from '../approvals/order.js';
import '../approvals/tables.js';
import '../repository/tables.js';
import type { PushJobSpec, RunbookMark } from '../types.js';

/** Runs of saved commands with secrets in their file. The job, and the approval that it waits for, hold both sealed until they have ended. */

/** What is sealed belongs to the runbook: no other, whose author might have it sent elsewhere, can hold it. */
export function runOwner(orgId: string, runbookId: string): string {
  return `run ${orgId} ${runbookId}`;
}

export interface RekeyDeps {
  readonly store: Pick<Store, 'transact'>;
  readonly secrets: Pick<Secrets, 'reseal'>;
}

/**
 * All that a former key sealed, with the one of today: all, or nothing. How many. To be called before jobs are taken up again. What waits
 * for others to agree has another hash then, as what they agree to is another text.
 * @throws MusterError `secret_unreadable`
 */
export function rekeyRuns({ store, secrets }: RekeyDeps, former: SealingKey): Promise<number> {
  const again = (orgId: string, mark: RunbookMark | undefined): RunbookMark | null => {
    if (mark?.sealed === undefined) return null;
    const sealed = secrets.reseal(former, runOwner(orgId, mark.id), mark.sealed);
    return sealed === null ? null : { ...mark, sealed };
  };
  return store.transact(async (trx) => (await rekeyJobs(trx, again)) + (await rekeyApprovals(trx, again)));
}

type Again = (orgId: string, mark: RunbookMark | undefined) => RunbookMark | null;

async function rekeyJobs(trx: Transaction<Schema>, again: Again): Promise<number> {
  const rows = trx.selectFrom('push_jobs').select(['id', 'org_id', 'spec']).where('phase', '<>', 'finished');
  let changed = 0;
  for (const { id, org_id, spec: text } of await rows.where('spec', 'like', HOLDS).execute()) {
    const spec = JSON.parse(text) as PushJobSpec;
    const runbook = again(org_id, spec.runbook);
    if (runbook === null) continue;
    const after = JSON.stringify({ ...spec, runbook });
    await trx.updateTable('push_jobs').set({ spec: after }).where('id', '=', id).execute();
    changed += 1;
  }
  return changed;
}

async function rekeyApprovals(trx: Transaction<Schema>, again: Again): Promise<number> {
  const rows = trx.selectFrom('push_approvals').select(['id', 'org_id', 'order_text']).where('status', '=', 'pending');
  let changed = 0;
  for (const { id, org_id, order_text: text } of await rows.where('order_text', 'like', HOLDS).execute()) {
    const order = readOrder(text);
    const runbook = order.kind === 'runbook' ? again(org_id, order.runbook) : null;
    if (order.kind !== 'runbook' || runbook === null) continue;
    const order_text = writeOrder({ ...order, runbook });
    const after = { order_text, hash: hashOf(org_id, id, order_text) };
    await trx.updateTable('push_approvals').set(after).where('id', '=', id).execute();
    changed += 1;
  }
  return changed;
}

const HOLDS = '%"sealed"%';
