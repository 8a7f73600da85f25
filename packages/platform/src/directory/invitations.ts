import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import type { InvitationView } from '../auth/invitations.js';
import { actorOf } from '../auth/types.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { time } from './views.js';

/** Invitations, with the paths and names of the Chef API. */
export function invitationRoutes(app: App, auth: Auth): void {
  organizationInvitationRoutes(app, auth);
  userInvitationRoutes(app, auth);
}

function answer({ id, organization, user, invitedBy, createdAt, expiresAt }: InvitationView) {
  const times = { created_at: time(createdAt), expires_at: time(expiresAt) };
  return { id, orgname: organization, username: user, invited_by: invitedBy, ...times };
}

function organizationInvitationRoutes(app: App, auth: Auth): void {
  const tags = ['organizations'];

  app.post(
    '/organizations/:org/association_requests',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'inviteUser',
        summary: 'Invite a user, who is a member after having accepted',
        params: schemas.OrgParams,
        body: schemas.InvitationBody,
        response: { 201: schemas.InvitationAnswer },
      },
    },
    async ({ organization, caller, body }, reply) => {
      const made = await auth.invitations.create(organization, body.user, actorOf(caller));
      return reply.code(201).send(answer(made));
    },
  );

  app.get(
    '/organizations/:org/association_requests',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'listInvitations',
        summary: 'Invitations that were not answered yet',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.InvitationAnswer) },
      },
    },
    async ({ organization }) => (await auth.invitations.ofOrganization(organization.id)).map(answer),
  );

  app.delete(
    '/organizations/:org/association_requests/:id',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'withdrawInvitation',
        summary: 'Withdraw an invitation',
        params: schemas.OrgIdParams,
        response: schemas.Nothing,
      },
    },
    async ({ organization, caller, params }, reply) => {
      await auth.invitations.withdraw(organization, params.id, actorOf(caller));
      return reply.code(204).send(null);
    },
  );
}

function userInvitationRoutes(app: App, auth: Auth): void {
  const tags = ['users'];

  app.get(
    '/users/:name/association_requests',
    {
      config: { permission: 'user:self' },
      schema: {
        tags,
        operationId: 'listUserInvitations',
        summary: 'Invitations that the user has not answered yet',
        params: schemas.NameParams,
        response: { 200: Type.Array(schemas.InvitationAnswer) },
      },
    },
    async ({ params }) => {
      const { name } = await auth.principals.get(null, 'user', params.name);
      return (await auth.invitations.ofUser(name)).map(answer);
    },
  );

  app.put(
    '/users/:name/association_requests/:id',
    {
      config: { permission: 'user:consent', empowers: true },
      schema: {
        tags,
        operationId: 'answerInvitation',
        summary: 'Accept or reject an invitation',
        params: schemas.NameIdParams,
        body: schemas.InvitationResponseBody,
        response: { 200: schemas.InvitationAnsweredAnswer },
      },
    },
    async ({ caller, params, body }) => {
      const { invitations } = auth;
      const accepted = body.response === 'accept';
      const name = await (accepted ? invitations.accept(caller, params.id) : invitations.reject(caller, params.id));
      return { organization: { name } };
    },
  );
}
