import type { Cursor, CursorKey, Cursors } from '@muster/fabric';
import { MusterError } from '@muster/wire';
import { Type } from 'typebox';
import { Nothing } from '../../auth/routes/schemas.js';
import { time } from '../../auth/routes/views.js';
import type { Identity, Organization } from '../../auth/types.js';
import type { App } from '../../http/route.js';
import * as schemas from './schemas.js';

const tags = ['events'];

export interface DurableRouteDeps {
  readonly cursors: Cursors;
  /** Ends one for good, also while it is followed. Resolves with whether there was one. */
  readonly forget: (key: CursorKey) => Promise<boolean>;
  /** Is the caller an admin of the organization? */
  readonly administers: (caller: Identity, organization: Organization) => Promise<boolean>;
}

function answer({ org, principal, name, selector, through, savedMs }: Cursor) {
  return { principal: principal.slice(org.length + 1), name, selector, position: through, saved_at: time(savedMs) };
}

/** Durable subscriptions: one's own, and for admins those of the organization. */
export function durableRoutes(app: App, { cursors, forget, administers }: DurableRouteDeps): void {
  app.get(
    '/organizations/:org/events/durable',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listDurableSubscriptions',
        summary: 'Durable subscriptions and how far they are: one’s own, for admins all',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.DurableAnswer) },
      },
    },
    async ({ organization, caller }) => {
      const all = (await cursors.list(organization.name)).map(answer);
      return (await administers(caller, organization)) ? all : all.filter((one) => one.principal === caller.name);
    },
  );

  app.delete(
    '/organizations/:org/events/durable/:principal/:name',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'deleteDurableSubscription',
        summary: 'Forget how far a durable subscription is: one’s own, for admins any',
        description: 'A client that is following it is told so by an ERROR, `event_durable_deleted`.',
        params: schemas.DurableParams,
        response: Nothing,
      },
    },
    async ({ organization, caller, params }, reply) => {
      const { principal, name } = params;
      const mine = principal === caller.name || (await administers(caller, organization));
      const key = { org: organization.name, principal: `${organization.name}/${principal}`, name };
      if (!mine || !(await forget(key))) {
        throw new MusterError('not_found', { kind: 'durable subscription', name: `${principal}/${name}` });
      }
      return reply.code(204).send(null);
    },
  );
}
