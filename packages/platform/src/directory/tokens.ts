import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { AUTH_LIMITS } from '../auth/limits.js';
import { actorOf } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { serviceTokenView, tokenView, userTokenView } from './views.js';

const tags = ['tokens'];

/** Enrolment tokens: agents register their own key with one. */
export function enrolTokenRoutes(app: App, auth: Auth): void {
  app.post(
    '/organizations/:org/tokens',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'createToken',
        summary: 'Make an enrolment token; it is shown this once',
        params: schemas.OrgParams,
        body: schemas.TokenBody,
        response: { 201: schemas.IssuedTokenAnswer },
      },
    },
    async (request, reply) => {
      const { uses = 1, ttl: ttlSeconds = 3600 } = request.body;
      const { organization, caller } = request;
      const issued = await auth.tokens.createEnrolToken(organization, { uses, ttlSeconds }, actorOf(caller));
      return reply.code(201).send({ ...tokenView(issued), token: issued.token });
    },
  );

  app.get(
    '/organizations/:org/tokens',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'listTokens',
        summary: 'Enrolment tokens that have not expired',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.TokenAnswer) },
      },
    },
    async (request) => (await auth.tokens.listEnrolTokens(request.organization.id)).map(tokenView),
  );

  app.delete(
    '/organizations/:org/tokens/:id',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteToken',
        summary: 'Make an enrolment token useless',
        params: schemas.OrgIdParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.tokens.removeEnrolToken(request.organization, request.params.id, actorOf(request.caller));
      return reply.code(204).send(null);
    },
  );
}

/** Access tokens: bearer tokens that stand in for a user's signature. */
export function accessTokenRoutes(app: App, auth: Auth): void {
  app.post(
    '/access_tokens',
    {
      config: { permission: 'member', empowers: true },
      schema: {
        tags,
        operationId: 'createAccessToken',
        summary: 'Make a bearer token for a script; it is shown this once',
        description: 'For oneself; server administrators for any user.',
        body: schemas.AccessTokenBody,
        response: { 201: schemas.IssuedAccessTokenAnswer },
      },
    },
    async (request, reply) => {
      const { caller, body } = request;
      const { user = caller.name, ttl: ttlSeconds = AUTH_LIMITS.defaultTokenTtl } = body;
      if (user !== caller.name && !caller.serverAdmin) throw auth.rights.forbidden(caller.name, 'server:admin');
      const bearer = { organization: null, name: user };
      const organization =
        body.organization === undefined ? undefined : await auth.organizations.find(body.organization);
      if (body.organization !== undefined && organization === undefined) {
        throw new MusterError('organization_not_found', { organization: body.organization });
      }
      const about = { bearer, ttlSeconds, ...(organization !== undefined && { organization }) };
      const issued = await auth.tokens.createAccessToken(about, actorOf(caller));
      return reply.code(201).send({ ...userTokenView(issued), token: issued.token });
    },
  );

  app.get(
    '/access_tokens',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listAccessTokens',
        summary: 'The caller’s bearer tokens; all users’ for server administrators',
        response: { 200: Type.Array(schemas.AccessTokenAnswer) },
      },
    },
    async ({ caller }) => {
      const tokens = await auth.tokens.listUserTokens(caller.serverAdmin ? null : caller.principalId);
      return tokens.map(userTokenView);
    },
  );

  app.delete(
    '/access_tokens/:id',
    {
      config: { permission: 'member', empowers: true },
      schema: {
        tags,
        operationId: 'deleteAccessToken',
        summary: 'Make a bearer token useless',
        params: schemas.IdParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      const { caller, params } = request;
      await auth.tokens.removeUserToken(caller.serverAdmin ? null : caller.principalId, params.id, actorOf(caller));
      return reply.code(204).send(null);
    },
  );
}

/** Access tokens of services: what runs unattended, such as a relay, should not run in a person's name. */
export function serviceTokenRoutes(app: App, auth: Auth): void {
  app.post(
    '/organizations/:org/services/:name/access_tokens',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'createServiceToken',
        summary: 'Make a bearer token for a service; it is shown this once',
        params: schemas.OrgNameParams,
        body: schemas.ServiceTokenBody,
        response: { 201: schemas.IssuedServiceTokenAnswer },
      },
    },
    async (request, reply) => {
      const { caller, organization, params } = request;
      const { ttl: ttlSeconds = AUTH_LIMITS.defaultTokenTtl } = request.body;
      const bearer = { organization, name: params.name };
      const issued = await auth.tokens.createAccessToken({ bearer, ttlSeconds }, actorOf(caller));
      return reply.code(201).send({ ...serviceTokenView(issued), token: issued.token });
    },
  );

  app.get(
    '/organizations/:org/services/:name/access_tokens',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'listServiceTokens',
        summary: 'The service’s bearer tokens that have not expired',
        params: schemas.OrgNameParams,
        response: { 200: Type.Array(schemas.ServiceTokenAnswer) },
      },
    },
    async ({ organization, params }) =>
      (await auth.tokens.listServiceTokens(organization, params.name)).map(serviceTokenView),
  );

  app.delete(
    '/organizations/:org/services/:name/access_tokens/:id',
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteServiceToken',
        summary: 'Make a service’s bearer token useless',
        params: schemas.OrgNameIdParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      const { organization, params, caller } = request;
      await auth.tokens.removeServiceToken(organization, params.name, params.id, actorOf(caller));
      return reply.code(204).send(null);
    },
  );
}
