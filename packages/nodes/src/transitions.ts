import type { Clock } from '@muster/base';
import type { Recordable, Recorder } from '@muster/platform/log';
import type { BoundedLog } from './bounded-log.js';
import type { Dispatch } from './dispatch.js';
import { ownerEvent } from './events.js';
import type { KnownNode } from './known-node.js';
import {
  type Liveness,
  type LivenessRules,
  type OwnershipEffect,
  type OwnershipEvent,
  stepOwnership,
} from './machine.js';
import type { NodeMetrics } from './metrics.js';
import type { NodeLog } from './ports.js';
import { saveNode } from './repository.js';
import type { Roster } from './roster.js';
import type { Owner, PushPort } from './types.js';

export interface TransitionsDeps {
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly log: BoundedLog;
  readonly logger: NodeLog;
  readonly metrics: NodeMetrics;
  readonly roster: Roster;
  readonly dispatch: Dispatch;
  readonly rules: LivenessRules;
  readonly rehabIntervalMs: number;
  /** Incarnation of this server process, written into the rows. */
  readonly incarnation: string;
}

/** How what happened reaches the job that owned the node when it happened. */
type Tell = (port: PushPort, jobId: string) => void;

/**
 * Carries out what happens to nodes. One event at a time runs to its end: the machine steps, the new state is in memory, the
 * row is handed to the store, then the job hears of it; the abort of a node that entered rehab leaves when the row is
 * durable. A job may call back (claim, release, send) while it is told: it sees the state after the step.
 */
export class Transitions {
  readonly #deps: TransitionsDeps;
  readonly #inRehab = new Set<KnownNode>();
  #port: PushPort | null = null;

  constructor(deps: TransitionsDeps) {
    this.#deps = deps;
  }

  attach(port: PushPort): void {
    this.#port = port;
  }

  /** Liveness changed: so does the owner. */
  live(node: KnownNode, next: Liveness): void {
    const before = node.liveness;
    node.liveness = next;
    if (next.status === before.status) return;
    node.statusAt = this.#deps.clock.now();
    this.#deps.log.info(`is ${next.status}`, { node: node.name, org: node.org.name }, `node is ${next.status}`);
    if (next.status === 'down') {
      node.state = null;
      this.own(node, { type: 'down' }, (port, jobId) => port.down(jobId, node.name));
    } else {
      this.own(node, { type: 'up' });
    }
  }

  /** One step of the ownership machine; `tell` reaches the job when the machine says so. */
  own(node: KnownNode, event: OwnershipEvent, tell?: Tell): void {
    const { owner, effects } = stepOwnership(node.owner, event, this.#deps.clock.now());
    let stored: Promise<boolean> | null = null;
    if (owner !== node.owner) {
      const before = node.owner;
      this.#enter(node, owner);
      stored = this.save(node, ownerEvent(node, before));
    }
    for (const effect of effects) this.#carryOut(node, effect, stored, tell);
  }

  #enter(node: KnownNode, owner: Owner): void {
    node.owner = owner;
    node.ownerAt = this.#deps.clock.now();
    node.reason = this.#reason(node, owner);
    if (owner.kind === 'rehab') {
      this.#inRehab.add(node);
      node.abortedAt = node.ownerAt;
    } else {
      this.#inRehab.delete(node);
    }
    this.#deps.logger.debug(
      { node: node.name, org: node.org.name, owner: owner.kind, reason: node.reason },
      'node changed hands',
    );
  }

  #carryOut(node: KnownNode, effect: OwnershipEffect, stored: Promise<boolean> | null, tell?: Tell): void {
    switch (effect.do) {
      case 'abort': {
        const { owner } = node;
        // Saved, then sent; by then something else may have happened to the node.
        void stored?.then((durable) => {
          if (durable && node.owner === owner) this.#abort([node]);
        });
        return;
      }
      case 'tell':
        if (this.#port !== null) tell?.(this.#port, effect.jobId);
        return;
      case 'drop':
        this.#deps.log.info(`ignored: ${effect.why}`, { node: node.name, why: effect.why }, 'ignored a message');
        return;
      case 'violation':
        this.#deps.metrics.violation();
        this.#deps.log.warn(
          'violation',
          { node: node.name, org: node.org.name, what: effect.what },
          'invariant broken',
        );
        return;
    }
  }

  #abort(nodes: readonly KnownNode[]): void {
    const at = this.#deps.clock.now();
    const reached = nodes.filter((node) => this.#deps.dispatch.reaches(node));
    for (const node of reached) {
      node.abortedAt = at;
      node.unansweredAborts += 1;
    }
    this.#deps.dispatch.send(reached, { type: 'abort' });
  }

  /**
   * Stores the node with the event that tells what changed. False when it will never be stored: the store was closed, or
   * the node removed.
   */
  async save(node: KnownNode, event: Recordable | null): Promise<boolean> {
    if (node.removed) return false;
    try {
      await this.#deps.recorder.persist([saveNode(node, this.#deps.incarnation)], event === null ? [] : [event]);
      return true;
    } catch (error) {
      this.#deps.log.warn('store', { err: error, node: node.name }, 'a node could not be stored');
      return false;
    }
  }

  #reason(node: KnownNode, owner: Owner): string {
    switch (owner.kind) {
      case 'down':
        return node.stoppedAt === null
          ? `no heartbeat for ${this.#deps.rules.offlineThreshold} intervals`
          : 'its agent was stopped';
      case 'rehab':
        return owner.reason;
      case 'idle':
        return 'ready for a job';
      case 'job':
        return `busy with job ${owner.jobId}`;
    }
  }

  isLive(jobId: string): boolean {
    return this.#port?.isLive(jobId) ?? false;
  }

  /** Aborts a node in rehab that can be reached now; one that is believed without may tell first. */
  abortAgain(node: KnownNode): void {
    if (node.owner.kind === 'rehab' && node.owner.untouched !== true) this.#abort([node]);
  }

  /** Aborts everybody in rehab again (§5.5.3). */
  rehabRound(): void {
    const due: KnownNode[] = [];
    const now = this.#deps.clock.now();
    const latest = now - this.#deps.rehabIntervalMs / 2;
    for (const node of this.#inRehab) {
      // An abort from the future was sent before the clock was set back.
      if (node.abortedAt > latest && node.abortedAt <= now) continue;
      const { effects } = stepOwnership(node.owner, { type: 'rehab_tick' }, latest);
      if (effects.some((effect) => effect.do === 'abort')) due.push(node);
    }
    this.#abort(due);
  }

  /** The invariant of §5.5.3, and its repair. */
  checkOwners(): void {
    for (const node of this.#deps.roster) {
      const jobLive = node.owner.kind !== 'job' || this.isLive(node.owner.jobId);
      this.own(node, { type: 'check', status: node.status, jobLive });
    }
  }
}
