import type { Identity, Organization } from '@muster/platform/auth';
import type { NodeConfiguration } from '@muster/wire';
import type { Aspects } from './aspects.js';
import type { ConfigurationRequest } from './discovery.js';
import type { HistoryEntry } from './history.js';
import type { KnownNode } from './known-node.js';
import type { Explanation } from './why.js';

/** What the routes ask of the nodes layer. */
export interface Inventory {
  readonly spec1: boolean;
  readonly aspects: Aspects;
  get(orgId: string, name: string): KnownNode | undefined;
  list(orgId: string): readonly KnownNode[];
  search(orgId: string, query: string): readonly KnownNode[];
  why(node: KnownNode): Promise<Explanation>;
  history(node: KnownNode, after: number, limit: number): Promise<readonly HistoryEntry[]>;
  configure(request: ConfigurationRequest): Promise<NodeConfiguration>;
  remove(org: Organization, name: string, force: boolean, by: Identity): Promise<void>;
}
