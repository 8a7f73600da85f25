import type { AgentSide, ServerSide } from './sides.js';

/** One established connection: ordered both ways unless the path says otherwise. */
export class Connection {
  readonly identity: Buffer;
  readonly server: ServerSide;
  readonly agent: AgentSide;
  /** Each side knows by itself whether it is still there. */
  serverOpen = true;
  agentOpen = true;
  upAt = 0;
  downAt = 0;
  held: (() => void)[] = [];

  constructor(identity: Buffer, server: ServerSide, agent: AgentSide) {
    this.identity = identity;
    this.server = server;
    this.agent = agent;
  }
}
