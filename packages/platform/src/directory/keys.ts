import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { listKeys } from '../auth/key-list.js';
import { AUTH_LIMITS } from '../auth/limits.js';
import { actorOf, type Organization, type Permission, type PrincipalType } from '../auth/types.js';
import type { App } from '../http/route.js';
import * as schemas from './schemas.js';
import { keyView, listedKeyView } from './views.js';

/** Whose keys, where they are found, and who may change them. */
interface KeyOwners {
  readonly type: PrincipalType;
  readonly path: string;
  /** Names of the path's parameters, the owner's last. */
  readonly params: readonly ['name'] | readonly ['org', 'node' | 'name'];
  readonly permission: Permission;
  readonly tag: string;
  /** Ends the operation ids. */
  readonly noun: string;
}

const OWNERS: readonly KeyOwners[] = [
  { type: 'user', path: '/users/:name', params: ['name'], permission: 'user:self', tag: 'users', noun: 'Key' },
  {
    type: 'node',
    path: '/organizations/:org/nodes/:node',
    params: ['org', 'node'],
    permission: 'org:admin',
    tag: 'nodes',
    noun: 'NodeKey',
  },
  {
    type: 'service',
    path: '/organizations/:org/services/:name',
    params: ['org', 'name'],
    permission: 'org:admin',
    tag: 'services',
    noun: 'ServiceKey',
  },
];

/** Every principal has one or more keys, so that one can be replaced without a moment in which none works. */
export function keyRoutes(app: App, auth: Auth): void {
  allKeys(app, auth);
  for (const owners of OWNERS) keysOf(app, auth, owners);
}

function allKeys(app: App, auth: Auth): void {
  app.get(
    '/organizations/:org/keys',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags: ['organizations'],
        operationId: 'listKeysOfOrganization',
        summary: 'The keys of nodes, services and users of an organization, and when they expire',
        params: schemas.OrgParams,
        querystring: schemas.KeysQuery,
        response: { 200: schemas.KeysAnswer },
      },
    },
    async ({ organization, query }) => {
      const { expires_within: within, limit = AUTH_LIMITS.keyPage, offset = 0 } = query;
      const expiringBy = within === undefined ? null : auth.changes.now + within * 1000;
      const { total, keys } = await listKeys(auth.repository, { orgId: organization.id, expiringBy, limit, offset });
      return { total, keys: keys.map(listedKeyView) };
    },
  );
}

function keysOf(app: App, auth: Auth, owners: KeyOwners): void {
  const { type, path, params, permission, tag, noun } = owners;
  const tags = [tag];
  const ofOne = (request: { params: Readonly<Record<string, string>>; organization: Organization }) => ({
    orgId: type === 'user' ? null : request.organization.id,
    name: request.params[params.at(-1) ?? ''] ?? '',
  });

  app.get(
    `${path}/keys`,
    {
      config: { permission },
      schema: {
        tags,
        operationId: `list${noun}s`,
        summary: `The keys of a ${type}`,
        params: schemas.pathParams(params),
        response: { 200: Type.Array(schemas.KeyAnswer) },
      },
    },
    async (request) => {
      const { orgId, name } = ofOne(request);
      return (await auth.principals.get(orgId, type, name)).keys.map(keyView);
    },
  );

  app.post(
    `${path}/keys`,
    {
      config: { permission, empowers: true },
      schema: {
        tags,
        operationId: `add${noun}`,
        summary: `Give a ${type} one more key`,
        params: schemas.pathParams(params),
        body: schemas.KeyBody,
        response: { 201: schemas.KeyAnswer },
      },
    },
    async (request, reply) => {
      const { caller, body } = request;
      const { orgId, name } = ofOne(request);
      const given = { publicKey: body.public_key, keyTtl: body.ttl };
      const key = await auth.principals.addKey(orgId, type, name, given, actorOf(caller));
      return reply.code(201).send(keyView(key));
    },
  );

  app.delete(
    `${path}/keys/:fingerprint`,
    {
      config: { permission, empowers: true },
      schema: {
        tags,
        operationId: `delete${noun}`,
        summary: `Take a key away from a ${type}; the last one stays`,
        params: schemas.pathParams([...params, 'fingerprint']),
        response: schemas.Nothing,
      },
    },
    async (request, reply) => {
      const { caller } = request;
      const { orgId, name } = ofOne(request);
      const { fingerprint = '' } = request.params;
      await auth.principals.removeKey(orgId, type, name, fingerprint, actorOf(caller));
      if (type === 'node') await auth.listeners.keyRemoved(request.organization, name, fingerprint);
      return reply.code(204).send(null);
    },
  );
}
