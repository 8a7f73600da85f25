import { MusterError } from '@muster/wire';
import { Type } from 'typebox';
import type { App } from '../../http/route.js';
import type { Auth } from '../index.js';
import * as schemas from './schemas.js';
import { requireSignature } from './users.js';
import { accessTokenView, tokenView } from './views.js';

const tags = ['tokens'];

/** Enrolment tokens: agents register their own key with one. */
export function enrolTokenRoutes(app: App, auth: Auth): void {
  app.post(
    '/organizations/:org/tokens',
    {
      config: { permission: 'org:admin' },
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
      const issued = await auth.tokens.createEnrolToken(organization, { uses, ttlSeconds }, caller.name);
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
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'deleteToken',
        summary: 'Make an enrolment token useless',
        params: schemas.OrgIdParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.tokens.removeEnrolToken(request.organization, request.params.id, request.caller.name);
      return reply.code(204).send(null);
    },
  );
}

/** Access tokens: bearer tokens that stand in for a user's signature. */
export function accessTokenRoutes(app: App, auth: Auth): void {
  app.post(
    '/access_tokens',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'createAccessToken',
        summary: 'Make a bearer token for a script; it is shown this once',
        description: 'For oneself; server administrators for any user. Needs a signed request.',
        body: schemas.AccessTokenBody,
        response: { 201: schemas.IssuedAccessTokenAnswer },
      },
    },
    async (request, reply) => {
      const { caller, body } = request;
      const { user = caller.name, ttl: ttlSeconds = 2_592_000 } = body;
      requireSignature(caller);
      if (user !== caller.name && !caller.serverAdmin) throw new MusterError('forbidden', { name: caller.name });
      const issued = await auth.tokens.createAccessToken({ user, ttlSeconds }, caller.name);
      return reply.code(201).send({ ...accessTokenView(issued), token: issued.token });
    },
  );

  app.get(
    '/access_tokens',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listAccessTokens',
        summary: 'The caller’s bearer tokens; all for server administrators',
        response: { 200: Type.Array(schemas.AccessTokenAnswer) },
      },
    },
    async ({ caller }) => {
      const tokens = await auth.tokens.listAccessTokens(caller.serverAdmin ? null : caller.principalId);
      return tokens.map(accessTokenView);
    },
  );

  app.delete(
    '/access_tokens/:id',
    {
      config: { permission: 'member' },
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
      await auth.tokens.removeAccessToken(caller.serverAdmin ? null : caller.principalId, params.id, caller.name);
      return reply.code(204).send(null);
    },
  );
}
