import { type Static, Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { ISSUER_KINDS, ISSUER_LIMITS, type Issuer, type NewIssuer, type SignIn } from '../auth/issuers/types.js';
import { actorOf } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { time } from './views.js';

const tags = ['issuers'];
const ISSUERS = '/organizations/:org/issuers';
/** Of sets of keys, with which their owner signs tokens for many. */
const AUDIENCE = 'muster';
/** Who it is, and by which names. */
const SCOPE = 'openid profile email';

/** Whose tokens are taken besides those of this server. */
export function issuerRoutes(app: App, auth: Auth): void {
  app.post(
    ISSUERS,
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'createIssuer',
        summary:
          'Take tokens (JWT) of an issuer, for jobs, apps and systems; with `sign_in` people sign in there, for everything',
        params: schemas.OrgParams,
        body: schemas.IssuerBody,
        response: { 201: schemas.IssuerAnswer },
      },
    },
    async ({ organization, caller, body }, reply) => {
      const asked = newIssuer(body);
      const groups = await auth.repository.groups(organization.id);
      for (const name of Object.values(asked.signIn?.groups ?? {})) {
        const role = auth.rights.likelyRole(name);
        if (role !== null && !groups.has(name)) throw new MusterError('group_name_unlikely', { name, role });
      }
      const issuer = await auth.issuers.create(organization, asked, actorOf(caller));
      return reply.code(201).send(view(issuer));
    },
  );

  app.get(
    ISSUERS,
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'listIssuers',
        summary: 'Whose tokens are taken',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.IssuerAnswer) },
      },
    },
    async ({ organization }) => (await auth.issuers.list(organization)).map(view),
  );

  app.delete(
    `${ISSUERS}/:name`,
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteIssuer',
        summary: 'Take no more tokens of an issuer; who signed in there is signed out',
        params: schemas.OrgNameParams,
        response: schemas.Nothing,
      },
    },
    async ({ organization, caller, params }, reply) => {
      await auth.issuers.remove(organization, params.name, actorOf(caller));
      return reply.code(204).send(null);
    },
  );
}

function newIssuer(body: Static<typeof schemas.IssuerBody>): NewIssuer {
  const given = ISSUER_KINDS.flatMap((kind) => {
    const source = body[kind];
    return source === undefined ? [] : [{ kind, source }];
  });
  const [one] = given;
  if (one === undefined || given.length > 1) {
    throw new MusterError('invalid_field', { field: 'public_key', reason: 'give one of public_key, jwks and oidc' });
  }
  const { name, issuer = null, user_claim: userClaim = null, tenant = null } = body;
  const audience = body.audience ?? (one.kind === 'public_key' ? null : AUDIENCE);
  const signIn = body.sign_in === undefined ? null : signInOf(body.sign_in);
  return { name, ...one, issuer, audience, userClaim, tenant, signIn };
}

function signInOf(body: Static<typeof schemas.SignInBody>): SignIn {
  return {
    clientId: body.client_id,
    scope: body.scope ?? SCOPE,
    groupsClaim: body.groups_claim ?? null,
    groups: body.groups ?? {},
    createUsers: body.create_users ?? false,
    ttlSeconds: body.ttl ?? ISSUER_LIMITS.signInTtl.usual,
  };
}

function view({ name, kind, source, issuer, audience, userClaim, tenant, signIn, createdAt }: Issuer) {
  return {
    ...{ name, kind, source, issuer, audience, user_claim: userClaim, tenant },
    sign_in: signIn === null ? null : signInView(signIn),
    created_at: time(createdAt),
  };
}

function signInView({ clientId, scope, groupsClaim, groups, createUsers, ttlSeconds }: SignIn) {
  return {
    ...{ client_id: clientId, scope, groups_claim: groupsClaim, groups: { ...groups } },
    ...{ create_users: createUsers, ttl: ttlSeconds },
  };
}
