import type { Timer } from '@muster/base';
import type { Organization } from '@muster/platform/auth';
import { EMPTY_TALLY, type JobState, NEW_JOB, type Tally } from '../machine/job-machine.js';
import { isFinal, type JobNode, standing } from '../machine/job-node.js';
import type { PushJobSpec } from '../types.js';

/** An unfinished job in memory: the machines' states and the counts they need. Owned by the controller. */
export class LiveJob {
  readonly org: Organization;
  readonly id: string;
  readonly spec: PushJobSpec;
  /** `spec` as stored: it never changes, the row often does. */
  readonly specText: string;
  /** The same once it has ended: without the secrets that went with the command. */
  readonly keptText: string;
  readonly requester: string;
  readonly createdAt: number;
  /** When the status last changed. */
  updatedAt: number;
  state: JobState = NEW_JOB;
  tally: Tally = EMPTY_TALLY;
  readonly nodes = new Map<string, JobNode>();
  /** Nodes that became ready, first come first served; entries may have gone stale. */
  #readyQueue: string[] = [];
  /** How many of the queue were taken: cutting its head off for each would move all the others. */
  #taken = 0;
  /** Number of the last event. */
  seq: number;
  #lastEventAt = 0;
  /** When each node began to run, by the monotonic clock: how long it may run does not change when a clock is set. */
  readonly runningSinceMs = new Map<string, number>();
  /** When each node that was waited for was asked, by the monotonic clock; see `JobNode.waits`. */
  readonly askedSinceMs = new Map<string, number>();
  /**
   * Until then, by the monotonic clock, nodes are finding their way back to a server that was restarted, and their
   * silence means nothing.
   */
  graceUntilMs = Number.NEGATIVE_INFINITY;
  deadlineTimer: Timer | null = null;
  wakeTimer: Timer | null = null;
  ackTimer: Timer | null = null;
  nodeTimer: Timer | null = null;
  waitTimer: Timer | null = null;
  voteTimer: Timer | null = null;
  readonly unfinished = new Set<string>();
  /** Settled when everything that was decided up to now is stored, or cannot be. */
  stored: Promise<void> = Promise.resolve();

  constructor(init: {
    org: Organization;
    id: string;
    spec: PushJobSpec;
    requester: string;
    createdAt: number;
    lastEvent?: { readonly seq: number; readonly at: number };
  }) {
    this.org = init.org;
    this.id = init.id;
    this.spec = init.spec;
    this.specText = JSON.stringify(init.spec);
    this.keptText = init.spec.runbook?.secret === true ? JSON.stringify(withoutSecrets(init.spec)) : this.specText;
    this.requester = init.requester;
    this.createdAt = init.createdAt;
    this.updatedAt = init.createdAt;
    this.seq = init.lastEvent?.seq ?? 0;
    this.#lastEventAt = init.lastEvent?.at ?? 0;
  }

  /** The time of events that happen now: never goes back, whatever the clock does. */
  eventTime(now: number): number {
    this.#lastEventAt = Math.max(this.#lastEventAt, now);
    return this.#lastEventAt;
  }

  /** Puts a node's new state in place and keeps counts, queue and unfinished set true to it. */
  setNode(name: string, node: JobNode): void {
    const before = this.nodes.get(name);
    const from = before === undefined ? null : standing(before);
    const to = standing(node);
    this.nodes.set(name, node);
    if (isFinal(node.status)) this.unfinished.delete(name);
    else this.unfinished.add(name);
    if (from === to) return;
    const tally = { ...this.tally };
    if (from !== null) tally[from] -= 1;
    if (to !== null) tally[to] += 1;
    this.tally = tally;
    if (to === 'ready') this.#readyQueue.push(name);
  }

  /** A server that was restarted takes it up again; how long its nodes have run by then, only stored times tell. */
  resume(now: number, monotonicMs: number, graceMs: number): void {
    this.graceUntilMs = monotonicMs + graceMs;
    for (const name of this.unfinished) {
      const node = this.nodes.get(name);
      if (node?.status !== 'running') continue;
      const ranMs = Math.max(0, now - (node.startedAt ?? this.updatedAt));
      this.runningSinceMs.set(name, monotonicMs - ranMs);
    }
  }

  /** Takes the next node that is still ready and waiting for its start. */
  nextReady(): string | undefined {
    while (this.#taken < this.#readyQueue.length) {
      const name = this.#readyQueue[this.#taken];
      this.#taken += 1;
      const node = name === undefined ? undefined : this.nodes.get(name);
      if (node?.status === 'ready' && !node.starting) return name;
    }
    this.#readyQueue = [];
    this.#taken = 0;
    return undefined;
  }

  cancelTimers(): void {
    const { deadlineTimer, wakeTimer, ackTimer, nodeTimer, waitTimer, voteTimer } = this;
    for (const timer of [deadlineTimer, wakeTimer, ackTimer, nodeTimer, waitTimer, voteTimer]) timer?.cancel();
    this.deadlineTimer = this.wakeTimer = this.ackTimer = this.nodeTimer = this.waitTimer = this.voteTimer = null;
  }
}

function withoutSecrets({ runbook, ...spec }: PushJobSpec): PushJobSpec {
  if (runbook === undefined) return spec;
  const { sealed: _, ...mark } = runbook;
  return { ...spec, runbook: mark };
}
