import { NodeParams, type NodeRegistry, nodeNamed } from '@muster/nodes';
import { AUTH_LIMITS, type Auth, grantedTo, type Identity, type NodeGroup } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import type {} from '../rights.js';

export interface WhoRoutesDeps {
  readonly nodes: Pick<NodeRegistry, 'get'>;
  readonly auth: Pick<Auth, 'authorize' | 'nodeGroups' | 'organizations' | 'repository'>;
}

const Who = Type.Object({
  node_name: Type.String(),
  restricted_by: Type.Array(Type.String(), { description: 'Node groups with grants that it is in' }),
  principals: Type.Array(
    Type.Object({
      kind: Type.Union([Type.Literal('user'), Type.Literal('service')]),
      name: Type.String(),
      may: Type.Boolean(),
      why: Type.String({ description: 'For people' }),
    }),
  ),
});

const WhoQuery = Type.Object(
  { name: Type.Optional(Type.String({ maxLength: 255, description: 'Only who is called so' })) },
  { additionalProperties: false },
);

/** Who may run commands on a node, and why. What its owner allows there is another question. */
export function whoRoutes(app: App, { nodes, auth }: WhoRoutesDeps): void {
  app.get(
    '/organizations/:org/nodes/:node/who',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags: ['nodes'],
        operationId: 'whoMayRunOnNode',
        summary: 'Who may run commands on a node, and why',
        description: `Users and services of the organization by name, the first ${AUTH_LIMITS.peopleShown}.`,
        params: NodeParams,
        querystring: WhoQuery,
        response: { 200: Who },
      },
    },
    async ({ organization, params: { node }, query: { name } }) => {
      nodeNamed(nodes, organization, node);
      const [restricting, groups, people] = await Promise.all([
        auth.nodeGroups.restricting(organization, node),
        auth.repository.groups(organization.id),
        auth.organizations.people(organization.id, AUTH_LIMITS.peopleShown, { name }),
      ]);
      const principals = [];
      for (const identity of people) {
        const granted = grantedTo(identity, { groups, nodeGroups: restricting });
        const writes = await auth.authorize(identity, organization, 'push:write');
        principals.push({
          kind: identity.type === 'service' ? ('service' as const) : ('user' as const),
          name: identity.name,
          ...verdict(identity, node, restricting, granted, writes),
        });
      }
      return { node_name: node, restricted_by: restricting.map((group) => group.name), principals };
    },
  );
}

/** By the rule of `deniedNodes`, with its reason. */
export function verdict(
  { name }: Pick<Identity, 'name'>,
  node: string,
  restricting: readonly Pick<NodeGroup, 'name'>[],
  granted: readonly string[],
  writes: boolean,
): { readonly may: boolean; readonly why: string } {
  const groups = restricting.map((group) => group.name).join(', ');
  if (granted.length > 0) {
    return {
      may: true,
      why: `${name} may run commands on ${node}: by a grant on the node group ${granted.join(', ')}.`,
    };
  }
  if (restricting.length > 0) {
    const why = `commands on it are for those who have a grant on the node group ${groups}`;
    return { may: false, why: `${name} may not run commands on ${node}: ${why}.` };
  }
  if (writes) {
    const why = 'by push:write, and no node group with grants has the node';
    return { may: true, why: `${name} may run commands on ${node}: ${why}.` };
  }
  const why = 'push:write is missing, and no node group with grants has the node';
  return { may: false, why: `${name} may not run commands on ${node}: ${why}.` };
}
