import type { Duplex } from 'node:stream';
import type { System } from '../types.js';

/** Ways to nodes: what the process that speaks to agents has. */
export interface AgentReach {
  /**
   * A connection to a helper on the node of a system. A node that is away is waited for, for a while.
   * @throws SystemTrouble
   */
  open(system: AgentSystem): Promise<Duplex>;
}

/** A system that is reached by the agent of a node. */
export type AgentSystem = Pick<System, 'orgId' | 'name' | 'node' | 'root' | 'environment'>;
