import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import type { Permission } from '../auth/types.js';
import { LackAnswer, OrgParams } from '../directory/schemas.js';
import type { App } from '../http/route.js';
import type { EventFamily } from '../log/own-events.js';
import { COUNT_LIMITS, type EventCounts, type HourCount, hourOf, startOfHour } from './event-counts.js';

export interface CountRoutesDeps {
  readonly counts: Pick<EventCounts, 'of'>;
  readonly auth: Pick<Auth, 'authorize' | 'rights'>;
  readonly families: readonly EventFamily[];
  readonly now: () => number;
}

const CountsQuery = Type.Object(
  { hours: Type.Optional(Type.Integer({ minimum: 1, maximum: COUNT_LIMITS.hours, default: COUNT_LIMITS.hours })) },
  { additionalProperties: false },
);

const Counts = Type.Object({
  hours: Type.Array(Type.String(), { description: 'When each begins, ISO 8601, oldest first; the last is not over' }),
  counts: Type.Array(
    Type.Object({
      type: Type.String({ description: 'Of the events' }),
      status: Type.Union([Type.String(), Type.Null()], {
        description: 'How what they tell of ended; null: events of the type are counted together',
      }),
      total: Type.Integer(),
      per_hour: Type.Array(Type.Integer(), { description: 'As many as `hours`' }),
    }),
    { description: 'Of types that are counted by status, those that there were' },
  ),
  left_out: Type.Array(
    Type.Object({
      type: Type.String(),
      ...LackAnswer.properties,
    }),
    { description: 'What is counted and the caller may not read' },
  ),
});

/** What happened in the last hours, in numbers. */
export function countRoutes(app: App, { counts, auth, families, now }: CountRoutesDeps): void {
  const counted = families.flatMap(({ followers, schemas }) =>
    Object.entries(schemas).flatMap(([type, { counted: how }]) =>
      how === undefined || followers === null ? [] : [{ type, how, permission: followers as Permission }],
    ),
  );
  app.get(
    '/organizations/:org/counts',
    {
      config: { permission: 'member' },
      schema: {
        tags: ['events'],
        operationId: 'countEvents',
        summary: 'How often nodes went and came, and work ended, hour by hour',
        description: 'What the caller may not read is left out, and named.',
        params: OrgParams,
        querystring: CountsQuery,
        response: { 200: Counts },
      },
    },
    async ({ organization, caller, query }) => {
      const hours = query.hours ?? COUNT_LIMITS.hours;
      const first = hourOf(now()) - hours + 1;
      const found = counts.of(organization.id, hours);
      const answer = [];
      const leftOut = [];
      for (const { type, how, permission } of counted) {
        if (!(await auth.authorize(caller, organization, permission))) {
          leftOut.push({ type, ...auth.rights.lack(permission) });
          continue;
        }
        const ofType = found.filter((one) => one.type === type);
        const statuses = how === 'by status' ? [...new Set(ofType.map(({ status }) => status))].sort() : [''];
        for (const status of statuses) {
          const perHour = spread(ofType, status, first, hours);
          const total = perHour.reduce((sum, each) => sum + each, 0);
          answer.push({ type, status: status === '' ? null : status, total, per_hour: perHour });
        }
      }
      const begins = Array.from({ length: hours }, (_, at) => new Date(startOfHour(first + at)).toISOString());
      return { hours: begins, counts: answer, left_out: leftOut };
    },
  );
}

function spread(counts: readonly HourCount[], status: string, first: number, hours: number): number[] {
  const perHour = new Array<number>(hours).fill(0);
  for (const { status: its, hour, count } of counts) {
    // Clocks of servers differ: what is told a moment ahead happens now.
    const at = Math.min(hour - first, hours - 1);
    if (its === status) perHour[at] = (perHour[at] ?? 0) + count;
  }
  return perHour;
}
