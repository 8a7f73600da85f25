import type { Clock } from '@muster/base';
import type { Recordable, Recorder } from '@muster/platform/log';
import type { BoundedLog } from '@muster/platform/upkeep';
import type { Write } from '@muster/store';
import type { Aspects } from './aspects.js';
import { statusChanged } from './events.js';
import type { KnownNode } from './known-node.js';
import type { Liveness, LivenessRules } from './machine.js';
import { saveNode } from './repository.js';
import type { NodeListener } from './types.js';

export interface TransitionsDeps {
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly log: BoundedLog;
  readonly rules: LivenessRules;
  readonly aspects: Aspects;
}

/**
 * Carries out what happens to nodes. One event at a time runs to its end: the new state is in memory, the row is handed to
 * the store, then the listeners hear of it, in the order in which they came. A listener may call back while it is told:
 * it sees the state after the event.
 */
export class Transitions {
  readonly listeners: Partial<NodeListener>[] = [];
  readonly #deps: TransitionsDeps;

  constructor(deps: TransitionsDeps) {
    this.#deps = deps;
  }

  tell(about: (listener: Partial<NodeListener>) => void): void {
    for (const listener of this.listeners) about(listener);
  }

  /** @param reason Of a change, where it is known better than by the heartbeats. */
  live(node: KnownNode, next: Liveness, reason?: string): void {
    const before = node.liveness;
    node.liveness = next;
    if (next.status === before.status) return;
    node.statusAt = this.#deps.clock.now();
    node.reason = reason ?? this.#reason(node);
    this.#deps.log.info(`is ${next.status}`, { node: node.name, org: node.org.name }, `node is ${next.status}`);
    void this.save(node, statusChanged(node, this.#deps.aspects.changed(node)));
    if (next.status === 'up') {
      this.tell((listener) => listener.up?.(node));
    } else {
      node.state = null;
      this.tell((listener) => listener.down?.(node));
    }
  }

  /** Stores the node with the event that tells what changed. */
  save(node: KnownNode, event: Recordable | null): Promise<boolean> {
    return this.persist(node, [saveNode(node)], event === null ? [] : [event]);
  }

  /** False when it will never be stored: the store was closed, or the node removed. */
  persist(node: KnownNode, writes: readonly Write[], events: readonly Recordable[]): Promise<boolean> {
    if (node.removed) return Promise.resolve(false);
    return this.#deps.recorder.persist(writes, events).then(
      () => true,
      (error: unknown) => {
        this.#deps.log.warn('store', { err: error, node: node.name }, 'a node could not be stored');
        return false;
      },
    );
  }

  #reason(node: KnownNode): string {
    if (node.status === 'up') return 'it came up';
    return node.stoppedAt === null
      ? `no heartbeat for ${this.#deps.rules.offlineThreshold} intervals`
      : 'its agent was stopped';
  }
}
