import type { Host, Link } from '../kernel/tcp/host.js';
import type { ClientProcess } from './client-process.js';
import type { DurableReader } from './durable-reader.js';
import type { Outage } from './losses.js';
import type { ClientPlan, NodePlan } from './plan.js';
import type { RelayProcess } from './relay-process.js';

/** A relay's or client's place in the tree: it stays while processes come and go. */
export interface Place {
  readonly host: Host;
  readonly link: Link;
  /** Of places right below the root: when they heard nothing from it. */
  readonly outages: Outage[];
  dialedMs: number;
  lives: number;
}

export interface RelayPlace extends Place {
  readonly plan: NodePlan;
  relay: RelayProcess | null;
}

export interface ClientPlace extends Place {
  readonly plan: ClientPlan;
  /** Its durable subscriptions: they outlive its programs. */
  readonly durables: Set<DurableReader>;
  client: ClientProcess | null;
}
