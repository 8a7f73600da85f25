import { Type } from 'typebox';
import { Nothing } from '../directory/schemas.js';
import { MusterError } from '../errors.js';
import type { App } from '../http/route.js';
import { SECRET_LIMITS, SECRET_NAME } from './limits.js';
import { isReference, PROVIDER_LIMITS, REFERENCE_IN_WORDS } from './providers/limits.js';
import type { SecretProviders } from './providers/providers.js';
import type { Secret, Secrets, Source } from './secrets.js';

export interface SecretRouteDeps {
  readonly secrets: Secrets;
  readonly providers: Pick<SecretProviders, 'of'>;
}

const STRICT = { additionalProperties: false } as const;
const SECRETS = '/organizations/:org/secrets';
const tags = ['secrets'];
const OrgParams = Type.Object({ org: Type.String() });
const Params = Type.Object({
  org: Type.String(),
  secret: Type.String({ pattern: SECRET_NAME, description: 'Letters, digits and _ . -' }),
});
const Holders = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: SECRET_LIMITS.holder }), {
      description,
      maxItems: SECRET_LIMITS.holders,
    }),
  );
const Answer = Type.Object({
  name: Type.String(),
  owner: Type.String({ description: 'Who made it' }),
  holders: Type.Array(Type.String(), {
    description: 'Who may use it besides its owner and admins: `alice`, `group:NAME`, `client:NAME`',
  }),
  provider: Type.Union([Type.String(), Type.Null()], { description: 'Who keeps its value; null: it is kept here' }),
  reference: Type.Union([Type.String(), Type.Null()], { description: 'What it is there' }),
  created_at: Type.String({ description: 'ISO 8601' }),
  updated_at: Type.String({ description: 'ISO 8601' }),
});
const ShareAnswer = Type.Object({
  ...Answer.properties,
  unknown: Type.Array(Type.String(), {
    description: 'Of `grant`: who is not there, or not yet, as people who have still to sign in',
  }),
});
const OWNED = 'By its owner, and by admins.';

/** Secrets: set, list, share, delete. No route answers a value. */
export function secretRoutes(app: App, { secrets, providers }: SecretRouteDeps): void {
  app.get(
    '/organizations/:org/secret-providers',
    {
      config: { permission: 'secret:use' },
      schema: {
        tags,
        operationId: 'listSecretProviders',
        summary: 'Providers of secrets that the owner of the server has configured for the organization',
        params: OrgParams,
        response: {
          200: Type.Array(
            Type.Object({ name: Type.String(), type: Type.Union([Type.Literal('command'), Type.Literal('vault')]) }),
          ),
        },
      },
    },
    async ({ organization }) => [...providers.of(organization.name)],
  );

  app.get(
    SECRETS,
    {
      config: { permission: 'secret:use' },
      schema: {
        tags,
        operationId: 'listSecrets',
        summary: 'Secrets that one may use, by name; never their values',
        params: OrgParams,
        response: { 200: Type.Array(Answer) },
      },
    },
    async ({ organization, caller }) => (await secrets.list(organization, caller)).map(view),
  );

  app.get(
    `${SECRETS}/:secret`,
    {
      config: { permission: 'secret:use' },
      schema: {
        tags,
        operationId: 'getSecret',
        summary: 'A secret that one may use; never its value',
        params: Params,
        response: { 200: Answer },
      },
    },
    async ({ organization, caller, params }) => view(await secrets.usable(organization, params.secret, caller)),
  );

  app.put(
    `${SECRETS}/:secret`,
    {
      // It stays when the token with which it was set is long gone.
      config: { permission: 'secret:use', empowers: true },
      schema: {
        tags,
        operationId: 'setSecret',
        summary: 'Keep a value under a name, new or in the place of the one before',
        description: `Either a value, which is stored sealed and shown nobody; or a provider and what it is there, which admins name: it is fetched when it is used, and once now, to see that it is there. Of one that is there: ${OWNED}`,
        params: Params,
        body: Type.Object(
          {
            value: Type.Optional(
              Type.String({
                description: `Text of ${SECRET_LIMITS.leastBytes} to ${SECRET_LIMITS.mostBytes} bytes`,
                maxLength: SECRET_LIMITS.mostBytes,
              }),
            ),
            provider: Type.Optional(Type.String({ maxLength: SECRET_LIMITS.name, description: 'Its name' })),
            reference: Type.Optional(
              Type.String({
                maxLength: PROVIDER_LIMITS.reference,
                description: `What it is there: of a Vault \`PATH#FIELD\`, of the field \`value\` unless it says; it has ${REFERENCE_IN_WORDS}`,
              }),
            ),
          },
          STRICT,
        ),
        response: { 200: Answer },
      },
    },
    async ({ organization, caller, params, body }) =>
      view(await secrets.set(organization, params.secret, sourceOf(body), caller)),
  );

  app.patch(
    `${SECRETS}/:secret`,
    {
      config: { permission: 'secret:use', empowers: true },
      schema: {
        tags,
        operationId: 'shareSecret',
        summary: 'Change who may use a secret',
        description: OWNED,
        params: Params,
        body: Type.Object(
          {
            grant: Holders('Who may use it from now on: `alice`, `group:NAME`, `client:NAME`'),
            revoke: Holders('Who may not any more'),
          },
          STRICT,
        ),
        response: { 200: ShareAnswer },
      },
    },
    async ({ organization, caller, params, body }) => {
      const { grant = [], revoke = [] } = body;
      const shared = await secrets.share(organization, params.secret, { grant, revoke }, caller);
      return { ...view(shared), unknown: [...(await secrets.unknownHolders(organization, grant))] };
    },
  );

  app.delete(
    `${SECRETS}/:secret`,
    {
      config: { permission: 'secret:use', empowers: true },
      schema: {
        tags,
        operationId: 'deleteSecret',
        summary: 'Delete a secret; what has been given it keeps it until it ends',
        description: OWNED,
        params: Params,
        response: Nothing,
      },
    },
    async ({ organization, caller, params }, reply) => {
      await secrets.remove(organization, params.secret, caller);
      return reply.code(204).send(null);
    },
  );
}

/** @throws MusterError `invalid_field` */
function sourceOf(body: { value?: string; provider?: string; reference?: string }): Source {
  const { value, provider, reference } = body;
  if (value !== undefined && provider === undefined && reference === undefined) return { value };
  if (value === undefined && provider !== undefined && reference !== undefined) {
    if (!isReference(reference))
      throw new MusterError('invalid_field', { field: 'reference', reason: `must have ${REFERENCE_IN_WORDS}` });
    return { provider, reference };
  }
  throw new MusterError('invalid_field', { field: 'value', reason: 'give value, or provider and reference' });
}

function view({ name, owner, holders, from, createdAt, updatedAt }: Secret) {
  return {
    name,
    owner: owner.name,
    holders: [...holders],
    provider: from?.provider ?? null,
    reference: from?.reference ?? null,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  };
}
