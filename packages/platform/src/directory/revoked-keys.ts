import type { Auth } from '../auth/auth.js';
import { AUTH_LIMITS } from '../auth/limits.js';
import { actorOf, type Organization, type Permission } from '../auth/types.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { revokedKeyView } from './views.js';

/** A list of revoked keys, and who may change it. */
interface RevokedList {
  readonly path: string;
  readonly params: readonly [] | readonly ['org'];
  readonly permission: Permission;
  readonly tag: string;
  readonly list: 'organization' | 'server';
  /** Ends the operation ids. */
  readonly noun: string;
  /** As in `revoked keys of …`. */
  readonly of: string;
}

const REVOKED: readonly RevokedList[] = [
  {
    path: '/organizations/:org/revoked_keys',
    params: ['org'],
    permission: 'org:admin',
    tag: 'organizations',
    list: 'organization',
    noun: 'OfOrganization',
    of: 'an organization, which are refused to its nodes and services',
  },
  {
    path: '/revoked_keys',
    params: [],
    permission: 'server:admin',
    tag: 'users',
    list: 'server',
    noun: 'OfServer',
    of: 'the server, which are refused to everybody',
  },
];

/** Keys that are no secret any more, of each organization and of the server. */
export function revokedKeyRoutes(app: App, auth: Auth): void {
  for (const list of REVOKED) routesOf(app, auth, list);
}

function routesOf(app: App, auth: Auth, { path, params, permission, tag, list, noun, of }: RevokedList): void {
  const tags = [tag];
  const scopeOf = (request: { organization: Organization }) => (params.length === 0 ? null : request.organization);

  app.get(
    path,
    {
      config: { permission },
      schema: {
        tags,
        operationId: `listRevokedKeys${noun}`,
        summary: `Revoked keys of ${of}, the latest first`,
        params: schemas.pathParams(params),
        querystring: schemas.RevokedKeysQuery,
        response: { 200: schemas.RevokedKeysAnswer },
      },
    },
    async (request) => {
      const { limit = AUTH_LIMITS.keyPage, offset = 0 } = request.query;
      const { total, keys } = await auth.revokedKeys.list(scopeOf(request), { limit, offset });
      return { total, keys: keys.map((key) => revokedKeyView(key, list)) };
    },
  );

  app.post(
    path,
    {
      config: { permission, empowers: true },
      schema: {
        tags,
        operationId: `revokeKeys${noun}`,
        summary: `Revoke keys for good, on the list of ${of}: taken from whoever has them, they cannot be registered again. Safe to repeat. What became of each is in the answer (\`listed\`)`,
        params: schemas.pathParams(params),
        body: schemas.RevokeBody,
        response: { 200: schemas.RevokeAnswer },
      },
    },
    async (request) => {
      const revocations = request.body.keys.map(({ fingerprint, reason = null }) => ({ fingerprint, reason }));
      const revoked = await auth.revokedKeys.revoke(scopeOf(request), revocations, actorOf(request.caller));
      return {
        keys: revoked.map(({ heldBy, keptBy, ...rest }) => ({ ...rest, held_by: [...heldBy], kept_by: [...keptBy] })),
      };
    },
  );

  app.delete(
    `${path}/:fingerprint`,
    {
      config: { permission, empowers: true },
      schema: {
        tags,
        operationId: `unrevokeKey${noun}`,
        summary: 'Take a key off the list: it may be registered again. Nobody gets it back by this',
        params: schemas.pathParams([...params, 'fingerprint']),
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      const { fingerprint = '' } = request.params as Readonly<Record<string, string>>;
      await auth.revokedKeys.restore(scopeOf(request), fingerprint, actorOf(request.caller));
      return reply.code(204).send(null);
    },
  );
}
