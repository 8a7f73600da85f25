import type { ParsedPair } from '../kernel/keys.js';
import type { Path } from '../kernel/zeromq/sides.js';
import type { AgentProcess } from './agent-process.js';
import type { ChefProcess } from './chef-process.js';
import type { MachineRoom } from './machine-room.js';
import type { NodePlan, ServerPlan } from './scenario.js';
import type { ServerProcess } from './server-process.js';

/** A node's place in the world: what stays while its agents come and go. */
export interface NodePlace {
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

/** A machine on which a server may run; its processes come and go. */
export interface ServerPlace {
  readonly plan: ServerPlan;
  server: ServerProcess | null;
  /** What its clock is ahead. */
  skewMs: number;
  /** Since when its server watches without a break, by a clock that was not set. */
  attentiveFrom: number;
}
