import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { grantedTo, groupsOf, holdingsOf } from '../auth/holdings.js';
import { AUTH_LIMITS } from '../auth/limits.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { holdingView } from './views.js';

const Person = Type.Object({
  kind: Type.Union([Type.Literal('user'), Type.Literal('service')]),
  name: Type.String(),
  server_admin: Type.Boolean(),
  groups: Type.Array(Type.String(), { description: 'That name them' }),
  node_groups: Type.Array(Type.String(), { description: 'With a grant that they have, also through groups' }),
  permissions: Type.Array(schemas.HoldingAnswer, {
    description: 'What they may do whatever a route names; a node, a queue or a job may allow more',
  }),
});

const AccessQuery = Type.Object(
  { name: Type.Optional(Type.String({ maxLength: 255, description: 'Only who is called so' })) },
  { additionalProperties: false },
);

/** Who may do what, and what gives it to them. */
export function accessRoutes(app: App, auth: Auth): void {
  app.get(
    '/organizations/:org/access',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags: ['groups'],
        operationId: 'listAccess',
        summary: 'Who may do what, and by which group or grant',
        description: `Users and services of the organization by name, the first ${AUTH_LIMITS.peopleShown}.`,
        params: schemas.OrgParams,
        querystring: AccessQuery,
        response: { 200: Type.Array(Person) },
      },
    },
    async ({ organization: { id }, query: { name } }) => {
      const [people, groups, nodeGroups] = await Promise.all([
        auth.organizations.people(id, AUTH_LIMITS.peopleShown, { name }),
        auth.repository.groups(id),
        auth.repository.nodeGroups(id),
      ]);
      const table = { groups, nodeGroups };
      return people.map((identity) => ({
        kind: identity.type === 'service' ? ('service' as const) : ('user' as const),
        name: identity.name,
        server_admin: identity.serverAdmin,
        groups: [...groupsOf(identity, groups)],
        node_groups: [...grantedTo(identity, table)],
        permissions: holdingsOf(auth.rights, identity, table).map(holdingView),
      }));
    },
  );
}
