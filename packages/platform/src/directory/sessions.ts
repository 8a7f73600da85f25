import { normalizePublicKey } from '@muster/signing';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { secretHash } from '../auth/changes.js';
import type { Begun } from '../auth/sessions/sessions.js';
import type { Proof, Session, SessionView } from '../auth/sessions/types.js';
import { actorOf, type Identity } from '../auth/types.js';
import { MusterError } from '../errors.js';
import { baseUrl } from '../http/base-url.js';
import { refuseOtherPages } from '../http/own-page.js';
import { passageOf } from '../http/passage.js';
import type { App } from '../http/route.js';
import { sessionCookie, setSessionCookie } from '../http/session-cookie.js';
import { signInPlace } from './login.js';
import * as schemas from './schemas.js';
import * as signInSchemas from './sign-in-schemas.js';
import { holdingView, time } from './views.js';

const tags = ['sessions'];
const SESSIONS = '/organizations/:org/sessions';

/** Whoever has a key or a token signs a browser in by a link, so that neither goes there. */
export function signInLinkRoutes(app: App, auth: Auth): void {
  app.post(
    '/organizations/:org/sign-in-links',
    {
      // The session ends with the key or the token that asks.
      config: { permission: 'member', empowers: false },
      schema: {
        tags,
        operationId: 'createSignInLink',
        summary: 'Make a link that signs the caller in to the console, once and within a minute',
        params: schemas.OrgParams,
        response: { 201: signInSchemas.SignInLinkAnswer },
      },
    },
    async (request, reply) => {
      const { organization, caller } = request;
      const { secret, expiresAt } = await auth.sessions.links.create(organization, caller, proofOf(request));
      const url = `${baseUrl(request)}/console/#sign-in=${secret}`;
      return reply.code(201).send({ url, expires_at: time(expiresAt) });
    },
  );

  app.post(
    '/session/preview',
    {
      config: { permission: 'login', beforeAuth: refuseOtherPages },
      schema: {
        tags,
        operationId: 'previewSession',
        summary: 'Whom a link signs in, and where; it stays good',
        body: signInSchemas.SessionPreviewBody,
        response: { 200: signInSchemas.SessionPreviewAnswer },
      },
    },
    async ({ body }) => {
      const { organization, name, expiresAt } = await auth.sessions.links.find(body.link);
      return { organization: organization.name, user: name, expires_at: time(expiresAt) };
    },
  );
}

/** Sessions of people at the console. */
export function sessionRoutes(app: App, auth: Auth): void {
  app.post(
    '/session',
    {
      config: { permission: 'login', beforeAuth: refuseOtherPages },
      schema: {
        tags,
        operationId: 'beginSession',
        summary: 'Sign a browser in, by a link, an access token, or name and password at a directory',
        description: 'Its cookie, `__Host-muster` (without TLS `muster`), goes with what pages of this server send.',
        body: signInSchemas.SessionBody,
        response: { 201: signInSchemas.SessionAnswer },
      },
    },
    async (request, reply) => {
      const { secret, session } = await begin(auth, request);
      await endFormer(auth, request);
      setSessionCookie(reply, secret);
      return reply.code(201).send(await sessionView(auth, session));
    },
  );

  app.get(
    '/session',
    {
      config: { permission: 'member', ofSession: true },
      schema: {
        tags,
        operationId: 'getSession',
        summary: 'Who is signed in with this browser, and what they may do',
        response: { 200: signInSchemas.SessionAnswer },
      },
    },
    async (request) => sessionView(auth, await own(auth, request)),
  );

  app.delete(
    '/session',
    {
      // It takes away nothing but the session that it comes with.
      config: { permission: 'member', ofSession: true, empowers: false },
      schema: {
        tags,
        operationId: 'endSession',
        summary: 'Sign this browser out',
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      await auth.sessions.end(await own(auth, request), actorOf(request.caller));
      setSessionCookie(reply, null);
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/session/ticket',
    {
      // It ends with the session.
      config: { permission: 'member', ofSession: true, empowers: false },
      schema: {
        tags,
        operationId: 'createSessionTicket',
        summary: 'With which the page logs in to the event fabric, once and within half a minute',
        response: { 201: signInSchemas.TicketAnswer },
      },
    },
    async (request, reply) => {
      const { ticket, expiresAt } = await auth.sessions.ticket(await own(auth, request));
      return reply.code(201).send({ ticket, expires_at: time(expiresAt) });
    },
  );

  app.get(
    SESSIONS,
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listSessions',
        summary: 'Who is signed in to the console: oneself, for admins everybody',
        params: schemas.OrgParams,
        response: { 200: Type.Array(signInSchemas.ListedSessionAnswer) },
      },
    },
    async (request) => {
      const { organization } = request;
      const sessions = await auth.sessions.list(organization, await whose(auth, request));
      const { credentials } = passageOf(request);
      const current = credentials?.kind === 'session' ? await own(auth, request) : null;
      return sessions.map((one) => listedView(one, current));
    },
  );

  app.delete(
    `${SESSIONS}/:id`,
    {
      config: { permission: 'member', empowers: false },
      schema: {
        tags,
        operationId: 'deleteSession',
        summary: 'Sign a browser out: one’s own, for admins any',
        params: schemas.OrgIdParams,
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      const { organization, caller, params } = request;
      await auth.sessions.remove(organization, params.id, await whose(auth, request), actorOf(caller));
      return reply.code(204).send(null);
    },
  );
}

async function begin(
  auth: Auth,
  request: FastifyRequest & { readonly body: Static<typeof signInSchemas.SessionBody> },
): Promise<Begun> {
  const { ip: address, body } = request;
  const { link, token, organization, issuer, user, password } = body;
  if ([link, token, password].filter((one) => one !== undefined).length !== 1)
    throw new MusterError('invalid_field', { field: 'link', reason: 'give one of link, token and password' });
  if (link !== undefined) return auth.sessions.byLink(link, address);
  if (token !== undefined) return auth.sessions.byToken(token, organization, address);
  if (organization === undefined || user === undefined || password === undefined)
    throw new MusterError('invalid_field', { field: 'password', reason: 'goes with organization and user' });
  const where = await signInPlace(auth, organization, issuer);
  // Of whose audit it is.
  passageOf(request).organization = where;
  const signedIn = await auth.signIns.byPassword(where, issuer, { user, password }, address);
  // The session stands on that token, which nobody else gets to know.
  return auth.sessions.byToken(signedIn.token, organization, address, 'password');
}

/** The cookie of it is overwritten: nobody could sign out of it any more. */
export async function endFormer({ sessions }: Auth, request: FastifyRequest): Promise<void> {
  const secret = sessionCookie(request);
  const former = secret === null ? null : await sessions.live.find(secretHash(secret));
  if (former === null) return;
  const actor = { name: former.name, kind: 'user', address: request.ip } as const;
  await sessions.end(former, actor);
}

/** @throws MusterError `not_signed_in`, `session_ended` */
async function own(auth: Auth, request: FastifyRequest): Promise<Session> {
  const { credentials } = passageOf(request);
  if (credentials?.kind !== 'session') throw new MusterError('not_signed_in', { name: request.caller.name });
  return auth.sessions.require(secretHash(credentials.secret));
}

/** Null: of everybody. */
async function whose(auth: Auth, { caller, organization }: FastifyRequest): Promise<string | null> {
  return (await auth.authorize(caller, organization, 'org:admin')) ? null : caller.principalId;
}

/** What asks for a link. A session does not: it would go on for ever. @throws MusterError `session_not_enough` */
function proofOf(request: FastifyRequest): Proof {
  const { credentials } = passageOf(request);
  const { publicKey, name } = request.caller;
  if (publicKey !== null) return { kind: 'key', fingerprint: normalizePublicKey(publicKey).fingerprint };
  if (credentials?.kind === 'bearer') return { kind: 'token', hash: secretHash(credentials.token) };
  throw new MusterError('session_not_enough', { name });
}

async function sessionView(auth: Auth, { organization, name, principalId, signedIn, expiresAt }: Session) {
  const candidates = await auth.repository.candidates(organization.id, name);
  const user = candidates.find((one) => one.principalId === principalId);
  const serverAdmin = !signedIn && user?.serverAdmin === true;
  const identity: Identity = { principalId, type: 'user', name, serverAdmin, publicKey: null };
  const holdings = await auth.holdings(identity, organization);
  const held = new Set<string>(holdings.map(({ permission }) => permission));
  const may = { permissions: holdings.map(holdingView), missing: [...auth.rights.lacking(held)] };
  return { organization: organization.name, user: name, expires_at: time(expiresAt), ...may };
}

function listedView({ id, user, by, address, createdAt, lastSeen, expiresAt }: SessionView, current: Session | null) {
  const times = { created_at: time(createdAt), last_seen_at: time(lastSeen), expires_at: time(expiresAt) };
  return { id, user, by, address, ...times, current: id === current?.id };
}
