import type { Clock } from '@muster/base';
import type { NodeRegistry } from '@muster/nodes';
import { stepOwnership } from './machine.js';
import type { OwnedNode } from './owned-node.js';
import type { PushMessage } from './types.js';

export interface RehabDeps {
  readonly clock: Clock;
  readonly nodes: Pick<NodeRegistry, 'reach'>;
  readonly intervalMs: number;
}

/** The nodes in rehab, and the aborts by which they leave it (§5.5.3). */
export class Rehab {
  readonly #deps: RehabDeps;
  readonly #within = new Set<OwnedNode>();
  /** Their first abort waits until it is stored that they are in rehab. */
  readonly #waiting = new Set<OwnedNode>();

  constructor(deps: RehabDeps) {
    this.#deps = deps;
  }

  /** The node has another owner than before. */
  changed(owned: OwnedNode): void {
    this.#waiting.delete(owned);
    if (owned.owner.kind === 'rehab') {
      this.#within.add(owned);
      owned.abortedAt = owned.since;
    } else {
      this.#within.delete(owned);
    }
  }

  /** The first abort: saved, then sent; by then something else may have happened to the node. */
  begin(owned: OwnedNode, stored: Promise<boolean>): void {
    const { owner } = owned;
    this.#waiting.add(owned);
    void stored.then((durable) => {
      if (owned.owner !== owner) return;
      this.#waiting.delete(owned);
      if (durable) this.#abort([owned]);
    });
  }

  /** Over a new connection, which nothing that was sent before has reached; it need not wait for the next round. */
  reconnected(owned: OwnedNode): void {
    const { owner } = owned;
    // One that is believed without an abort may tell first.
    if (owner.kind === 'rehab' && owner.untouched !== true && !this.#waiting.has(owned)) this.#abort([owned]);
  }

  /** Aborts everybody in rehab again. */
  round(): void {
    const due: OwnedNode[] = [];
    const now = this.#deps.clock.now();
    const latest = now - this.#deps.intervalMs / 2;
    for (const owned of this.#within) {
      // An abort from the future was sent before the clock was set back.
      if (owned.abortedAt > latest && owned.abortedAt <= now) continue;
      const { effects } = stepOwnership(owned.owner, { type: 'rehab_tick' }, latest);
      if (effects.some((effect) => effect.do === 'abort')) due.push(owned);
    }
    this.#abort(due);
  }

  /** Whether this answers an abort that rehab sent, maybe before the node became idle. */
  answered(owned: OwnedNode, message: PushMessage): boolean {
    const { aborts, node } = owned;
    if (message.type !== 'aborted' || aborts.peer !== node.peer || aborts.unanswered === 0) return false;
    aborts.unanswered -= 1;
    return message.jobId === null;
  }

  #abort(all: readonly OwnedNode[]): void {
    const at = this.#deps.clock.now();
    const reached = new Set(
      this.#deps.nodes.reach(
        all.map(({ node }) => node),
        { type: 'abort' },
      ),
    );
    for (const owned of all) {
      const { node, aborts } = owned;
      if (!reached.has(node)) continue;
      owned.abortedAt = at;
      owned.aborts = { peer: node.peer, unanswered: aborts.peer === node.peer ? aborts.unanswered + 1 : 1 };
    }
  }
}
