import type { NodeState } from '../../api.js';
import type { Client } from '../../client.js';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** `GET …/nodes/NODE`. */
export interface NodeDetail extends NodeState {
  readonly dialect: string | null;
  readonly incarnation: string | null;
  readonly last_end: string | null;
  readonly facts: Attributes;
  readonly labels: Attributes;
  /** What its owner allows; absent: it does not tell. */
  readonly commands?: {
    readonly list: readonly { readonly name: string; readonly pattern: string | null }[];
    readonly omitted: number;
    readonly any: boolean;
    readonly scripts: 'any' | 'signed' | 'none';
    readonly uploads: boolean;
    readonly fetches: boolean;
  };
}

export interface SearchResult {
  readonly total: number;
  readonly nodes: readonly NodeDetail[];
}

const PAGE = 1000;

/** All nodes, or those that a query selects, by their names. */
export async function* everyNode(client: Client, q?: string): AsyncGenerator<NodeDetail> {
  for (let after: string | undefined; ; ) {
    const { nodes } = await client.get<SearchResult>(client.inOrg('nodes'), { q, after, limit: PAGE });
    yield* nodes;
    after = nodes.at(-1)?.node_name;
    if (nodes.length < PAGE) return;
  }
}

/** A label hides a fact of its name, as in queries. */
export function attributesOf({ facts, labels }: NodeDetail): Attributes {
  return { ...facts, ...labels };
}
