import type { NodeAspect, NodeView } from '@muster/nodes';
import { Type } from 'typebox';
import type { NodeSlots } from './assign/node-slots.js';
import { whyBroken } from './controller/why.js';
import { MusterError } from './errors.js';

/** What is shown of the tasks of a node, wherever nodes are shown. @param at Monotonic milliseconds. */
export function taskAspect(slotsOf: (node: NodeView) => NodeSlots, at: () => number): NodeAspect {
  return {
    fields: {
      task_slots: Type.Optional(Type.Integer({ description: 'Tasks that it runs at one time; absent: it takes none' })),
      tasks: Type.Optional(Type.Integer({ description: 'Tasks that it has' })),
      plugins: Type.Optional(Type.Array(Type.String(), { description: 'Plugins that it has' })),
    },
    describe(node) {
      const { offer, held } = slotsOf(node);
      if (offer === null) return {};
      return { task_slots: offer.max, tasks: held.size, plugins: offer.plugins.map(({ name }) => name) };
    },
    labels: {},
    attributes: () => ({}),
    changed: () => ({}),
    explain(node) {
      const broken = [...slotsOf(node).broken(at())];
      return { available: true, sentences: broken.map(({ plugin, waitMs }) => whyBroken(node.name, plugin, waitMs)) };
    },
    assertRemovable(node) {
      const { held } = slotsOf(node);
      if (held.size > 0) throw new MusterError('node_has_tasks', { name: node.name, tasks: held.size });
    },
  };
}
