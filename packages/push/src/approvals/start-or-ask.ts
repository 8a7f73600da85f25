import type { Identity, Organization } from '@muster/platform/auth';
import type { StoredAlong } from '../request/submission.js';
import type { Approvals } from './approvals.js';
import type { Needs } from './needs.js';
import type { Order } from './order.js';
import { ApprovalNeeded } from './policies.js';
import type { ApprovalRow } from './repository.js';

export interface Attempt {
  readonly order: Order;
  readonly asker: Identity;
  /** Who has to agree whatever the nodes are; null: nobody. */
  readonly asked?: Needs | null;
  /** What is stored with the approval, by its id. */
  readonly along?: (id: string) => StoredAlong;
  /** @throws ApprovalNeeded */
  readonly start: () => Promise<string>;
}

export type Attempted = { readonly job: string } | { readonly approval: ApprovalRow };

/** Starts a push job; where others have to agree first, asks them. @throws MusterError as POST jobs, `too_many_approvals` */
export async function startOrAsk(
  approvals: Pick<Approvals, 'ask'>,
  org: Organization,
  { order, asker, asked = null, along, start }: Attempt,
): Promise<Attempted> {
  if (asked !== null) return { approval: await approvals.ask(org, order, asker, asked, along) };
  try {
    return { job: await start() };
  } catch (error) {
    if (!(error instanceof ApprovalNeeded)) throw error;
    return { approval: await approvals.ask(org, order, asker, error.asked, along) };
  }
}
