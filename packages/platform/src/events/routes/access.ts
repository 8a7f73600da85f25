import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { actorOf } from '../../auth/types.js';
import { Nothing } from '../../directory/schemas.js';
import { MusterError } from '../../errors.js';
import type { App } from '../../http/route.js';
import type { EventGrants, EventGrantView } from '../grants.js';
import * as schemas from './schemas.js';

const tags = ['events'];
const ONE = '/organizations/:org/events/access/:action/:pattern';

function answer({ action, pattern, users, clients, groups }: EventGrantView) {
  return { action, pattern, users: [...users], clients: [...clients], groups: [...groups] };
}

/** Event types that are for some only. */
export function accessRoutes(app: App, grants: EventGrants): void {
  app.get(
    '/organizations/:org/events/access',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'listEventAccess',
        summary: 'Event types that are restricted, and to whom',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.GrantAnswer) },
      },
    },
    async ({ organization }) => (await grants.list(organization.id)).map(answer),
  );

  app.put(
    ONE,
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'putEventAccess',
        summary: 'Restrict event types to these; with an empty body to nobody',
        params: schemas.GrantParams,
        body: schemas.GrantBody,
        response: { 200: schemas.StoredGrantAnswer },
      },
    },
    async ({ organization, params, body, caller }) => {
      const { action, pattern } = params;
      if (!Check(schemas.GrantPattern, pattern)) {
        const reason = 'give an event type (letters, digits and _ . -), or its beginning and *';
        throw new MusterError('invalid_field', { field: 'pattern', reason });
      }
      const { users = [], clients = [], groups = [] } = body;
      const stored = await grants.put(organization, { action, pattern }, { users, clients, groups }, actorOf(caller));
      const unknown = await grants.unknown(organization, stored);
      return {
        ...answer(stored),
        unknown: { users: [...unknown.users], clients: [...unknown.clients], groups: [...unknown.groups] },
      };
    },
  );

  app.delete(
    ONE,
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'deleteEventAccess',
        summary: 'Restrict these event types no longer',
        params: schemas.GrantParams,
        response: Nothing,
      },
    },
    async ({ organization, params, caller }, reply) => {
      await grants.remove(organization, params, actorOf(caller));
      return reply.code(204).send(null);
    },
  );
}
