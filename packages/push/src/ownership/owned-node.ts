import type { NodeView } from '@muster/nodes';
import type { Owner } from './types.js';

const NOBODY: readonly string[] = [];

/** A node and whose it is. */
export class OwnedNode {
  readonly node: NodeView;
  owner: Owner = { kind: 'down' };
  /** When `owner` last changed. */
  since: number;
  /** As loaded: it was idle when the server that had it stopped as it should. */
  untouched = false;
  /** Ids of the jobs that wait for it, first come first served. */
  waiting: readonly string[] = NOBODY;
  /** When rehab last sent an abort. */
  abortedAt = 0;
  /** Aborts that rehab sent over this connection and that were not answered yet. */
  aborts: { readonly peer: NodeView['peer']; unanswered: number } = { peer: null, unanswered: 0 };

  constructor(node: NodeView) {
    this.node = node;
    this.since = node.createdAt;
  }
}

/** Why it is where it is. */
export function reasonOf({ owner, node }: OwnedNode): string {
  switch (owner.kind) {
    case 'down':
      return node.reason;
    case 'rehab':
      return owner.reason;
    case 'idle':
      return 'ready for a job';
    case 'job':
      return `busy with job ${owner.jobId}`;
  }
}

/** Only idle nodes may join a job (Push Jobs §5.5.1). */
export function isAvailable({ owner }: Pick<OwnedNode, 'owner'>): boolean {
  return owner.kind === 'idle';
}
