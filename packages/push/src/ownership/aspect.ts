import type { NodeAspect, NodeView } from '@muster/nodes';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { jobOf } from './events.js';
import { stepOwnership } from './machine.js';
import { isAvailable, type OwnedNode } from './owned-node.js';
import { AVAILABILITY, availability, available } from './view.js';
import { whyOwned } from './why.js';

/** What is shown of whose a node is, wherever nodes are shown. */
export function ownerAspect(owned: (node: NodeView) => OwnedNode): NodeAspect {
  return {
    fields: {
      ...AVAILABILITY,
      owner: Type.Union([Type.Literal('down'), Type.Literal('rehab'), Type.Literal('idle'), Type.Literal('job')]),
      job_id: Type.Optional(Type.String({ description: 'The job that owns it' })),
    },
    describe(node) {
      const it = owned(node);
      return { ...availability(it), owner: it.owner.kind, ...(it.owner.kind === 'job' && { job_id: it.owner.jobId }) };
    },
    labels: { owner: (node) => owned(node).owner.kind },
    attributes: (node) => ({ availability: available(owned(node)) }),
    changed(node) {
      const { owner } = owned(node);
      if (node.status === 'down') return jobOf(owner);
      return { owner: stepOwnership(owner, { type: 'up' }, node.statusAt).owner.kind };
    },
    explain(node, now) {
      const it = owned(node);
      return { available: isAvailable(it), sentences: whyOwned(it, now) };
    },
    assertRemovable(node) {
      const { owner } = owned(node);
      if (owner.kind === 'job') throw new MusterError('node_busy', { name: node.name, job: owner.jobId });
    },
  };
}
