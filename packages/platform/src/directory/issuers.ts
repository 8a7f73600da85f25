import { type Static, Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { type LdapSettings, NAME_ATTRIBUTE } from '../auth/issuers/ldap/types.js';
import type { SignInRules } from '../auth/issuers/rules.js';
import {
  type AskedIssuer,
  ISSUER_KINDS,
  ISSUER_LIMITS,
  type Issuer,
  type IssuerKind,
  type NewIssuer,
  type SignIn,
} from '../auth/issuers/types.js';
import { actorOf } from '../auth/types.js';
import { MusterError } from '../errors.js';
import { baseUrl } from '../http/base-url.js';
import type { App } from '../http/route.js';
import { callbackPath } from './browser-login.js';
import * as issuerSchemas from './issuer-schemas.js';
import * as schemas from './schemas.js';
import { time } from './views.js';

const tags = ['issuers'];
const ISSUERS = '/organizations/:org/issuers';
const AUDIENCE = 'muster';
const ONE_SOURCE = 'give one of public_key, jwks, oidc and ldap';
/** As groups are kept: by distinguished names, or, of POSIX, by names. */
const GROUP_FILTER = '(|(member={dn})(uniqueMember={dn})(memberUid={user}))';
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
          'Take tokens (JWT) of an issuer, for jobs, apps and systems; with `sign_in`, or at a directory, people sign in there, for everything',
        params: schemas.OrgParams,
        body: issuerSchemas.IssuerBody,
        response: { 201: issuerSchemas.IssuerAnswer },
      },
    },
    async (request, reply) => {
      const { organization, caller, body } = request;
      const asked = newIssuer(body);
      await requireLikelyGroups(auth, organization.id, asked);
      const issuer = await auth.issuers.create(organization, asked, actorOf(caller));
      return reply.code(201).send(view(issuer, baseUrl(request)));
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
        response: { 200: Type.Array(issuerSchemas.IssuerAnswer) },
      },
    },
    async (request) => {
      const base = baseUrl(request);
      return (await auth.issuers.list(request.organization)).map((issuer) => view(issuer, base));
    },
  );

  app.patch(
    `${ISSUERS}/:name`,
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'changeIssuer',
        summary: 'Change an issuer in place, or how people sign in there',
        description:
          'Who has signed in stays so, unless the change makes it another provider, another client of it, or another claim that names the user: then they sign in anew.',
        params: schemas.OrgNameParams,
        body: issuerSchemas.IssuerChange,
        response: { 200: issuerSchemas.IssuerAnswer },
      },
    },
    async (request) => {
      const { organization, caller, body } = request;
      const { name } = request.params;
      const present = (await auth.issuers.list(organization)).find((one) => one.name === name);
      if (present === undefined) throw new MusterError('not_found', { kind: 'issuer', name });
      const asked = changed(present, body);
      await requireLikelyGroups(auth, organization.id, asked);
      return view(await auth.issuers.change(organization, present, asked, actorOf(caller)), baseUrl(request));
    },
  );

  app.post(
    `${ISSUERS}/:name/test`,
    {
      // It changes nothing here.
      config: { permission: 'org:admin', empowers: false },
      schema: {
        tags,
        operationId: 'testIssuer',
        summary: 'Ask an issuer now: for its keys, or a directory for somebody and their groups',
        params: schemas.OrgNameParams,
        body: issuerSchemas.IssuerTestBody,
        response: { 200: issuerSchemas.IssuerTestAnswer },
      },
    },
    async ({ organization, params: { name }, body }) => {
      const { kind, keys, person, unknown } = await auth.issuers.test(organization, name, body.user ?? null);
      const about = person && { ...person, found: [...person.found], groups: [...person.groups] };
      return { name, kind, keys, person: about, unknown };
    },
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

/** @throws MusterError `group_name_unlikely` */
async function requireLikelyGroups(auth: Auth, orgId: string, { signIn, ldap }: NewIssuer): Promise<void> {
  const groups = await auth.repository.groups(orgId);
  for (const name of Object.values((signIn ?? ldap)?.groups ?? {})) {
    const role = auth.rights.likelyRole(name);
    if (role !== null && !groups.has(name)) throw new MusterError('group_name_unlikely', { name, role });
  }
}

/** What is not said stays; null is what a new one has that says nothing of it. */
function changed(
  present: Issuer,
  { sign_in, directory, ...body }: Static<typeof issuerSchemas.IssuerChange>,
): AskedIssuer {
  const said = sourceSaid(body);
  const { kind, source } = said ?? present;
  const or = <Value>(asked: Value | null | undefined, before: Value, usual: Value): Value =>
    asked === undefined ? before : (asked ?? usual);
  const usualAudience = usualAudienceOf(kind);
  return {
    ...{ name: present.name, kind, source },
    issuer: or<string | null>(body.issuer, present.issuer, null),
    audience: or<string | null>(body.audience, present.audience, usualAudience),
    userClaim: or<string | null>(body.user_claim, present.userClaim, null),
    tenant: or<string | null>(body.tenant, present.tenant, null),
    ...(sign_in === undefined ? { signIn: present.signIn } : changedSignIn(present.signIn, sign_in)),
    ...changedDirectory(present, directory, body.user_claim),
  };
}

function changedDirectory(
  { ldap, userClaim }: Issuer,
  asked: Static<typeof issuerSchemas.IssuerChange>['directory'],
  claim: string | null | undefined,
): Pick<AskedIssuer, 'ldap' | 'secret'> {
  if (asked === undefined && claim === undefined) return { ldap };
  if (ldap === null) {
    if (asked === undefined) return { ldap };
    throw new MusterError('invalid_field', { field: 'directory', reason: 'it is no directory' });
  }
  const attribute = claim === undefined ? userClaim : claim;
  // What followed from the attribute follows it.
  const { user_filter, ...before } = directoryView(ldap);
  const filter = user_filter === usualUserFilter(userClaim) ? {} : { user_filter };
  const present = { ...before, ...filter, ...asked };
  const given = Object.fromEntries(Object.entries(present).filter(([, value]) => value !== null));
  return directoryFrom({ bind_dn: ldap.bindDn, user_base: ldap.userBase, ...given }, attribute);
}

function changedSignIn(
  present: SignIn | null,
  asked: Exclude<Static<typeof issuerSchemas.IssuerChange>['sign_in'], undefined>,
): Pick<AskedIssuer, 'signIn' | 'secret'> {
  if (asked === null) return { signIn: null };
  const { confidential: _, ...before } = present === null ? { confidential: false } : signInView(present);
  const { client_id: clientId, client_secret: secret, ...rest } = { ...before, ...asked };
  if (clientId === undefined)
    throw new MusterError('invalid_field', {
      field: 'sign_in.client_id',
      reason: 'nobody signs in there yet: say by which client',
    });
  const given = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined);
  const body = { client_id: clientId, ...Object.fromEntries(given) };
  if (secret !== undefined && secret !== null) return signInFrom({ ...body, client_secret: secret });
  return { signIn: signInOf(body, secret === undefined && present?.confidential === true) };
}

/** undefined: none is said. @throws MusterError `invalid_field` */
function sourceSaid(
  body: Pick<Static<typeof issuerSchemas.IssuerChange>, IssuerKind>,
): Pick<NewIssuer, 'kind' | 'source'> | undefined {
  const given = ISSUER_KINDS.flatMap((kind) => {
    const source = body[kind];
    return source === undefined ? [] : [{ kind, source }];
  });
  if (given.length > 1) throw new MusterError('invalid_field', { field: 'public_key', reason: ONE_SOURCE });
  return given[0];
}

function newIssuer(body: Static<typeof issuerSchemas.IssuerBody>): AskedIssuer {
  const one = sourceSaid(body);
  if (one === undefined) {
    throw new MusterError('invalid_field', { field: 'public_key', reason: ONE_SOURCE });
  }
  const { name, issuer = null, user_claim: userClaim = null, tenant = null } = body;
  const audience = body.audience ?? usualAudienceOf(one.kind);
  const signIn = body.sign_in === undefined ? { signIn: null } : signInFrom(body.sign_in);
  const directory = body.directory === undefined ? { ldap: null } : directoryFrom(body.directory, userClaim);
  return { name, ...one, issuer, audience, userClaim, tenant, ...signIn, ...directory };
}

/** Of sets of keys, with which their owner signs tokens for many. */
function usualAudienceOf(kind: IssuerKind): string | null {
  return kind === 'jwks' || kind === 'oidc' ? AUDIENCE : null;
}

function directoryFrom(
  body: Omit<Static<typeof issuerSchemas.DirectoryBody>, 'bind_password'> & { readonly bind_password?: string },
  attribute: string | null,
): { readonly ldap: LdapSettings; readonly secret?: string } {
  const ldap = {
    ...{ bindDn: body.bind_dn, ca: body.ca ?? null, userBase: body.user_base },
    userFilter: body.user_filter ?? usualUserFilter(attribute),
    ...{ groupBase: body.group_base ?? null, groupFilter: body.group_filter ?? GROUP_FILTER },
    ...rulesOf(body),
  };
  return { ldap, ...(body.bind_password !== undefined && { secret: body.bind_password }) };
}

function usualUserFilter(attribute: string | null): string {
  return `(${attribute ?? NAME_ATTRIBUTE}={user})`;
}

function rulesOf(body: Pick<Static<typeof issuerSchemas.SignInBody>, 'groups' | 'create_users' | 'ttl'>): SignInRules {
  return {
    groups: body.groups ?? {},
    createUsers: body.create_users ?? false,
    ttlSeconds: body.ttl ?? ISSUER_LIMITS.signInTtl.usual,
  };
}

function signInFrom(body: Static<typeof issuerSchemas.SignInBody>): Pick<AskedIssuer, 'signIn' | 'secret'> {
  const { client_secret: secret, ...rest } = body;
  return { signIn: signInOf(rest, secret !== undefined), ...(secret !== undefined && { secret }) };
}

function signInOf(body: Omit<Static<typeof issuerSchemas.SignInBody>, 'client_secret'>, confidential: boolean): SignIn {
  return {
    clientId: body.client_id,
    confidential,
    scope: body.scope ?? SCOPE,
    groupsClaim: body.groups_claim ?? null,
    ...rulesOf(body),
  };
}

/** @param base URL of this server, as the caller has reached it. */
function view(of: Issuer, base: string) {
  const { organization, name, kind, source, issuer, audience, userClaim, tenant, signIn, ldap, createdAt } = of;
  const redirectUri = `${base}${callbackPath(organization.name, name)}`;
  return {
    ...{ name, kind, source, issuer, audience, user_claim: userClaim, tenant },
    sign_in: signIn === null ? null : { ...signInView(signIn), redirect_uri: redirectUri },
    directory: ldap === null ? null : directoryView(ldap),
    created_at: time(createdAt),
  };
}

function signInView({ clientId, confidential, scope, groupsClaim, groups, createUsers, ttlSeconds }: SignIn) {
  return {
    ...{ client_id: clientId, confidential, scope, groups_claim: groupsClaim, groups: { ...groups } },
    ...{ create_users: createUsers, ttl: ttlSeconds },
  };
}

function directoryView({ bindDn, ca, userBase, userFilter, groupBase, groupFilter, ...rules }: LdapSettings) {
  const { groups, createUsers, ttlSeconds } = rules;
  return {
    ...{ bind_dn: bindDn, ca, user_base: userBase, user_filter: userFilter },
    ...{ group_base: groupBase, group_filter: groupFilter },
    ...{ groups: { ...groups }, create_users: createUsers, ttl: ttlSeconds },
  };
}
