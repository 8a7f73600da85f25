import type { NodeView } from './types.js';

/** Only idle nodes may join a job (Push Jobs §5.5.1). */
export function isAvailable(node: Pick<NodeView, 'owner'>): boolean {
  return node.owner.kind === 'idle';
}
