import { type TSchema, Type } from 'typebox';
import { LDAP_LIMITS } from '../auth/issuers/ldap/types.js';
import { ISSUER_LIMITS } from '../auth/issuers/types.js';
import { AUTH_LIMITS } from '../auth/limits.js';
import { GROUP_NAME, ORGANIZATION_NAME, PRINCIPAL_NAME } from '../auth/names.js';

/** Request and answer shapes of identities. Requests are strict: an unknown field is refused by name. */
const STRICT = { additionalProperties: false } as const;

const OrganizationName = Type.String({ pattern: ORGANIZATION_NAME, description: 'a-z 0-9 _ -' });
const PrincipalName = Type.String({ pattern: PRINCIPAL_NAME, description: 'letters, digits and _ . : @ -' });
export const GroupName = Type.String({ pattern: GROUP_NAME, description: 'letters, digits and _ . -' });
const Time = Type.String({ description: 'ISO 8601' });
export const PublicKey = Type.String({
  description: 'PEM: SPKI, PKCS#1 or an X.509 certificate; RSA, 2048 bits or more',
});

/** In paths names are not checked against the pattern: what does not exist is 404. */
const segment = () => Type.String({ minLength: 1, maxLength: 255 });
export const OrgParams = Type.Object({ org: segment() });
export const NameParams = Type.Object({ name: segment() });
export const OrgNameParams = Type.Object({ org: segment(), name: segment() });
export const IdParams = Type.Object({ id: segment() });
/** For routes that serve several paths: the names decide. */
export const pathParams = (names: readonly string[]) =>
  Type.Unsafe<Readonly<Record<string, string>>>(
    Type.Object(Object.fromEntries(names.map((name) => [name, segment()]))),
  );
export const NameIdParams = Type.Object({ name: segment(), id: segment() });
export const OrgIdParams = Type.Object({ org: segment(), id: segment() });
export const OrgNameIdParams = Type.Object({ org: segment(), name: segment(), id: segment() });

/** The answer of whatever was deleted or added and has nothing to say. */
export const Nothing = { 204: Type.Null({ description: 'Done' }) };

const members = () => Type.Array(PrincipalName, { maxItems: AUTH_LIMITS.groupMembers });
const groups = () => Type.Array(GroupName, { maxItems: AUTH_LIMITS.groupsPerOrganization });
/** Users by name, clients (nodes and services) by name, nested groups by name. */
export const MembersBody = Type.Object(
  { users: Type.Optional(members()), clients: Type.Optional(members()), groups: Type.Optional(groups()) },
  STRICT,
);
const MembersAnswer = {
  users: Type.Array(Type.String()),
  clients: Type.Array(Type.String()),
  groups: Type.Array(Type.String()),
};
const Exclusive = {
  exclusive: Type.Boolean({ description: 'Admins hold what the group gives only as members' }),
};
export const GroupBody = Type.Object(
  {
    ...MembersBody.properties,
    exclusive: Type.Optional(
      Type.Boolean({
        description:
          'Take from admins what the group gives, unless they are members. As it was when absent: false for a new group, true for one that is made as `pushy_job_writers` or `pushy_job_readers`',
      }),
    ),
  },
  STRICT,
);
export const GroupQuery = Type.Object(
  { force: Type.Optional(Type.Boolean({ description: 'Also a name that is nearly a role’s' })) },
  STRICT,
);
export const GroupAnswer = Type.Object({ name: Type.String(), ...Exclusive, ...MembersAnswer });
/** Of what was stored. */
export const Unknown = {
  unknown: Type.Object(MembersAnswer, { description: 'Names that nobody in the organization has yet' }),
};
export const StoredGroupAnswer = Type.Object({ name: Type.String(), ...Exclusive, ...MembersAnswer, ...Unknown });

export const NodeGroupBody = Type.Object(
  {
    nodes: Type.Optional(Type.Array(PrincipalName, { maxItems: AUTH_LIMITS.groupMembers })),
    query: Type.Optional(
      Type.String({ minLength: 1, maxLength: 16_384, description: 'Selector over facts and labels' }),
    ),
    execute: Type.Optional(MembersBody),
  },
  { ...STRICT, description: 'Either `nodes` or `query`; `execute` restricts who may run commands on them' },
);
export const NodeGroupAnswer = Type.Object({
  name: Type.String(),
  nodes: Type.Union([Type.Array(Type.String()), Type.Null()]),
  query: Type.Union([Type.String(), Type.Null()]),
  execute: Type.Object(MembersAnswer),
});

export const OrganizationBody = Type.Object({ name: OrganizationName }, STRICT);
export const OrganizationAnswer = Type.Object({ id: Type.String(), name: Type.String(), created_at: Time });

const KeyAnswerFields = {
  fingerprint: Type.String(),
  created_at: Time,
  expires_at: Type.Union([Time, Type.Null()], {
    description: 'Requests signed with it later are refused; null: never',
  }),
};
const keyTtl = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: AUTH_LIMITS.keyTtl,
    description: 'Seconds after which the key expires; it does not when absent',
  }),
);
export const KeysQuery = Type.Object(
  {
    expires_within: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: AUTH_LIMITS.keyTtl,
        description: 'Seconds: only keys that expire within that time, or have already',
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: AUTH_LIMITS.keyPageMost, default: AUTH_LIMITS.keyPage })),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
  },
  STRICT,
);
export const KeysAnswer = Type.Object({
  total: Type.Integer({ description: 'With those that are not on this page' }),
  keys: Type.Array(
    Type.Object({
      type: Type.Union([Type.Literal('user'), Type.Literal('node'), Type.Literal('service')]),
      name: Type.String({ description: 'Whose it is' }),
      ...KeyAnswerFields,
    }),
  ),
});
export const KeyBody = Type.Object({ public_key: PublicKey, ttl: keyTtl }, STRICT);
export const KeyAnswer = Type.Object({ ...KeyAnswerFields, public_key: Type.String() });

export const UserBody = Type.Object(
  {
    name: PrincipalName,
    public_key: PublicKey,
    key_ttl: keyTtl,
    organization: Type.Optional(
      Type.Union([OrganizationName, Type.Null()], {
        description: 'Where it becomes a member; the caller’s own when absent and unambiguous, none when null',
      }),
    ),
    groups: Type.Optional(groups()),
    server_admin: Type.Optional(Type.Boolean()),
  },
  STRICT,
);
export const UserAnswer = Type.Object({
  name: Type.String(),
  server_admin: Type.Boolean(),
  created_at: Time,
  keys: Type.Array(Type.Object({ ...KeyAnswerFields, public_key: Type.String() })),
});
export const MemberAnswer = Type.Object({ name: Type.String(), created_at: Time });

export const InvitationBody = Type.Object({ user: PrincipalName }, STRICT);
export const InvitationAnswer = Type.Object({
  id: Type.String(),
  orgname: Type.String(),
  username: Type.String(),
  invited_by: Type.String(),
  created_at: Time,
  expires_at: Time,
});
export const InvitationResponseBody = Type.Object(
  { response: Type.Union([Type.Literal('accept'), Type.Literal('reject')]) },
  STRICT,
);
export const InvitationAnsweredAnswer = Type.Object({ organization: Type.Object({ name: Type.String() }) });

export const ClientBody = Type.Object({ name: PrincipalName, public_key: PublicKey, key_ttl: keyTtl }, STRICT);
export const ClientAnswer = Type.Object({
  name: Type.String(),
  type: Type.Union([Type.Literal('node'), Type.Literal('service')]),
  created_at: Time,
  keys: Type.Array(Type.Object({ ...KeyAnswerFields, public_key: Type.String() })),
});

export const EnrolBody = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 512 }), name: PrincipalName, public_key: PublicKey },
  STRICT,
);
export const EnrolAnswer = Type.Object({ name: Type.String(), organization: Type.String() });

const ttl = Type.Integer({ minimum: 1, maximum: AUTH_LIMITS.tokenTtl, description: 'Seconds' });
export const TokenBody = Type.Object(
  {
    uses: Type.Optional(Type.Integer({ minimum: 1, maximum: AUTH_LIMITS.enrolUses, default: 1 })),
    ttl: Type.Optional({ ...ttl, default: 3600 }),
  },
  STRICT,
);
const TokenFields = { id: Type.String(), expires_at: Time, created_by: Type.String(), created_at: Time };
export const TokenAnswer = Type.Object({ ...TokenFields, uses_left: Type.Integer() });
export const IssuedTokenAnswer = Type.Object({ ...TokenFields, uses_left: Type.Integer(), token: Type.String() });

export const AccessTokenBody = Type.Object(
  {
    user: Type.Optional({ ...PrincipalName, description: 'The caller when absent' }),
    ttl: Type.Optional({ ...ttl, default: AUTH_LIMITS.defaultTokenTtl }),
    organization: Type.Optional({
      ...OrganizationName,
      description: 'Where its requests go whose paths name none, as those to /jobs/v2; the user belongs to it',
    }),
  },
  STRICT,
);
export const AccessTokenAnswer = Type.Object({ ...TokenFields, user: Type.String() });
export const IssuedAccessTokenAnswer = Type.Object({ ...TokenFields, user: Type.String(), token: Type.String() });

export const ServiceTokenBody = Type.Object(
  { ttl: Type.Optional({ ...ttl, default: AUTH_LIMITS.defaultTokenTtl }) },
  STRICT,
);
export const ServiceTokenAnswer = Type.Object({ ...TokenFields, service: Type.String() });
export const IssuedServiceTokenAnswer = Type.Object({ ...TokenFields, service: Type.String(), token: Type.String() });

const cursor = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));
const ActorKind = Type.Union(
  [
    Type.Literal('user'),
    Type.Literal('node'),
    Type.Literal('service'),
    Type.Literal('server'),
    Type.Literal('claimed'),
  ],
  { description: 'What the actor is; `claimed`: nobody proved to be that' },
);
export const AuditQuery = Type.Object(
  {
    after: cursor('Entries after this id, oldest first'),
    before: cursor('Entries before this id, newest first'),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: AUTH_LIMITS.auditPage, default: 100 })),
    actor: Type.Optional(Type.String({ maxLength: 255 })),
    actor_kind: Type.Optional(ActorKind),
    action: Type.Optional(Type.String({ maxLength: 255, description: 'For example push.start or access.denied' })),
  },
  STRICT,
);
export const AuditAnswer = Type.Object({
  id: Type.Integer(),
  at: Time,
  actor: Type.String({ description: 'Who did it' }),
  actor_kind: ActorKind,
  address: Type.Union([Type.String(), Type.Null()], { description: 'Where the request came from, if it is known' }),
  action: Type.String(),
  target: Type.String(),
  outcome: Type.Union([Type.Literal('done'), Type.Literal('denied')]),
  detail: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
});
export const AuditSealsQuery = Type.Object(
  { after: Type.Optional(Type.Integer({ minimum: 0, description: 'Seals after the one of this number' })) },
  STRICT,
);
export const AuditSealsAnswer = Type.Object({
  organization_id: Type.String(),
  public_key: Type.String({ description: 'PEM, of the server' }),
  server_keys: Type.Array(
    Type.Object({
      previous: Type.String({ description: 'PEM' }),
      key: Type.String({ description: 'PEM' }),
      announced_at: Time,
      takes_over_at: Time,
      revoked: Type.Boolean({ description: 'The previous key was replaced at once: somebody else may have it' }),
      signature: Type.String({ description: 'Base64, by the previous key' }),
      confirmation: Type.String({ description: 'Base64, by the key' }),
    }),
    { description: 'How the key of the server was replaced, the oldest first: earlier seals are by earlier keys' },
  ),
  seals: Type.Array(
    Type.Object({
      seal: Type.Object({
        number: Type.Integer({ description: 'From 1, without gaps' }),
        entries: Type.Integer(),
        at: Time,
        hash: Type.String({ description: 'SHA-256 of the hash before and of the entries, a line feed after each' }),
        signature: Type.String({ description: 'Base64, RSA with SHA-256' }),
      }),
      entries: Type.Array(Type.String({ description: 'JSON text, as it was sealed' })),
    }),
  ),
});

const claim = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 255, description }));
const IssuerName = Type.String({ pattern: GROUP_NAME, description: 'letters, digits and _ . -' });
const Location = Type.String({ minLength: 1, maxLength: 2048 });
const groupsBy = (what: string) =>
  Type.Optional(
    Type.Record(Type.String({ pattern: `^.{1,${LDAP_LIMITS.text}}$` }), GroupName, {
      ...STRICT,
      maxProperties: ISSUER_LIMITS.signInGroups,
      description: `Group of the organization by ${what}. At every sign-in the user joins those that it gives, and leaves the others that are named here`,
    }),
  );
const SignInRules = {
  create_users: Type.Optional(
    Type.Boolean({ description: 'Make a user and member of whoever signs in; otherwise only members sign in' }),
  ),
  ttl: Type.Optional(
    Type.Integer({
      minimum: ISSUER_LIMITS.signInTtl.least,
      maximum: ISSUER_LIMITS.signInTtl.most,
      description: `Seconds that a sign-in lasts; ${ISSUER_LIMITS.signInTtl.usual} (8 h) unless given`,
    }),
  ),
};
export const SignInBody = Type.Object(
  {
    client_id: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Of the command line and the console there',
    }),
    client_secret: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: ISSUER_LIMITS.clientSecret,
        description:
          'Of that client, with which the console redeems codes; it is stored sealed and shown nobody. None: it is a public client. The command line has none',
      }),
    ),
    scope: claim('What the provider is asked for; `openid profile email` unless given'),
    groups_claim: claim('Claim of the ID token with the groups of the user'),
    groups: groupsBy('value of that claim'),
    ...SignInRules,
  },
  STRICT,
);
const ldapText = (description: string) => Type.String({ minLength: 1, maxLength: LDAP_LIMITS.text, description });
const DIRECTORY = {
  bind_dn: ldapText('Distinguished name of the account that asks it'),
  bind_password: Type.String({
    minLength: 1,
    maxLength: LDAP_LIMITS.password,
    description: 'Of that account; it is stored sealed and shown nobody',
  }),
  ca: Type.String({
    maxLength: LDAP_LIMITS.ca,
    description: 'PEM: authorities that may have signed its certificate; those of the system unless given',
  }),
  user_base: ldapText('Entry below which users are looked for'),
  user_filter: ldapText(
    'Which entry is somebody’s: `{user}` is the name that was typed, and the one here. `(uid={user})` unless given, or the attribute of `user_claim`',
  ),
  group_base: ldapText(
    'Entry below which groups are looked for; unless given the entry of the user says them (`memberOf`)',
  ),
  group_filter: ldapText(
    'Which groups are somebody’s: `{dn}` is the name of their entry, `{user}` their name here. `(|(member={dn})(uniqueMember={dn})(memberUid={user}))` unless given',
  ),
  groups: groupsBy('distinguished name of the group there'),
  ...SignInRules,
};
export const DirectoryBody = Type.Object(
  {
    ...DIRECTORY,
    ca: Type.Optional(DIRECTORY.ca),
    user_filter: Type.Optional(DIRECTORY.user_filter),
    group_base: Type.Optional(DIRECTORY.group_base),
    group_filter: Type.Optional(DIRECTORY.group_filter),
  },
  STRICT,
);
export const IssuerBody = Type.Object(
  {
    name: IssuerName,
    public_key: Type.Optional(
      Type.String({ maxLength: 16_384, description: 'PEM: a public key or a certificate. One of the four is given' }),
    ),
    jwks: Type.Optional({ ...Location, description: 'https URL of a JWK set' }),
    oidc: Type.Optional({ ...Location, description: 'https URL of an OpenID provider' }),
    ldap: Type.Optional({
      ...Location,
      description: 'URL of a directory: `ldaps://HOST`, or `ldap://HOST`, which goes on over TLS (StartTLS)',
    }),
    issuer: claim('`iss` of its tokens; of an OpenID provider it is known'),
    audience: claim('Must be among `aud` of its tokens; `muster` unless given, and of a public key any'),
    user_claim: claim(
      'Claim with the name of the user; that of WSO2, or else `sub`, unless given. Of a directory an attribute: `uid`',
    ),
    tenant: claim(
      'What the tenant claim of its tokens says, which they must have then; for organizations that share a gateway',
    ),
    sign_in: Type.Optional({ ...SignInBody, description: 'How people sign in there; with `oidc` alone' }),
    directory: Type.Optional({ ...DirectoryBody, description: 'How it is asked; with `ldap` alone' }),
  },
  STRICT,
);
const withNull = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));
const SIGN_IN = SignInBody.properties;
export const IssuerChange = Type.Object(
  {
    public_key: IssuerBody.properties.public_key,
    jwks: IssuerBody.properties.jwks,
    oidc: IssuerBody.properties.oidc,
    ldap: IssuerBody.properties.ldap,
    issuer: withNull(IssuerBody.properties.issuer),
    audience: withNull(IssuerBody.properties.audience),
    user_claim: withNull(IssuerBody.properties.user_claim),
    tenant: withNull(IssuerBody.properties.tenant),
    sign_in: withNull(
      Type.Object(
        {
          client_id: Type.Optional(SIGN_IN.client_id),
          client_secret: withNull(SIGN_IN.client_secret),
          scope: withNull(SIGN_IN.scope),
          groups_claim: withNull(SIGN_IN.groups_claim),
          groups: withNull(SIGN_IN.groups),
          create_users: SIGN_IN.create_users,
          ttl: withNull(SIGN_IN.ttl),
        },
        STRICT,
      ),
    ),
    directory: Type.Optional(
      Type.Object(
        {
          bind_dn: Type.Optional(DIRECTORY.bind_dn),
          bind_password: Type.Optional({
            ...DIRECTORY.bind_password,
            description:
              'Of that account: said again where another directory, authority or account is asked than before',
          }),
          ca: withNull(DIRECTORY.ca),
          user_base: Type.Optional(DIRECTORY.user_base),
          user_filter: withNull(DIRECTORY.user_filter),
          group_base: withNull(DIRECTORY.group_base),
          group_filter: withNull(DIRECTORY.group_filter),
          groups: withNull(DIRECTORY.groups),
          create_users: DIRECTORY.create_users,
          ttl: withNull(DIRECTORY.ttl),
        },
        STRICT,
      ),
    ),
  },
  { ...STRICT, description: 'What is left out stays; null: as it is unless given' },
);
const OrNull = Type.Union([Type.String(), Type.Null()]);
export const IssuerAnswer = Type.Object({
  name: Type.String(),
  kind: Type.Union([Type.Literal('public_key'), Type.Literal('jwks'), Type.Literal('oidc'), Type.Literal('ldap')]),
  source: Type.String({ description: 'PEM, or where the keys are, or the directory' }),
  issuer: OrNull,
  audience: OrNull,
  user_claim: OrNull,
  tenant: OrNull,
  sign_in: Type.Union([
    Type.Object({
      client_id: Type.String(),
      confidential: Type.Boolean({ description: 'The console proves itself there by a secret' }),
      redirect_uri: Type.String({
        description:
          'Where the provider sends browsers back to that sign in to the console: to be allowed there. With the URL of this request; for others the same path',
      }),
      scope: Type.String(),
      groups_claim: OrNull,
      groups: Type.Record(Type.String(), Type.String()),
      create_users: Type.Boolean(),
      ttl: Type.Integer({ description: 'Seconds' }),
    }),
    Type.Null(),
  ]),
  directory: Type.Union([
    Type.Object({
      bind_dn: Type.String(),
      ca: OrNull,
      user_base: Type.String(),
      user_filter: Type.String(),
      group_base: OrNull,
      group_filter: Type.String(),
      groups: Type.Record(Type.String(), Type.String()),
      create_users: Type.Boolean(),
      ttl: Type.Integer({ description: 'Seconds' }),
    }),
    Type.Null(),
  ]),
  created_at: Time,
});
export const IssuerTestBody = Type.Object(
  {
    user: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'Who is looked for in a directory, as they would type it',
      }),
    ),
  },
  STRICT,
);
export const IssuerTestAnswer = Type.Object({
  name: Type.String(),
  kind: IssuerAnswer.properties.kind,
  keys: Type.Union([Type.Integer({ description: 'With which it signs' }), Type.Null()]),
  person: Type.Union(
    [
      Type.Object({
        dn: Type.String(),
        name: Type.String({ description: 'Of the user here' }),
        found: Type.Array(Type.String(), { description: 'Distinguished names of its groups there' }),
        groups: Type.Array(Type.String(), { description: 'Groups here that these give' }),
      }),
      Type.Null(),
    ],
    { description: 'Who was found' },
  ),
  unknown: Type.Union([Type.String(), Type.Null()], { description: 'Why nobody can sign in by that name' }),
});

export const OfferedSignIn = Type.Union([
  Type.Object({
    name: Type.String(),
    kind: Type.Literal('oidc'),
    issuer: Type.String({ description: 'URL of the OpenID provider' }),
    client_id: Type.String(),
    scope: Type.String(),
  }),
  Type.Object({ name: Type.String(), kind: Type.Literal('ldap', { description: 'By name and password' }) }),
]);
const Typed = {
  user: Type.String({ minLength: 1, maxLength: 255, description: 'As the directory knows somebody' }),
  password: Type.String({ maxLength: LDAP_LIMITS.password, description: 'There' }),
};
export const BeginSignInBody = Type.Object(
  {
    return_to: Type.Optional(
      Type.String({
        maxLength: ISSUER_LIMITS.returnPath,
        description: 'Path within the console where the browser goes once it is signed in',
      }),
    ),
  },
  STRICT,
);
export const BeginSignInAnswer = Type.Object({ url: Type.String({ description: 'Of the provider' }) });
const brought = (description: string) => Type.Optional(Type.String({ maxLength: ISSUER_LIMITS.brought, description }));
/** Providers add parameters of their own. */
export const BroughtBackQuery = Type.Object({
  state: brought('As the browser left with it'),
  code: brought('What is redeemed at the provider'),
  error: brought('Why there is none'),
  iss: brought('Which provider it was'),
});
export const LoginBody = Type.Object(
  {
    issuer: IssuerName,
    id_token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: ISSUER_LIMITS.token,
        description: 'That the provider has just given to the client; good once',
      }),
    ),
    user: Type.Optional(Typed.user),
    password: Type.Optional(Typed.password),
  },
  { ...STRICT, description: 'Either `id_token`, or, at a directory, `user` and `password`' },
);
export const LoginAnswer = Type.Object({
  token: Type.String({ description: 'An access token, good in this organization alone; it is shown this once' }),
  user: Type.String(),
  organization: Type.String(),
  groups: Type.Array(Type.String(), { description: 'That the issuer has given' }),
  expires_at: Time,
});
export const WhoAnswer = Type.Object({
  name: Type.String(),
  kind: Type.Union([Type.Literal('user'), Type.Literal('node'), Type.Literal('service')]),
  organization: Type.String(),
  groups: Type.Array(Type.String(), { description: 'Of the organization, also by way of others' }),
  server_admin: Type.Boolean(),
  by: Type.Union([Type.Literal('key'), Type.Literal('token'), Type.Literal('login'), Type.Literal('session')], {
    description:
      'What proves it: a signature, an access token, one that was got by signing in, or a session of the console',
  }),
  issuer: Type.Union([Type.String(), Type.Null()], { description: 'Where the user signed in' }),
  expires_at: Type.Union([Type.String({ description: 'ISO 8601' }), Type.Null()]),
});

const secret = (description: string) => Type.String({ minLength: 1, maxLength: 512, description });
export const SignInLinkAnswer = Type.Object({
  url: Type.String({ description: 'To be opened in a browser; what is after # never leaves that' }),
  expires_at: Time,
});
export const SessionPreviewBody = Type.Object({ link: secret('What is after `#sign-in=` in the link') }, STRICT);
export const SessionBody = Type.Object(
  {
    link: Type.Optional(secret('What is after `#sign-in=` in the link; it is used up')),
    token: Type.Optional(secret('An access token of a user; the session ends with it')),
    organization: Type.Optional({
      ...OrganizationName,
      description:
        'With a password: where. With a token: where, if that is not said by the token and its user belongs to several',
    }),
    issuer: Type.Optional({ ...IssuerName, description: 'With a password: at which directory, if there are several' }),
    user: Type.Optional(Typed.user),
    password: Type.Optional(Typed.password),
  },
  { ...STRICT, description: 'Either `link`, or `token`, or `organization`, `user` and `password`' },
);
const SessionFields = {
  organization: Type.String(),
  user: Type.String(),
  expires_at: Time,
};
export const SessionPreviewAnswer = Type.Object(SessionFields);
export const SessionAnswer = Type.Object({
  ...SessionFields,
  permissions: Type.Array(Type.String(), {
    description:
      'What the user may do in the organization whatever a route names; a node, a queue or a job may allow more. Routes that need a signed request take none of a browser',
  }),
});
export const TicketAnswer = Type.Object({
  ticket: Type.String({ description: 'The passcode of one login to the event fabric, as ORG/USER' }),
  expires_at: Time,
});
export const ListedSessionAnswer = Type.Object({
  id: Type.String(),
  user: Type.String(),
  by: Type.Union([Type.Literal('link'), Type.Literal('token'), Type.Literal('password'), Type.Literal('provider')], {
    description: 'How it was begun',
  }),
  address: OrNull,
  created_at: Time,
  last_seen_at: Time,
  expires_at: Time,
  current: Type.Boolean({ description: 'It is the one that asks' }),
});
