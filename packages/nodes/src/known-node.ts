import type { Organization } from '@muster/platform/auth';
import type { AgentState, Dialect, DropCause, Facts, Labels } from '@muster/wire';
import { type Liveness, neverHeard } from './machine.js';
import type { Sessions } from './sessions.js';
import { newSessions } from './sessions.js';
import type { Peer } from './transport.js';
import type { NodeView } from './types.js';

/** What `node why` looks at. Fixed in size, kept in memory only, written by verified requests and existing nodes only. */
export interface Diagnostics {
  /** Last configuration request that was answered. */
  configuredAt: number | null;
  /** Last configuration or other request that was refused, and the error's code. */
  refused: { readonly at: number; readonly code: string } | null;
  /** Until when the node's CURVE key may connect. */
  admittedUntil: number | null;
  /** Handshakes refused because the admission had expired. */
  handshakesRefused: number;
  /** Last message in this node's name that was dropped. */
  dropped: { readonly at: number; readonly cause: DropCause } | null;
}

/** One node as this process knows it: a live `NodeView`, and what the server needs to reach it. */
export class KnownNode implements NodeView {
  readonly org: Organization;
  readonly name: string;
  readonly createdAt: number;

  via: NodeView['via'] = 'agent';
  liveness: Liveness = neverHeard;
  statusAt: number;
  incarnation: string | null = null;
  lastEnd: NodeView['lastEnd'] = null;
  dialect: Dialect | null = null;
  keyFingerprint: string | null = null;
  facts: Facts = {};
  labels: Labels = {};
  heardAt: number | null = null;
  state: AgentState | null = null;

  /** Set when the key that asks for configuration changed: the next incarnation is a reinstalled node. */
  reinstalled = false;
  /** When its agent said that it stops; null once it is heard again. */
  stoppedAt: number | null = null;
  /** No longer in the registry: nothing of it is stored any more. */
  removed = false;
  /** Why one without an agent is down, as of now: the server itself reaches for it. */
  whyUnreached: (() => string) | null = null;
  peer: Peer | null = null;
  curveKey: string | null = null;
  readonly sessions: Sessions = newSessions();
  readonly diagnostics: Diagnostics = {
    configuredAt: null,
    refused: null,
    admittedUntil: null,
    handshakesRefused: 0,
    dropped: null,
  };

  #reason = 'never seen';

  constructor(org: Organization, name: string, createdAt: number) {
    this.org = org;
    this.name = name;
    this.createdAt = createdAt;
    this.statusAt = createdAt;
  }

  get status(): 'up' | 'down' {
    return this.liveness.status;
  }

  get reason(): string {
    return (this.status === 'down' ? this.whyUnreached?.() : undefined) ?? this.#reason;
  }

  /** Of its present status. */
  set reason(reason: string) {
    this.#reason = reason;
  }
}
