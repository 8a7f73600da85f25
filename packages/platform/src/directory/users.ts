import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { actorOf, type Identity, type Organization } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { userView } from './views.js';

const tags = ['users'];

/** The organization a new user joins: the named one, or the only one the caller belongs to. */
async function home(auth: Auth, caller: Identity, named: string | null | undefined): Promise<Organization | null> {
  if (named === null) return null;
  if (named !== undefined) return auth.organizations.require(named);
  const own = await auth.organizations.list(caller.principalId);
  return own.length === 1 ? (own[0] ?? null) : null;
}

/** An admin of the organization creates its users; the rest is the server administrators' business. */
async function requireCreator(auth: Auth, caller: Identity, into: Organization | null, admin: boolean): Promise<void> {
  if (caller.serverAdmin) return;
  const [own] =
    into === null ? [] : (await auth.organizations.list(caller.principalId)).filter(({ id }) => id === into.id);
  const allowed = !admin && own !== undefined && (await auth.authorize(caller, into, 'org:admin'));
  if (!allowed) throw auth.rights.forbidden(caller.name, 'org:admin');
}

/** Users are people and programs; they exist once, whatever organizations they belong to. */
export function userRoutes(app: App, auth: Auth): void {
  app.post(
    '/users',
    {
      config: { permission: 'member', empowers: true },
      schema: {
        tags,
        operationId: 'createUser',
        summary: 'Create a user; admins of an organization create its members',
        body: schemas.UserBody,
        response: { 201: schemas.UserAnswer },
      },
    },
    async (request, reply) => {
      const { caller, body } = request;
      const { name, public_key: publicKey, key_ttl: keyTtl, groups = [], server_admin: serverAdmin = false } = body;
      const organization = await home(auth, caller, body.organization);
      await requireCreator(auth, caller, organization, serverAdmin);
      if (organization === null && groups.length > 0) {
        throw new MusterError('invalid_field', {
          field: 'groups',
          reason: 'groups belong to an organization: name it',
        });
      }
      for (const group of groups) {
        const role = auth.rights.likelyRole(group);
        const known = organization === null ? undefined : (await auth.repository.groups(organization.id)).get(group);
        if (role !== null && known === undefined) throw new MusterError('group_name_unlikely', { name: group, role });
      }
      const user = { name, publicKey, keyTtl, serverAdmin, organization, groups };
      return reply.code(201).send(userView(await auth.principals.createUser(user, actorOf(caller))));
    },
  );

  app.get(
    '/users',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'Users who share an organization with the caller; all for server administrators',
        response: { 200: Type.Array(schemas.UserAnswer) },
      },
    },
    async ({ caller }) => {
      const users = await auth.principals.list(null, 'user');
      if (caller.serverAdmin) return users.map(userView);
      const seen = new Set([caller.name]);
      for (const { id } of await auth.organizations.list(caller.principalId)) {
        for (const { name } of await auth.organizations.members(id)) seen.add(name);
      }
      return users.filter(({ name }) => seen.has(name)).map(userView);
    },
  );

  app.get(
    '/users/:name',
    {
      config: { permission: 'user:self' },
      schema: {
        tags,
        operationId: 'getUser',
        summary: 'A user and its keys',
        params: schemas.NameParams,
        response: { 200: schemas.UserAnswer },
      },
    },
    async ({ params }) => userView(await auth.principals.get(null, 'user', params.name)),
  );

  app.delete(
    '/users/:name',
    {
      config: { permission: 'server:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteUser',
        summary: 'Delete a user with its keys, tokens and memberships',
        params: schemas.NameParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.principals.removeUser(request.params.name, actorOf(request.caller));
      return reply.code(204).send(null);
    },
  );
}
