import type { Answer, Api } from '../api/client.js';
import type { ListedNode } from './fleet.js';

/** Largest page of nodes. */
const PAGE = 20_000;

/** All nodes of an organization, however many pages they are. What changes meanwhile comes after the position of the first. */
export async function readNodes(api: Pick<Api, 'get'>, signal?: AbortSignal): Promise<Answer<readonly ListedNode[]>> {
  const read = (after?: string) =>
    api.get<{ readonly nodes: readonly ListedNode[] }>('/nodes', { limit: PAGE, after }, signal);
  const first = await read();
  const nodes = [...first.body.nodes];
  for (let last = nodes; last.length === PAGE; ) {
    last = [...(await read(nodes.at(-1)?.node_name)).body.nodes];
    for (const node of last) nodes.push(node);
  }
  return { ...first, body: nodes };
}
