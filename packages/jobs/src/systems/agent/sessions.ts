import type { Duplex } from 'node:stream';
import type { Clock } from '@muster/base';
import type { NodeRegistry, NodeView } from '@muster/nodes';
import type { RandomBytes } from '@muster/platform/auth';
import type { Admission } from '@muster/platform/http';
import { SYSTEM_LIMITS } from '../limits.js';
import { SystemTrouble, type TroubleKind } from '../types.js';
import type { AgentReach, AgentSystem } from './types.js';

export interface AgentSessionsDeps {
  readonly nodes: Pick<NodeRegistry, 'get' | 'reach' | 'listen'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly random: RandomBytes;
}

/** A connection that an agent was asked for, and that is not there yet. */
interface Awaited {
  readonly system: AgentSystem;
  /** On what the agent was let in that brings the connection; null: none was yet. */
  admission: Admission | null;
  ask(): void;
  connected(connection: Duplex): void;
  failed(trouble: SystemTrouble): void;
}

/** At one time. Workers open one for each system. */
const MOST_AWAITED = 1000;

/** Asks agents for connections to their nodes, on the command channel, and takes those that come over HTTP. */
export class AgentSessions implements AgentReach {
  readonly #deps: AgentSessionsDeps;
  readonly #awaited = new Map<string, Awaited>();

  constructor(deps: AgentSessionsDeps) {
    this.#deps = deps;
    // What was said to an agent that has gone meanwhile is lost, and nobody tells.
    const again = (node: NodeView): void => {
      for (const awaited of this.#awaited.values()) if (isOn(awaited.system, node)) awaited.ask();
    };
    deps.nodes.listen({ up: again, reconnected: again });
  }

  async open(system: AgentSystem): Promise<Duplex> {
    const { nodes, clock, random } = this.#deps;
    const { orgId, name, node = '', root } = system;
    const known = nodes.get(orgId, node);
    if (known === undefined) throw failure(system, 'CONNECTION_FAILURE', `there is no node '${node}'`);
    if (known.dialect !== null && known.dialect !== 'native') {
      throw failure(system, 'CONNECTION_FAILURE', `node ${node} runs another agent than that of Muster`);
    }
    if (this.#awaited.size >= MOST_AWAITED) throw failure(system, 'CONNECTION_FAILURE', 'too many are opened at once');
    const session = Buffer.from(random(16)).toString('hex');
    return new Promise((resolve, reject) => {
      const settle = (how: () => void): void => {
        timer.cancel();
        this.#awaited.delete(session);
        how();
      };
      const timer = clock.after(SYSTEM_LIMITS.connectMs, () => settle(() => reject(this.#silent(system))));
      const awaited: Awaited = {
        system,
        admission: null,
        ask: () => {
          const now = nodes.get(orgId, node);
          if (now !== undefined) nodes.reach([now], { type: 'system_open', session, system: name, root });
        },
        connected: (connection) => settle(() => resolve(connection)),
        failed: (trouble) => settle(() => reject(trouble)),
      };
      this.#awaited.set(session, awaited);
      awaited.ask();
    });
  }

  /** The system that a connection of this node is awaited for; null: none is. */
  awaited(orgId: string, node: string, session: string): AgentSystem | null {
    const found = this.#awaited.get(session);
    return found !== undefined && isOn(found.system, { org: { id: orgId }, name: node }) ? found.system : null;
  }

  /** An agent was let in that will bring a connection: it ends when the right is gone, as with the node's key. */
  admit(session: string, admission: Admission): void {
    const found = this.#awaited.get(session);
    if (found !== undefined) found.admission = admission;
  }

  /** False: nobody waits for it any more. */
  connect(session: string, connection: Duplex): boolean {
    const found = this.#awaited.get(session);
    if (found === undefined) return false;
    const unwatch = found.admission?.watch(() => connection.destroy());
    if (unwatch !== undefined) connection.once('close', unwatch);
    found.connected(connection);
    return true;
  }

  /** The node's owner does not allow it, or it cannot be done there. */
  refuse(session: string, reason: string): void {
    const found = this.#awaited.get(session);
    found?.failed(failure(found.system, 'AUTHENTICATION_FAILED', `node ${found.system.node} refuses: ${reason}`));
  }

  async stop(): Promise<void> {
    for (const { system, failed } of this.#awaited.values()) {
      failed(failure(system, 'CONNECTION_FAILURE', 'the server stops'));
    }
  }

  #silent(system: AgentSystem): SystemTrouble {
    const { orgId, node = '' } = system;
    const found = this.#deps.nodes.get(orgId, node);
    if (found?.status !== 'up') return failure(system, 'CONNECTION_FAILURE', `node ${node} is down`);
    const text = `the agent of node ${node} made no connection in ${SYSTEM_LIMITS.connectMs} ms`;
    return failure(system, 'CONNECTION_TIMEOUT', text);
  }
}

function isOn(
  { orgId, node }: AgentSystem,
  view: { readonly org: { readonly id: string }; readonly name: string },
): boolean {
  return orgId === view.org.id && node === view.name;
}

function failure({ name }: AgentSystem, kind: TroubleKind, why: string): SystemTrouble {
  return new SystemTrouble(name, kind, `system ${name} is not reached: ${why}`);
}
