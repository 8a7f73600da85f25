import type { AgentProcess } from './agent-process.js';
import type { ChefProcess } from './chef-process.js';
import type { ParsedPair } from './keys.js';
import type { MachineRoom } from './machine-room.js';
import type { Path } from './network.js';
import type { NodePlan } from './scenario.js';

/** A node's place in the world: what stays while its agents come and go. */
export interface Place {
  readonly plan: NodePlan;
  readonly room: MachineRoom;
  readonly path: Path;
  keys: ParsedPair;
  /** What its clock is ahead. */
  skewMs: number;
  agent: AgentProcess | ChefProcess | null;
  /** When it last could have been heard. */
  audibleAt: number;
  /** A clean stop is under way. */
  stopping: boolean;
}
