import { type Cursor, type CursorKey, type Cursors, PRINCIPAL_KINDS, type PrincipalKind } from '@muster/fabric';
import { Type } from 'typebox';
import type { Identity, Organization } from '../../auth/types.js';
import { Nothing } from '../../directory/schemas.js';
import { time } from '../../directory/views.js';
import { MusterError } from '../../errors.js';
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

function answer({ org, principal, kind, name, selector, through, savedMs }: Cursor) {
  const owner = { principal: principal.slice(org.length + 1), kind };
  return { ...owner, name, selector, position: through, saved_at: time(savedMs) };
}

/** A user may have the name of a node or a service. */
function isOwn(caller: Identity, principal: string, kind: PrincipalKind): boolean {
  return principal === caller.name && kind === caller.type;
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
      return (await administers(caller, organization))
        ? all
        : all.filter((one) => isOwn(caller, one.principal, one.kind));
    },
  );

  app.delete(
    '/organizations/:org/events/durable/:principal/:name',
    {
      config: { permission: 'member', empowers: false },
      schema: {
        tags,
        operationId: 'deleteDurableSubscription',
        summary: 'Forget how far a durable subscription is: one’s own, for admins any',
        description:
          'Whoever follows it is told so by an ERROR, `event_durable_deleted`. An admin says by `kind` which is meant ' +
          'when several of that name have one each.',
        params: schemas.DurableParams,
        querystring: schemas.DurableQuery,
        response: Nothing,
      },
    },
    async ({ organization, caller, params, query }, reply) => {
      const { principal, name } = params;
      const all = await administers(caller, organization);
      const found: CursorKey[] = [];
      for (const kind of query.kind === undefined ? PRINCIPAL_KINDS : [query.kind]) {
        const key = { org: organization.name, principal: `${organization.name}/${principal}`, kind, name };
        if ((all || isOwn(caller, principal, kind)) && (await cursors.load(key)) !== null) found.push(key);
      }
      if (found.length > 1) {
        throw new MusterError('invalid_field', {
          field: 'kind',
          reason: `a ${found.map(({ kind }) => kind).join(' and a ')} have one: say which`,
        });
      }
      const [key] = found;
      if (key === undefined || !(await forget(key))) {
        throw new MusterError('not_found', { kind: 'durable subscription', name: `${principal}/${name}` });
      }
      return reply.code(204).send(null);
    },
  );
}
