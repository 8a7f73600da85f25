import { Type } from 'typebox';
import { Nothing } from '../directory/schemas.js';
import type { App } from '../http/route.js';
import { SECRET_LIMITS, SECRET_NAME } from './limits.js';
import type { Secret, Secrets } from './secrets.js';

export interface SecretRouteDeps {
  readonly secrets: Secrets;
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
  created_at: Type.String({ description: 'ISO 8601' }),
  updated_at: Type.String({ description: 'ISO 8601' }),
});
const OWNED = 'By its owner, and by admins.';

/** Secrets: set, list, share, delete. No route answers a value. */
export function secretRoutes(app: App, { secrets }: SecretRouteDeps): void {
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
        description: `Of one that is there: ${OWNED} It is stored sealed, and shown nobody.`,
        params: Params,
        body: Type.Object(
          {
            value: Type.String({
              description: `Text of ${SECRET_LIMITS.leastBytes} to ${SECRET_LIMITS.mostBytes} bytes`,
              maxLength: SECRET_LIMITS.mostBytes,
            }),
          },
          STRICT,
        ),
        response: { 200: Answer },
      },
    },
    async ({ organization, caller, params, body }) =>
      view(await secrets.set(organization, params.secret, body.value, caller)),
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
        response: { 200: Answer },
      },
    },
    async ({ organization, caller, params, body }) => {
      const { grant = [], revoke = [] } = body;
      return view(await secrets.share(organization, params.secret, { grant, revoke }, caller));
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

function view({ name, owner, holders, createdAt, updatedAt }: Secret) {
  return {
    name,
    owner: owner.name,
    holders: [...holders],
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  };
}
