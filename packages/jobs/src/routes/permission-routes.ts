import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import {
  type Granted,
  isPermission,
  type JobPermission,
  mayExecute,
  mayRead,
  mayWrite,
  PERMISSIONS,
  permissionsOf,
  WORLD,
} from '../controller/access.js';
import { MusterError } from '../errors.js';
import { readFields } from '../request/body.js';
import { echo, refused } from '../request/refusal.js';
import type { Job } from '../types.js';
import { addJobRoute, type Call, type JobRouteDeps } from './deps.js';
import { enveloped } from './schemas.js';
import { type Links, selfOf } from './view.js';

const Permission = Type.Object({
  username: Type.String(),
  internalUsername: Type.Null(),
  permission: Type.Object({ read: Type.Boolean(), write: Type.Boolean(), execute: Type.Boolean() }),
  _links: Type.Object({ self: Type.Object({ href: Type.String() }), parent: Type.Object({ href: Type.String() }) }),
});
const GrantBody = Type.Object({
  username: Type.Optional(Type.String()),
  permission: Type.String({ description: `${PERMISSIONS.join(', ')}; NONE or empty: none any more` }),
});

/** With whom a job is shared (sheet §8.7). */
export function permissionRoutes(app: App, deps: JobRouteDeps): void {
  const { read, sharing } = deps;

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/:id/pems',
    operationId: 'listJobPermissions',
    summary: 'Who may do what with a job',
    result: enveloped(Type.Array(Permission)),
    async handle({ job, query, links }) {
      query.refuseConditions();
      const known = (await job('read', 'read the permissions of')).job;
      const granted = await permissionsOf(read, known.uuid);
      const { limit, offset } = query.list;
      const all = [ownerOf(known), ...granted.filter(({ username }) => username !== known.owner)];
      return { result: all.slice(offset, offset + limit).map((one) => permissionView(known, one, links)) };
    },
  });

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/:id/pems/:user',
    operationId: 'getJobPermission',
    summary: 'What somebody may do with a job',
    result: enveloped(Permission),
    async handle(call) {
      const known = (await call.job('read', 'read the permissions of')).job;
      const user = call.param('user');
      return { result: permissionView(known, await grantedTo(deps, known, user), call.links) };
    },
  });

  const unshare = async (call: Call, job: Job, user: string | null) => {
    await sharing.revoke(job, user, call.asker);
    await call.did('unshare', job, { user });
  };
  const grant = async (call: Call, named: string | null) => {
    const known = (await call.job('share', 'share')).job;
    const { headers, rawBody } = call.request;
    if (rawBody.length === 0) throw refused('ALOE_NULL_PARAMETER', 'permission', 'the request has no body');
    const fields = await readFields({ contentType: headers['content-type'], bytes: rawBody });
    const username = readUser(fields.username, named);
    const permission = readPermission(fields.permission);
    if (permission === null || username === known.owner) {
      // What its owner may is not changed.
      if (permission === null) await unshare(call, known, username);
      const left: Granted = username === known.owner ? ownerOf(known) : { username, permission: 'NONE' };
      return { result: permissionView(known, left, call.links) };
    }
    await sharing.grant(call.organization, known, username, permission, call.asker);
    await call.did('share', known, { user: username, permission });
    return { status: 201, result: permissionView(known, { username, permission }, call.links) };
  };
  addJobRoute(app, deps, {
    method: 'POST',
    path: '/:id/pems',
    operationId: 'grantJobPermission',
    summary: 'Share a job',
    description: 'JSON or a form. `world` stands for everybody in the organization.',
    body: GrantBody,
    result: enveloped(Permission),
    status: 201,
    handle: (call) => grant(call, null),
  });
  addJobRoute(app, deps, {
    method: 'POST',
    path: '/:id/pems/:user',
    operationId: 'grantJobPermissionTo',
    summary: 'Share a job with somebody',
    body: GrantBody,
    result: enveloped(Permission),
    status: 201,
    handle: (call) => grant(call, call.param('user')),
  });

  const revoke = async (call: Call, named: string | null) => {
    const known = (await call.job('share', 'share')).job;
    await unshare(call, known, named);
    return { result: null };
  };
  addJobRoute(app, deps, {
    method: 'DELETE',
    path: '/:id/pems',
    operationId: 'clearJobPermissions',
    summary: 'Share a job with nobody any more',
    result: enveloped(Type.Null()),
    handle: (call) => revoke(call, null),
  });
  addJobRoute(app, deps, {
    method: 'DELETE',
    path: '/:id/pems/:user',
    operationId: 'revokeJobPermission',
    summary: 'Share a job with somebody no more',
    result: enveloped(Type.Null()),
    handle: (call) => revoke(call, call.param('user')),
  });
}

function ownerOf({ owner }: Job): Granted {
  return { username: owner, permission: 'ALL' };
}

async function grantedTo({ read }: JobRouteDeps, job: Job, user: string): Promise<Granted> {
  if (user === job.owner) return ownerOf(job);
  const [granted] = /[\p{Cc}\p{Surrogate}]/u.test(user) ? [] : await permissionsOf(read, job.uuid, [user]);
  if (granted !== undefined) return granted;
  throw new MusterError('job_permission_not_found', { user: user.slice(0, 64), job: job.uuid });
}

function permissionView(job: Job, { username, permission }: Granted, links: Links) {
  const parent = selfOf(job, links);
  return {
    username,
    internalUsername: null,
    permission: { read: mayRead(permission), write: mayWrite(permission), execute: mayExecute(permission) },
    _links: { self: { href: `${parent}/pems/${encodeURIComponent(username)}` }, parent: { href: parent } },
  };
}

/** That of the path, if there is one: the body may repeat it. */
function readUser(given: unknown, named: string | null): string {
  if (given !== undefined && given !== null && typeof given !== 'string') {
    throw refused('ALOE_JSON_VALIDATION_ERROR', 'username', 'must be text');
  }
  const username = given || named || '';
  if (username === '') throw refused('ALOE_NULL_PARAMETER', 'username', `it is missing: a user, or ${WORLD}`);
  if (named === null || named === username) return username;
  throw refused('ALOE_INVALID_PARAMETER', 'username', `'${echo(username)}' is not the user of the path`);
}

/** null: none any more. */
function readPermission(given: unknown): JobPermission | null {
  if (given === undefined) throw refused('ALOE_NULL_PARAMETER', 'permission', 'it is missing');
  if (given === null || given === '') return null;
  const permission = String(given).toUpperCase();
  if (permission === 'NONE') return null;
  if (isPermission(permission)) return permission;
  throw refused('ALOE_INVALID_PARAMETER', 'permission', `'${echo(given)}' is none of ${PERMISSIONS.join(', ')}`);
}
