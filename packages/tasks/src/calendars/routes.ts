import type { Clock } from '@muster/base';
import { actorOf } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import type { Calendars, NamedCalendar } from './calendars.js';
import { readCalendarChanges, readNewCalendar } from './request.js';
import * as schemas from './schemas.js';

export interface CalendarRouteDeps {
  readonly calendars: Calendars;
  readonly clock: Pick<Clock, 'now'>;
}

const CALENDARS = '/organizations/:org/calendars';
const tags = ['calendars'];

/** Calendars: make, list, look at, change, delete. Who administers the organization says when nothing starts. */
export function calendarRoutes(app: App, { calendars, clock }: CalendarRouteDeps): void {
  app.route({
    method: 'GET',
    url: CALENDARS,
    config: { permission: 'member' },
    schema: {
      tags,
      operationId: 'listCalendars',
      summary: 'Calendars by name: when schedules and rules that heed them start nothing',
      params: schemas.OrgParams,
      response: { 200: Type.Array(schemas.CalendarAnswer) },
    },
    handler: async ({ organization }) => calendars.of(organization.id).map((one) => view(organization.id, one)),
  });

  app.route({
    method: 'POST',
    url: CALENDARS,
    config: { permission: 'org:admin', empowers: false },
    schema: {
      tags,
      operationId: 'createCalendar',
      summary: 'Say when nothing is to be started',
      description: 'Schedules and rules heed it that name it in `not_during`.',
      params: schemas.OrgParams,
      body: schemas.NewBody,
      response: { 201: schemas.CalendarAnswer },
    },
    handler: async ({ organization, caller, body }, reply) => {
      const made = await calendars.create(organization, body.name, readNewCalendar(body), actorOf(caller));
      return reply.code(201).send(view(organization.id, made));
    },
  });

  app.route({
    method: 'GET',
    url: `${CALENDARS}/:calendar`,
    config: { permission: 'member' },
    schema: {
      tags,
      operationId: 'getCalendar',
      summary: 'One calendar, and whether it lets nothing start now',
      params: schemas.CalendarParams,
      response: { 200: schemas.CalendarAnswer },
    },
    handler: async ({ organization, params }) =>
      view(organization.id, calendars.existing(organization.id, params.calendar)),
  });

  app.route({
    method: 'PATCH',
    url: `${CALENDARS}/:calendar`,
    // Whoever lifts it has work of others started.
    config: { permission: 'org:admin', empowers: true },
    schema: {
      tags,
      operationId: 'changeCalendar',
      summary: 'Change when nothing is to be started',
      description: '`entries` are given whole. What waits for its end is looked at anew.',
      params: schemas.CalendarParams,
      body: schemas.ChangesBody,
      response: { 200: schemas.CalendarAnswer },
    },
    handler: async ({ organization, caller, params, body }) => {
      const before = calendars.existing(organization.id, params.calendar);
      const asked = readCalendarChanges(body, before);
      return view(organization.id, await calendars.change(organization, before.name, asked, actorOf(caller)));
    },
  });

  app.route({
    method: 'DELETE',
    url: `${CALENDARS}/:calendar`,
    config: { permission: 'org:admin', empowers: false },
    schema: {
      tags,
      operationId: 'deleteCalendar',
      summary: 'Delete a calendar that nothing heeds',
      params: schemas.CalendarParams,
      response: schemas.Nothing,
    },
    handler: async ({ organization, caller, params }, reply) => {
      await calendars.remove(organization, params.calendar, actorOf(caller));
      return reply.code(204).send(null);
    },
  });

  function view(orgId: string, { name, description, timezone, entries, createdAt, updatedAt }: NamedCalendar) {
    const now = calendars.at(orgId, [name], clock.now());
    return {
      name,
      description,
      timezone,
      entries: entries.map((entry) => ({ ...entry })),
      now: now && { until: time(now.until), goes_on: now.goesOn === true, why: now.why },
      created_at: time(createdAt),
      updated_at: time(updatedAt),
    };
  }
}

const time = (ms: number): string => new Date(ms).toISOString();
