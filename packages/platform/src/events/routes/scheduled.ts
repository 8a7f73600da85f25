import { Type } from 'typebox';
import type { Identity, Organization } from '../../auth/types.js';
import { Nothing } from '../../directory/schemas.js';
import { time } from '../../directory/views.js';
import type { App } from '../../http/route.js';
import { EVENT_LIMITS } from '../limits.js';
import type { EventSchedule } from '../schedule.js';
import type { ScheduledEvent } from '../scheduled-rows.js';
import * as schemas from './schemas.js';

const tags = ['events'];

export interface ScheduledRouteDeps {
  readonly schedule: EventSchedule;
  /** Is the caller an admin of the organization? */
  readonly administers: (caller: Identity, organization: Organization) => Promise<boolean>;
}

function answer({ id, type, source, kind, at, createdAt, attributes, size }: ScheduledEvent) {
  return {
    id,
    type,
    source,
    kind,
    at: time(at),
    created_at: time(createdAt),
    attributes: attributes.map(([name, value]) => ({ name, value })),
    size,
  };
}

/** Future events: one's own, and for admins those of the organization. */
export function scheduledRoutes(app: App, { schedule, administers }: ScheduledRouteDeps): void {
  const sourceOf = ({ name }: Identity, organization: Organization) => `${organization.name}/${name}`;
  const whose = async (caller: Identity, organization: Organization) =>
    (await administers(caller, organization)) ? null : { source: sourceOf(caller, organization), kind: caller.type };

  app.get(
    '/organizations/:org/events/scheduled',
    {
      config: { permission: 'member' },
      schema: {
        tags,
        operationId: 'listScheduledEvents',
        summary: 'Future events in the order in which they will be published: one’s own, for admins all',
        params: schemas.OrgParams,
        querystring: schemas.ScheduledQuery,
        response: { 200: Type.Array(schemas.ScheduledAnswer) },
      },
    },
    async ({ organization, caller, query }) => {
      const { limit = EVENT_LIMITS.page } = query;
      return (await schedule.list(organization.id, await whose(caller, organization), limit)).map(answer);
    },
  );

  app.delete(
    '/organizations/:org/events/scheduled/:id',
    {
      config: { permission: 'member', empowers: false },
      schema: {
        tags,
        operationId: 'cancelScheduledEvent',
        summary: 'Take a future event back: one’s own, for admins any',
        params: schemas.ScheduledParams,
        response: Nothing,
      },
    },
    async ({ organization, caller, params }, reply) => {
      const by = sourceOf(caller, organization);
      await schedule.cancel(organization, params.id, { whose: await whose(caller, organization), by });
      return reply.code(204).send(null);
    },
  );
}
