import { type TSchema, Type } from 'typebox';
import { LDAP_LIMITS } from '../auth/issuers/ldap/types.js';
import { ISSUER_LIMITS } from '../auth/issuers/types.js';
import { GroupName, IssuerName, OrNull, STRICT, Time } from './schemas.js';

/** Request and answer shapes of issuers of tokens, and of sign-ins at them. */
const claim = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 255, description }));
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
