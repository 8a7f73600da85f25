import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { actorOf } from '../auth/types.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { organizationView, time } from './views.js';

const tags = ['organizations'];

/** Tenants and who belongs to them. */
export function organizationRoutes(app: App, auth: Auth): void {
  app.post(
    '/organizations',
    {
      config: { permission: 'server:admin', empowers: true },
      schema: {
        tags,
        operationId: 'createOrganization',
        summary: 'Create an organization',
        body: schemas.OrganizationBody,
        response: { 201: schemas.OrganizationAnswer },
      },
    },
    async (request, reply) => {
      const created = await auth.organizations.create(request.body.name, actorOf(request.caller));
      return reply.code(201).send(organizationView(created));
    },
  );

  app.get(
    '/organizations',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listOrganizations',
        summary: 'Organizations the caller belongs to; all for server administrators',
        response: { 200: Type.Array(schemas.OrganizationAnswer) },
      },
    },
    async ({ caller }) => {
      const found = await auth.organizations.list(caller.serverAdmin ? null : caller.principalId);
      return found.map(organizationView);
    },
  );

  app.get(
    '/organizations/:org',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'getOrganization',
        summary: 'An organization',
        params: schemas.OrgParams,
        response: { 200: schemas.OrganizationAnswer },
      },
    },
    async (request) => organizationView(await auth.organizations.get(request.organization.id)),
  );

  app.delete(
    '/organizations/:org',
    {
      config: { permission: 'server:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteOrganization',
        summary: 'Delete an organization without nodes, with its groups, tokens and job history',
        params: schemas.OrgParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.organizations.remove(request.organization, actorOf(request.caller));
      await auth.listeners.organizationRemoved(request.organization.id);
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/organizations/:org/users',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listMembers',
        summary: 'Users who belong to the organization',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.MemberAnswer) },
      },
    },
    async (request) => {
      const members = await auth.organizations.members(request.organization.id);
      return members.map(({ name, createdAt }) => ({ name, created_at: time(createdAt) }));
    },
  );

  app.post(
    '/organizations/:org/users/:name',
    {
      config: { permission: 'server:admin', empowers: true },
      schema: {
        tags,
        operationId: 'addMember',
        summary: 'Make a user a member of the organization without asking; harmless when it is one',
        description: 'Admins of the organization invite: `POST /organizations/{org}/association_requests`.',
        params: schemas.OrgNameParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.organizations.addMember(request.organization, request.params.name, actorOf(request.caller));
      return reply.code(204).send(null);
    },
  );

  app.delete(
    '/organizations/:org/users/:name',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'removeMember',
        summary: 'Take a user out of the organization and its groups',
        params: schemas.OrgNameParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.organizations.removeMember(request.organization, request.params.name, actorOf(request.caller));
      return reply.code(204).send(null);
    },
  );
}
