import { type App, fieldsParameter, listedFields, sortParameter } from '@muster/platform/http';
import { formatIso } from '@muster/wire';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { readCurveKey } from './configuration.js';
import { MusterError } from './errors.js';
import type { Inventory } from './inventory.js';
import type { KnownNode } from './known-node.js';
import { NODE_LIMITS } from './limits.js';
import { NODE_PAGE, NodeParams, nodeNamed, nodePage, OrgParams } from './request.js';
import { Configuration, History, nodeDetailSchema, Why } from './schemas.js';
import { nodeDetail } from './view.js';

const strict = { additionalProperties: false } as const;
/** Open: deployed clients may send more. */
const ConfigQuery = Type.Object({
  ccpk: Type.Optional(Type.String({ description: 'CURVE public key of the caller, Z85' })),
  server_key: Type.Optional(
    Type.String({ maxLength: 64, description: 'Fingerprint of the server’s key that the node knows' }),
  ),
  version: Type.Optional(Type.String({ maxLength: 32, description: '`3.0` for Muster agents' })),
});

/** HTTP of the nodes layer: discovery (sheet §2), and our own node routes. */
export function nodeRoutes(app: App, nodes: Inventory): void {
  configurationRoutes(app, nodes);
  inventoryRoutes(app, nodes);
}

function configurationRoutes(app: App, nodes: Inventory): void {
  // N2: the deployed path and the spec's. Without a CURVE key the latter means the spec's own, unencrypted sockets.
  for (const [path, plainAllowed] of [
    ['config', false],
    ['connect', nodes.spec1],
  ] as const) {
    const checkKey = (request: FastifyRequest): void => {
      readCurveKey(ccpkOf(request.query), plainAllowed);
    };
    app.get(
      `/organizations/:org/pushy/${path}/:node`,
      {
        config: { permission: 'node:self', beforeAuth: checkKey, unsignedQuery: ['ccpk', 'version'] },
        schema: {
          tags: ['nodes'],
          summary: 'Configuration of a node: addresses, keys and thresholds',
          params: NodeParams,
          querystring: ConfigQuery,
          response: { 200: Configuration },
        },
      },
      async (request) => {
        const { caller } = request;
        const { node } = request.params;
        if (caller.type !== 'user' && caller.name !== node) throw new MusterError('node_name_mismatch');
        if (caller.type === 'node' && nodes.get(request.organization.id, node)?.via === 'ssh')
          throw new MusterError('node_without_agent', { name: node });
        return nodes.configure({
          org: request.organization,
          node,
          caller,
          curveKey: readCurveKey(request.query.ccpk, plainAllowed),
          version: request.query.version,
          knownKey: request.query.server_key,
        });
      },
    );
  }
}

function inventoryRoutes(app: App, nodes: Inventory): void {
  const NodeDetail = nodeDetailSchema(nodes.aspects.fields);
  const fields = listedFields(NodeDetail, 'nodes');
  const detail = (node: KnownNode) => nodeDetail(node, nodes.aspects);

  app.get(
    '/organizations/:org/nodes',
    {
      config: { permission: 'node:read', fields },
      schema: {
        tags: ['nodes'],
        operationId: 'listNodes',
        summary: 'Nodes that match a search, with facts and labels',
        params: OrgParams,
        querystring: Type.Object(
          {
            ...NODE_PAGE,
            q: Type.Optional(Type.String({ maxLength: NODE_LIMITS.query, description: 'Selector or `role:web`' })),
            ...fieldsParameter(fields),
            ...sortParameter(['node_name'], 'node_name'),
          },
          strict,
        ),
        response: { 200: Type.Object({ total: Type.Integer(), nodes: Type.Array(NodeDetail) }) },
      },
    },
    async (request) => {
      const { q, after, limit = NODE_LIMITS.page, sort } = request.query;
      const { id } = request.organization;
      const matching = q === undefined ? nodes.list(id) : nodes.search(id, q);
      return { total: matching.length, nodes: nodePage(matching, after, limit, sort === '-node_name').map(detail) };
    },
  );

  app.get(
    '/organizations/:org/nodes/:node',
    {
      config: { permission: 'node:read' },
      schema: {
        tags: ['nodes'],
        operationId: 'getNode',
        summary: 'Everything known of one node',
        params: NodeParams,
        response: { 200: NodeDetail },
      },
    },
    async (request) => detail(nodeNamed(nodes, request.organization, request.params.node)),
  );

  app.get(
    '/organizations/:org/nodes/:node/why',
    {
      config: { permission: 'node:read' },
      schema: {
        tags: ['nodes'],
        operationId: 'whyNode',
        summary: 'Why a node is, or is not, available for jobs',
        params: NodeParams,
        response: { 200: Why },
      },
    },
    async (request) => nodes.why(nodeNamed(nodes, request.organization, request.params.node)),
  );

  app.get(
    '/organizations/:org/nodes/:node/history',
    {
      config: { permission: 'node:read' },
      schema: {
        tags: ['nodes'],
        operationId: 'getNodeHistory',
        summary: 'What changed of the facts and labels of a node, as long as events are kept',
        params: NodeParams,
        querystring: Type.Object(
          {
            after: Type.Optional(Type.Integer({ minimum: 0, description: 'Only what comes after this position' })),
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: NODE_LIMITS.historyPage })),
          },
          strict,
        ),
        response: { 200: History },
      },
    },
    async (request) => {
      const { after = 0, limit = NODE_LIMITS.historyPage } = request.query;
      const entries = await nodes.history(nodeNamed(nodes, request.organization, request.params.node), after, limit);
      return entries.map(({ at, changes, ...entry }) => ({ ...entry, at: formatIso(at), changes: [...changes] }));
    },
  );

  app.delete(
    '/organizations/:org/nodes/:node',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags: ['nodes'],
        operationId: 'deleteNode',
        summary: 'Delete a node and its keys',
        params: NodeParams,
        querystring: Type.Object(
          { force: Type.Optional(Type.Boolean({ description: 'Also while a job owns it' })) },
          strict,
        ),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { params, query, caller, organization } = request;
      await nodes.remove(organization, params.node, query.force ?? false, caller);
      return reply.code(204).send(null);
    },
  );
}

/** Before validation, so a repeated parameter may still be a list: that is no key. */
function ccpkOf(query: unknown): string | undefined {
  if (typeof query !== 'object' || query === null || !('ccpk' in query)) return undefined;
  return typeof query.ccpk === 'string' ? query.ccpk : '';
}
