import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { secretHash } from '../auth/changes.js';
import { notOffered, type SignInView } from '../auth/issuers/sign-ins.js';
import { includes } from '../auth/permissions.js';
import type { Session } from '../auth/sessions/types.js';
import { actorOf, type Organization } from '../auth/types.js';
import { MusterError } from '../errors.js';
import { passageOf } from '../http/passage.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import * as signInSchemas from './sign-in-schemas.js';
import { time } from './views.js';

const tags = ['login'];
const LOGIN = '/organizations/:org/login';

/** People sign in at an OpenID provider or a directory of the organization, and see who they are here. */
export function loginRoutes(app: App, auth: Auth): void {
  app.get(
    LOGIN,
    {
      config: { permission: 'public' },
      schema: {
        tags,
        operationId: 'listSignIns',
        summary: 'Where people sign in to the organization',
        description: 'Of an organization that there is not the same as of one where nobody signs in.',
        params: schemas.OrgParams,
        response: { 200: Type.Array(signInSchemas.OfferedSignIn) },
      },
    },
    async ({ params }) => {
      const organization = await auth.organizations.find(params.org);
      const offered = organization === undefined ? [] : await auth.signIns.offered(organization.id);
      return offered.map(({ name, issuer, source, signIn }) => {
        if (signIn === null) return { name, kind: 'ldap' as const };
        const { clientId, scope } = signIn;
        return { name, kind: 'oidc' as const, issuer: issuer ?? source, client_id: clientId, scope };
      });
    },
  );

  app.post(
    LOGIN,
    {
      config: { permission: 'login' },
      schema: {
        tags,
        operationId: 'signIn',
        summary: 'Sign in with an ID token of an issuer, or with name and password at a directory',
        description:
          'An ID token is for the client that the issuer is known by (`aud`, `azp`), at most ten minutes old, and good once. The answer is an access token. Who is wrong too often is answered 429 (`Retry-After`).',
        params: schemas.OrgParams,
        body: signInSchemas.LoginBody,
        response: { 201: signInSchemas.LoginAnswer },
      },
    },
    async (request, reply) => {
      const { issuer, id_token: idToken, user: typed, password } = request.body;
      const organization = await signInPlace(auth, request.params.org, issuer);
      const { signIns } = auth;
      const begin = (): Promise<SignInView> => {
        if (idToken !== undefined && typed === undefined && password === undefined)
          return signIns.begin(organization, issuer, idToken, request.ip);
        if (idToken === undefined && typed !== undefined && password !== undefined)
          return signIns.byPassword(organization, issuer, { user: typed, password }, request.ip);
        throw new MusterError('invalid_field', { field: 'id_token', reason: 'give either it, or user and password' });
      };
      const { token, user, groups, expiresAt } = await begin();
      const about = { user, organization: organization.name, groups: [...groups], expires_at: time(expiresAt) };
      return reply.code(201).send({ token, ...about });
    },
  );

  app.delete(
    LOGIN,
    {
      // It takes away nothing but the token that it comes with.
      config: { permission: 'member', empowers: false },
      schema: {
        tags,
        operationId: 'signOut',
        summary: 'Sign out: make the token useless that this request bears',
        params: schemas.OrgParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      const { organization, caller } = request;
      await auth.signIns.end(organization, borneHash(request), caller, actorOf(caller));
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/organizations/:org/whoami',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'whoami',
        summary: 'Who is asking, and what that is in the organization',
        params: schemas.OrgParams,
        response: { 200: signInSchemas.WhoAnswer },
      },
    },
    async (request) => {
      const { organization, caller } = request;
      const groups = await auth.repository.groups(organization.id);
      const own = [...groups].filter(([, group]) => includes(group, caller, groups)).map(([name]) => name);
      const hash = borneHash(request);
      const bearer = hash === null ? undefined : await auth.repository.bearer(hash);
      const session = await sessionOf(request, auth);
      const issuers = await auth.repository.issuers(organization.id);
      const issuer = issuers.find(({ id }) => id === bearer?.issuerId)?.name ?? null;
      const expires = bearer?.expiresAt ?? session?.expiresAt;
      const by = hash === null ? 'key' : bearer?.issuerId ? 'login' : 'token';
      return {
        ...{ name: caller.name, kind: caller.type, organization: organization.name, groups: own.sort() },
        server_admin: caller.serverAdmin,
        by: session === null ? (by as 'key' | 'login' | 'token') : ('session' as const),
        issuer,
        expires_at: expires === undefined ? null : time(expires),
      };
    },
  );
}

/** The organization in which somebody signs in. Of one that there is not they hear the same as of one where nobody does. @throws MusterError `sign_in_not_offered` */
export async function signInPlace(auth: Auth, name: string, issuer: string | undefined): Promise<Organization> {
  const organization = await auth.organizations.find(name);
  if (organization !== undefined) return organization;
  throw notOffered({ name }, issuer);
}

/** Of a browser; null: the request is of none. */
async function sessionOf(request: Parameters<typeof passageOf>[0], { sessions }: Auth): Promise<Session | null> {
  const { credentials } = passageOf(request);
  return credentials?.kind === 'session' ? sessions.live.find(secretHash(credentials.secret)) : null;
}

/** Of the access token of a request; null: it is signed. */
function borneHash(request: Parameters<typeof passageOf>[0]): string | null {
  const { credentials } = passageOf(request);
  return credentials?.kind === 'bearer' ? secretHash(credentials.token) : null;
}
