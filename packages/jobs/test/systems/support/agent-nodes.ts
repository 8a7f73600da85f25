import { ManualClock } from '@muster/base';
import type { NodeListener, NodeView } from '@muster/nodes';
import type { ServerMessage } from '@muster/wire';
import { AgentSessions } from '../../../src/systems/agent/sessions.js';

export type Asked = Extract<ServerMessage, { type: 'system_open' }>;

/** One organization with the nodes that are in it, and what was said to those that have a connection. */
export class PlayedNodes {
  org = 'o';
  readonly asked: Asked[] = [];
  readonly #nodes = new Map<string, Pick<NodeView, 'name' | 'status' | 'dialect'>>();
  readonly #listeners: Partial<NodeListener>[] = [];
  reachable = true;

  is(name: string, status: 'up' | 'down', dialect: NodeView['dialect'] = 'native'): void {
    this.#nodes.set(name, { name, status, dialect });
  }

  comes(name: string, how: 'up' | 'reconnected' = 'up'): void {
    this.is(name, 'up');
    const node = this.get(this.org, name);
    if (node === undefined) throw new Error('it is there');
    for (const listener of this.#listeners) listener[how]?.(node);
  }

  get(orgId: string, name: string): NodeView | undefined {
    const node = this.#nodes.get(name);
    if (node === undefined || orgId !== this.org) return undefined;
    // Of a node nothing else is looked at.
    return { ...node, org: { id: orgId, name: orgId } } as NodeView;
  }

  reach(nodes: readonly NodeView[], message: ServerMessage): readonly NodeView[] {
    if (!this.reachable) return [];
    if (message.type === 'system_open') this.asked.push(message);
    return nodes;
  }

  listen(listener: Partial<NodeListener>): void {
    this.#listeners.push(listener);
  }
}

export const random = (size: number): Uint8Array => crypto.getRandomValues(new Uint8Array(size));

export function played(): { nodes: PlayedNodes; clock: ManualClock; sessions: AgentSessions; asked: () => Asked } {
  const nodes = new PlayedNodes();
  const clock = new ManualClock();
  nodes.is('web1', 'up');
  const asked = (): Asked => {
    const last = nodes.asked.at(-1);
    if (last === undefined) throw new Error('nothing was asked');
    return last;
  };
  return { nodes, clock, sessions: new AgentSessions({ nodes, clock, random }), asked };
}
