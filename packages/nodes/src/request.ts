import type { Organization } from '@muster/platform/auth';
import { Type } from 'typebox';
import { MusterError } from './errors.js';
import { NODE_LIMITS } from './limits.js';
import type { NodeView } from './types.js';

/** How requests about nodes name them, for the routes of every layer. */

const ORG = { org: Type.String({ maxLength: 255 }) };
export const OrgParams = Type.Object(ORG);
export const NodeParams = Type.Object({ ...ORG, node: Type.String({ minLength: 1, maxLength: 255 }) });

export const NODE_PAGE = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: NODE_LIMITS.maxPage })),
  after: Type.Optional(
    Type.String({ maxLength: 255, description: 'Name of a node: only those that come after it in the list' }),
  ),
};

interface NodesByName<Node> {
  get(orgId: string, name: string): Node | undefined;
}

/** @throws MusterError `not_found`. */
export function nodeNamed<Node extends NodeView>(nodes: NodesByName<Node>, org: Organization, name: string): Node {
  const node = nodes.get(org.id, name);
  if (node === undefined) throw new MusterError('not_found', { kind: 'node', name });
  return node;
}

/** Nodes come sorted by name. @param reversed The last ones first; `after` is then the name before which they are. */
export function nodePage<Node extends NodeView>(
  all: readonly Node[],
  after: string | undefined,
  limit: number | undefined,
  reversed = false,
): readonly Node[] {
  if (reversed) {
    const before = after === undefined ? all : all.filter((node) => node.name < after);
    return before.slice(limit === undefined ? 0 : Math.max(0, before.length - limit)).reverse();
  }
  const rest = after === undefined ? all : all.filter((node) => node.name > after);
  return limit === undefined ? rest : rest.slice(0, limit);
}
