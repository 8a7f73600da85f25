import type { Recordable } from '@muster/platform/log';
import { OWNER_EVENTS } from './event-types.js';
import { type OwnedNode, reasonOf } from './owned-node.js';
import type { Owner } from './types.js';

/** A node changed hands. Null: it was taken back by the job that has it. */
export function ownerEvent(owned: OwnedNode, before: Owner): Recordable | null {
  const { node, owner } = owned;
  if (owner.kind === 'job' && before.kind === 'job' && owner.jobId === before.jobId) return null;
  const job = owner.kind === 'job' ? jobOf(owner) : jobOf(before);
  const attributes = { node: node.name, owner: owner.kind, from: before.kind, ...job };
  return OWNER_EVENTS.tell('node.owner', node.org, attributes, { reason: reasonOf(owned) });
}

export function jobOf(owner: Owner): { job?: string } {
  return owner.kind === 'job' ? { job: owner.jobId } : {};
}
