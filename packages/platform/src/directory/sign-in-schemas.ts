import { Type } from 'typebox';
import { LDAP_LIMITS } from '../auth/issuers/ldap/types.js';
import { ISSUER_LIMITS } from '../auth/issuers/types.js';
import { HoldingAnswer, IssuerName, LackAnswer, OrganizationName, OrNull, STRICT, Time } from './schemas.js';

/** Request and answer shapes of whoever signs in, and of sessions. */
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
  permissions: Type.Array(HoldingAnswer, {
    description:
      'What the user may do in the organization whatever a route names, and what gives it; a node, a queue or a job may allow more. Routes that need a signed request take none of a browser',
  }),
  missing: Type.Array(LackAnswer, { description: 'All other permissions' }),
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
