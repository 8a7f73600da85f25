import type { TaskNodeView } from '../../ports.js';
import { type Dialect, oid } from '../dialect.js';
import { updateResult } from '../envelopes.js';
import { answer, byWhom, type DisbatchDeps, type DisbatchRoute, findNode } from '../interface.js';
import { countOf, parametersIn } from '../parameters.js';
import { Refusal } from '../refusal.js';

/** GET and POST of nodes (sheet §4B). */
export function nodeRoutes(deps: DisbatchDeps): readonly DisbatchRoute[] {
  const { controller, settings } = deps;
  const { dialect } = settings;
  return [
    {
      method: 'GET',
      path: '/nodes',
      permission: 'task:read',
      operationId: 'disbatchListNodes',
      summary: 'Nodes, by name',
      handle: ({ organization }) => {
        const nodes = [...controller.nodes(organization.id)].sort((left, right) => (left.node < right.node ? -1 : 1));
        return answer(nodes.map((node) => shownNode(dialect, node)));
      },
    },
    {
      method: 'GET',
      path: '/nodes/:node',
      permission: 'task:read',
      operationId: 'disbatchGetNode',
      summary: 'One node, by id or name',
      handle: (call) => {
        const name = call.named.node ?? '';
        const node = findNode(deps, call, name);
        if (node === undefined) throw new Refusal(`Could not get node ${name}: there is no such node`);
        return answer(shownNode(dialect, node));
      },
    },
    {
      method: 'POST',
      path: '/nodes/:node',
      permission: 'task:write',
      operationId: 'disbatchSetNode',
      summary: 'Set how many tasks a node runs at most, or null',
      handle: async (call) => {
        const said = parametersIn(call.said);
        const names = Object.keys(said);
        if (names.length === 0) throw new Refusal('No params');
        const unknown = names.find((name) => name !== 'maxthreads');
        if (unknown !== undefined) throw new Refusal({ error: 'Invalid param', param: unknown });
        const maxthreads = said.maxthreads === null ? null : countOf(said.maxthreads);
        if (maxthreads === undefined) throw new Refusal('maxthreads must be a non-negative integer or null');
        const node = findNode(deps, call, call.named.node ?? '');
        if (node === undefined) throw new Refusal({ ...updateResult(0, 0), error: updateResult(0, 0) });
        const by = byWhom(deps, call, { action: 'node.maxthreads', target: node.node, detail: { maxthreads } });
        const changed = await controller.setNode(call.organization, node.node, { maxthreads }, by);
        return answer(updateResult(1, changed ? 1 : 0));
      },
    },
  ];
}

function shownNode(dialect: Dialect, { id, node, seenAt, maxthreads, live }: TaskNodeView) {
  return {
    _id: oid(dialect, id),
    id,
    node,
    timestamp: Math.floor(seenAt),
    maxthreads,
    ...(dialect === '4.4' && { live }),
  };
}
