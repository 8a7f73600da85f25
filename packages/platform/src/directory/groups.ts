import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Auth } from '../auth/auth.js';
import type { GroupView, MemberLists } from '../auth/groups.js';
import type { NodeGroupView } from '../auth/node-groups.js';
import { actorOf } from '../auth/types.js';
import { unknownNames } from '../auth/unknown-names.js';
import { MusterError } from '../errors.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';

const tags = ['groups'];

function members({ users = [], clients = [], groups = [] }: Static<typeof schemas.MembersBody>): MemberLists {
  return { users, clients, groups };
}

/** PUT creates a group, so its name is checked as a body's would be. */
function checkName(name: string): void {
  if (Value.Check(schemas.GroupName, name)) return;
  throw new MusterError('invalid_field', { field: 'name', reason: 'use letters, digits and _ . -' });
}

/** Groups of principals: roles are groups (sheet §7.3, N14). */
export function groupRoutes(app: App, auth: Auth): void {
  app.get(
    '/organizations/:org/groups',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listGroups',
        summary: 'Groups and their members',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.GroupAnswer) },
      },
    },
    async (request) => (await auth.groups.list(request.organization.id)).map(groupAnswer),
  );

  app.get(
    '/organizations/:org/groups/:name',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'getGroup',
        summary: 'A group and its members',
        params: schemas.OrgNameParams,
        response: { 200: schemas.GroupAnswer },
      },
    },
    async (request) => groupAnswer(await auth.groups.get(request.organization.id, request.params.name)),
  );

  app.put(
    '/organizations/:org/groups/:name',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'putGroup',
        summary: 'Create a group or replace its members',
        description:
          'A name that is nearly a role’s is refused (`group_name_unlikely`) unless `force` is true: such a group gives nobody anything.',
        params: schemas.OrgNameParams,
        querystring: schemas.GroupQuery,
        body: schemas.GroupBody,
        response: { 200: schemas.StoredGroupAnswer },
      },
    },
    async ({ organization, params, query, body, caller }) => {
      checkName(params.name);
      const content = { ...members(body), exclusive: body.exclusive, force: query.force };
      const stored = await auth.groups.put(organization, params.name, content, actorOf(caller));
      const unknown = await unknownNames(auth.repository, organization.id, stored);
      return { ...groupAnswer(stored), unknown: membersAnswer(unknown) };
    },
  );

  app.delete(
    '/organizations/:org/groups/:name',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteGroup',
        summary: 'Delete a group; groups that nest it treat it as empty',
        params: schemas.OrgNameParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.groups.remove(request.organization, request.params.name, actorOf(request.caller));
      return reply.code(204).send(null);
    },
  );
}

function groupAnswer({ name, exclusive, users, clients, groups }: GroupView) {
  return { name, exclusive, ...membersAnswer({ users, clients, groups }) };
}

function membersAnswer({ users, clients, groups }: MemberLists) {
  return { users: [...users], clients: [...clients], groups: [...groups] };
}

function nodeGroupAnswer({ name, nodes, query, execute }: NodeGroupView) {
  return { name, nodes: nodes === null ? null : [...nodes], query, execute: membersAnswer(execute) };
}

/** Named sets of nodes and EXECUTE on them (Push Jobs §5.3.1, §5.3.2; N13). */
export function nodeGroupRoutes(app: App, auth: Auth): void {
  app.get(
    '/organizations/:org/node_groups',
    {
      config: { permission: 'node:read' },
      schema: {
        tags,
        operationId: 'listNodeGroups',
        summary: 'Node groups and who may run commands on them',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.NodeGroupAnswer) },
      },
    },
    async (request) => (await auth.nodeGroups.list(request.organization.id)).map(nodeGroupAnswer),
  );

  app.get(
    '/organizations/:org/node_groups/:name',
    {
      config: { permission: 'node:read' },
      schema: {
        tags,
        operationId: 'getNodeGroup',
        summary: 'A node group',
        params: schemas.OrgNameParams,
        response: { 200: schemas.NodeGroupAnswer },
      },
    },
    async (request) => nodeGroupAnswer(await auth.nodeGroups.get(request.organization.id, request.params.name)),
  );

  app.put(
    '/organizations/:org/node_groups/:name',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'putNodeGroup',
        summary: 'Create a node group or replace all of it',
        params: schemas.OrgNameParams,
        body: schemas.NodeGroupBody,
        response: { 200: schemas.StoredNodeGroupAnswer },
      },
    },
    async ({ organization, params, body, caller }) => {
      checkName(params.name);
      const { nodes = null, query = null, execute = {} } = body;
      if ((nodes === null) === (query === null)) {
        throw new MusterError('invalid_field', { field: 'nodes', reason: 'give either nodes or query' });
      }
      const content = { nodes, query, execute: members(execute) };
      const stored = await auth.nodeGroups.put(organization, params.name, content, actorOf(caller));
      const unknown = await unknownNames(auth.repository, organization.id, stored.execute);
      return { ...nodeGroupAnswer(stored), unknown: membersAnswer(unknown) };
    },
  );

  app.delete(
    '/organizations/:org/node_groups/:name',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteNodeGroup',
        summary: 'Delete a node group; its nodes remain',
        params: schemas.OrgNameParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.nodeGroups.remove(request.organization, request.params.name, actorOf(request.caller));
      return reply.code(204).send(null);
    },
  );
}
