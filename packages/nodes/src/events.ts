import type { Recordable } from '@muster/platform/log';
import { NODE_EVENTS } from './event-types.js';
import type { KnownNode } from './known-node.js';
import type { Owner } from './types.js';

/** What changes of a node are told as. */

/** A node is down exactly while nobody owns it, so one event tells both. Null: taken back by the job that has it. */
export function ownerEvent(node: KnownNode, before: Owner): Recordable | null {
  const { org, name, owner, reason } = node;
  if (owner.kind === 'job' && before.kind === 'job' && owner.jobId === before.jobId) return null;
  if (owner.kind === 'down') return NODE_EVENTS.tell('node.down', org, { node: name, ...jobOf(before) }, { reason });
  if (before.kind === 'down') return NODE_EVENTS.tell('node.up', org, { node: name, owner: owner.kind }, { reason });
  const job = owner.kind === 'job' ? jobOf(owner) : jobOf(before);
  return NODE_EVENTS.tell('node.owner', org, { node: name, owner: owner.kind, from: before.kind, ...job }, { reason });
}

function jobOf(owner: Owner): { job?: string } {
  return owner.kind === 'job' ? { job: owner.jobId } : {};
}

export function created({ org, name }: KnownNode): Recordable {
  return NODE_EVENTS.tell('node.created', org, { node: name }, {});
}

export function removed({ org, name }: KnownNode): Recordable {
  return NODE_EVENTS.tell('node.removed', org, { node: name }, {});
}

export function factsChanged({ org, name, facts, labels }: KnownNode): Recordable {
  return NODE_EVENTS.tell('node.facts', org, { node: name }, { facts, labels });
}

export function restarted({ org, name, lastEnd, incarnation }: KnownNode): Recordable {
  const end = lastEnd === null ? {} : { end: lastEnd };
  return NODE_EVENTS.tell('node.restarted', org, { node: name, ...end }, { incarnation });
}

export function protocolChanged({ org, name, dialect }: KnownNode): Recordable {
  return NODE_EVENTS.tell('node.protocol', org, { node: name, dialect: dialect ?? 'unknown' }, {});
}

export function keyChanged({ org, name }: KnownNode, fingerprint: string): Recordable {
  return NODE_EVENTS.tell('node.key', org, { node: name }, { fingerprint });
}
