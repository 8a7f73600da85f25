/** What a server says about execution systems of jobs that are on a node. */

/** Server to agent. */
export interface SystemOrder {
  /**
   * A worker wants files and programs of the node, below `root`. The agent connects a helper to the server as
   * `/organizations/ORG/nodes/NODE/systems/SESSION`, or says there why not. Native only.
   */
  readonly type: 'system_open';
  /** 32 digits of 0-9 and a-f: whom the connection is for. Good once. */
  readonly session: string;
  /** What the system is called. */
  readonly system: string;
  /** Absolute path. */
  readonly root: string;
}
