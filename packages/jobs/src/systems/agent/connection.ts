import type { Connection } from '../types.js';
import { Asking } from './ask.js';
import { agentExec } from './exec.js';
import { AgentFiles } from './files.js';
import { AgentLink, type AgentLinkOptions } from './link.js';
import type { AgentReach, AgentSystem } from './types.js';
import { agentWatch } from './watch.js';

export interface AgentConnection extends Connection {
  /** Nobody uses it, and nothing is open. */
  readonly resting: boolean;
  close(): void;
}

/** A node as a system: commands and files of the user that its owner named, reached by its agent. */
export function agentConnection(system: AgentSystem, reach: AgentReach, options: AgentLinkOptions): AgentConnection {
  const link = new AgentLink(system, reach, options);
  const asking = new Asking(system.name, link, options.clock);
  return {
    files: new AgentFiles(asking),
    exec: agentExec(asking, system.environment ?? {}),
    watch: agentWatch(asking, options.clock),
    get resting() {
      return link.resting;
    },
    close: () => link.close(),
  };
}
