import { NODE_PAGE, NodeParams, type NodeRegistry, type NodeView, nodeNamed, nodePage, OrgParams } from '@muster/nodes';
import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import type { OwnedNode } from './owned-node.js';
import { NodeState, nodeState } from './view.js';

export interface NodeStateDeps {
  readonly nodes: Pick<NodeRegistry, 'get' | 'list'>;
  owned(node: NodeView): OwnedNode;
}

/** Node states (Push Jobs §6.5, §6.6). */
export function nodeStateRoutes(app: App, { nodes, owned }: NodeStateDeps): void {
  app.get(
    '/organizations/:org/pushy/node_states',
    {
      config: { permission: 'node:read' },
      schema: {
        tags: ['nodes'],
        operationId: 'listNodeStates',
        summary: 'Status of every known node',
        params: OrgParams,
        querystring: Type.Object(NODE_PAGE, { additionalProperties: false }),
        response: { 200: Type.Array(NodeState) },
      },
    },
    async (request) => {
      const { after, limit } = request.query;
      return nodePage(nodes.list(request.organization.id), after, limit).map((node) => nodeState(owned(node)));
    },
  );

  app.get(
    '/organizations/:org/pushy/node_states/:node',
    {
      config: { permission: 'node:read' },
      schema: {
        tags: ['nodes'],
        operationId: 'getNodeState',
        summary: 'Status of one node',
        params: NodeParams,
        response: { 200: NodeState },
      },
    },
    async (request) => nodeState(owned(nodeNamed(nodes, request.organization, request.params.node))),
  );
}
