import { type Auth, actorOf, type Organization, whilePresent } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import { AskedAnswer, askedView } from '@muster/push';
import type { Schema, Write } from '@muster/store';
import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { readHeeded } from '../calendars/request.js';
import { MusterError } from '../errors.js';
import type { By, TaskController } from '../ports.js';
import { existingQueue } from '../routes/deps.js';
import { ScheduleAccess } from './access.js';
import type { NewSchedule } from './administration.js';
import { pastRuns } from './history.js';
import type { Schedules } from './layer.js';
import type { LiveSchedule } from './live-schedule.js';
import { workOf } from './repository.js';
import { readNewSchedule, readScheduleChanges, type WorkReader } from './request.js';
import * as schemas from './schemas.js';
import type { Work } from './types.js';
import { pastRunView, runView, type ShownAlong, scheduleDetail, scheduleView } from './view.js';

export interface ScheduleRouteDeps {
  readonly read: Kysely<Schema>;
  readonly schedules: Pick<
    Schedules,
    'administration' | 'approvals' | 'calendars' | 'controller' | 'granted' | 'runs' | 'starter'
  >;
  readonly tasks: Pick<TaskController, 'queue'>;
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations' | 'rights'>;
  /** Bytes of parameters of a task. */
  readonly maxParams: number;
}

type Asked = Pick<FastifyRequest, 'caller' | 'organization'>;

const SCHEDULES = '/organizations/:org/schedules';
const tags = ['schedules'];
const CHANGES = 'It runs with the rights of whoever changed it last, from then on.';

/** Schedules: make, list, look at, change, run now, delete. */
export function scheduleRoutes(app: App, deps: ScheduleRouteDeps): void {
  const { auth, schedules, tasks } = deps;
  const { administration, approvals, calendars, controller, granted, runs, starter } = schedules;
  const access = new ScheduleAccess(auth);

  app.route({
    method: 'GET',
    url: SCHEDULES,
    config: { permission: 'schedule:use' },
    schema: {
      tags,
      operationId: 'listSchedules',
      summary: 'Schedules by name, with their next and their last run',
      params: schemas.OrgParams,
      response: { 200: schemas.ScheduleListAnswer },
    },
    handler: async ({ caller, organization }) => {
      const seen = await access.readable(caller, controller.of(organization.id));
      const along = await shownAlong(organization, seen);
      return seen.map((live) => scheduleView(live, along));
    },
  });

  app.route({
    method: 'POST',
    url: SCHEDULES,
    // It goes on when the token with which it was made is long gone.
    config: { permission: 'schedule:use', empowers: true },
    schema: {
      tags,
      operationId: 'createSchedule',
      summary: 'Make a schedule of tasks or of push jobs',
      description:
        'It runs with the rights of whoever makes it, as they are at each run. 202: it is made when others have agreed to it, as a policy of approval wants it; its runs wait for nobody then.',
      params: schemas.OrgParams,
      body: schemas.ScheduleBody,
      response: { 201: schemas.ScheduleDetailAnswer, 202: AskedAnswer },
    },
    handler: async (request, reply) => {
      const { caller, organization } = request;
      const asked = readNewSchedule(request.body, reader(organization));
      await access.assertMayStart(caller, organization, asked.work);
      const files = await filesOf(organization, asked.work);
      if (controller.find(organization.id, asked.name) !== undefined) {
        throw new MusterError('schedule_exists', { name: asked.name });
      }
      const waits = await askFor(request, null, asked);
      if (waits !== null) return reply.code(202).send(waits);
      const by = byWhom(request, 'schedule.create', asked.name, { cron: asked.cron, kind: asked.work.kind }, files);
      const live = await whilePresent(organization, administration.create(organization, asked, by));
      return reply.code(201).send(await show(live));
    },
  });

  app.route({
    method: 'GET',
    url: `${SCHEDULES}/:schedule`,
    config: { permission: 'schedule:use' },
    schema: {
      tags,
      operationId: 'getSchedule',
      summary: 'One schedule with what it runs, and its next five times',
      params: schemas.ScheduleParams,
      response: { 200: schemas.ScheduleDetailAnswer },
    },
    handler: async (request) => show(await existing(request, request.params.schedule)),
  });

  app.route({
    method: 'PATCH',
    url: `${SCHEDULES}/:schedule`,
    config: { permission: 'schedule:use', empowers: true },
    schema: {
      tags,
      operationId: 'changeSchedule',
      summary: 'Change when a schedule runs, or what',
      description: `\`task\` and \`push\` are given whole. ${CHANGES}`,
      params: schemas.ScheduleParams,
      body: schemas.ScheduleChangesBody,
      response: { 200: schemas.ScheduleDetailAnswer, 202: AskedAnswer },
    },
    handler: async (request, reply) => {
      const { caller, organization, body } = request;
      const live = await changeable(request, request.params.schedule);
      const changes = readScheduleChanges(body, live.schedule, reader(organization));
      await access.assertMayStart(caller, organization, changes.work ?? live.schedule.work);
      const files = await filesOf(organization, changes.work);
      const waits = await askFor(request, live, changes);
      if (waits !== null) return reply.code(202).send(waits);
      const changed = { changed: Object.keys(body).join(', ') };
      const by = byWhom(request, 'schedule.change', live.schedule.name, changed, files);
      await whilePresent(organization, administration.change(live, changes, by));
      return show(live);
    },
  });

  stateRoute('pause', false, 'Run it no more until it is resumed', (live, by) => administration.pause(live, by));
  stateRoute('resume', true, 'Run it again from its next time on', (live, by) => administration.resume(live, by));

  app.route({
    method: 'POST',
    url: `${SCHEDULES}/:schedule/run`,
    config: { permission: 'schedule:use', empowers: false },
    schema: {
      tags,
      operationId: 'runSchedule',
      summary: 'Run it once more, now, for the caller',
      description: 'Also while it is paused, and beside a run that goes on. Its next time stays as it is.',
      params: schemas.ScheduleParams,
      response: { 201: schemas.RunAnswer },
    },
    handler: async (request, reply) => {
      const { caller, organization } = request;
      const live = await changeable(request, request.params.schedule);
      await access.assertMayStart(caller, organization, live.schedule.work);
      const { name, work } = live.schedule;
      const record = (started: string) => auth.audit.write(entry(request, 'schedule.run', name, { run: started }));
      const run = await whilePresent(organization, administration.run(live, caller, record));
      return reply.code(201).send(runView(work.kind, run));
    },
  });

  app.route({
    method: 'GET',
    url: `${SCHEDULES}/:schedule/runs`,
    config: { permission: 'schedule:use' },
    schema: {
      tags,
      operationId: 'listScheduleRuns',
      summary: 'What a schedule has started, or missed, newest first',
      description: 'Of the last 30 days.',
      params: schemas.ScheduleParams,
      querystring: schemas.PageQuery,
      response: { 200: Type.Array(schemas.PastRunAnswer) },
    },
    handler: async (request) => {
      const { limit = 50, offset = 0 } = request.query;
      const { schedule } = await existing(request, request.params.schedule);
      const past = await pastRuns(deps.read, schedule, { limit, offset });
      const started = past.flatMap(({ kind, run }) => (run === null ? [] : [{ kind, run }]));
      const statuses = await runs.statuses(started);
      return past.map((one) => pastRunView(one, statuses));
    },
  });

  app.route({
    method: 'DELETE',
    url: `${SCHEDULES}/:schedule`,
    config: { permission: 'schedule:use', empowers: false },
    schema: {
      tags,
      operationId: 'deleteSchedule',
      summary: 'Delete a schedule; what it has started goes on',
      params: schemas.ScheduleParams,
      response: schemas.Nothing,
    },
    handler: async (request, reply) => {
      const live = await changeable(request, request.params.schedule);
      const by = byWhom(request, 'schedule.delete', live.schedule.name);
      await whilePresent(request.organization, administration.remove(live, by));
      return reply.code(204).send(null);
    },
  });

  function stateRoute(
    action: 'pause' | 'resume',
    empowers: boolean,
    summary: string,
    work: (live: LiveSchedule, by: By) => Promise<void>,
  ): void {
    app.route({
      method: 'POST',
      url: `${SCHEDULES}/:schedule/${action}`,
      config: { permission: 'schedule:use', empowers },
      schema: {
        tags,
        operationId: `${action}Schedule`,
        summary,
        ...(action === 'resume' && { description: `One that was held runs for whoever resumes it.` }),
        params: schemas.ScheduleParams,
        response: { 200: schemas.ScheduleDetailAnswer, ...(action === 'resume' && { 202: AskedAnswer }) },
      },
      handler: async (request, reply) => {
        const { caller, organization } = request;
        const live = await changeable(request, request.params.schedule);
        if (action === 'resume') await access.assertMayStart(caller, organization, live.schedule.work);
        const waits = action === 'resume' && live.state.status === 'held' ? await askFor(request, live, {}) : null;
        if (waits !== null) return reply.code(202).send(waits);
        await whilePresent(organization, work(live, byWhom(request, `schedule.${action}`, live.schedule.name)));
        return show(live);
      },
    });
  }

  /** @throws MusterError `not_found`, also for schedules that the caller may not see. */
  async function existing({ caller, organization }: Asked, name: string): Promise<LiveSchedule> {
    const live = controller.find(organization.id, name);
    if (live !== undefined && (await access.mayRead(caller, live.schedule))) return live;
    throw new MusterError('not_found', { kind: 'schedule', name: name.slice(0, 80) });
  }

  async function changeable(request: Asked, name: string): Promise<LiveSchedule> {
    const live = await existing(request, name);
    await access.assertMayChange(request.caller, live.schedule);
    return live;
  }

  function reader(organization: Organization): WorkReader {
    const queueOf = (idOrName: string) => existingQueue({ controller: tasks }, organization.id, idOrName);
    const heeded = (names: readonly string[]) => readHeeded(calendars, organization.id, names);
    return { queueOf, heeded, push: starter, maxParams: deps.maxParams };
  }

  async function shownAlong({ id: orgId }: Organization, shown: readonly LiveSchedule[]): Promise<ShownAlong> {
    const last = shown.flatMap(({ schedule, state }) =>
      state.last === null ? [] : [{ kind: schedule.work.kind, run: state.last.run }],
    );
    return { queueName: (id) => tasks.queue(orgId, id)?.name ?? null, statuses: await runs.statuses(last) };
  }

  async function show(live: LiveSchedule) {
    const work = await workOf(deps.read, live.schedule.id);
    if (work === undefined) throw new MusterError('not_found', { kind: 'schedule', name: live.schedule.name });
    return scheduleDetail(live, work, await shownAlong(live.schedule.org, [live]));
  }

  function entry({ caller, organization }: Asked, action: string, target: string, detail: Detail = {}) {
    return { orgId: organization.id, actor: actorOf(caller), action, target, outcome: 'done', detail } as const;
  }

  /** Asks those who have to agree to it; null: nobody has to. */
  async function askFor({ caller, organization }: Asked, live: LiveSchedule | null, changes: Partial<NewSchedule>) {
    const schedule = live === null ? (changes as NewSchedule) : await granted.changed(live, changes);
    if (schedule === null) return null;
    const { work } = schedule;
    const asked = await granted.asks(organization, caller, work);
    if (asked === null || work.kind === 'task') return null;
    const order = granted.orderOf(live, { ...schedule, work });
    return askedView(await approvals.ask(organization, order, caller, asked));
  }

  /** What its push jobs will take along is kept from now on. @throws MusterError `push_file_missing` */
  async function filesOf(organization: Organization, work: Work | undefined): Promise<readonly Write[]> {
    return work?.kind === 'push' ? starter.named(organization, starter.read(work.job)) : [];
  }

  function byWhom(
    request: Asked,
    action: string,
    target: string,
    detail: Detail = {},
    along: readonly Write[] = [],
  ): By {
    const { organizations, audit } = auth;
    const audited = audit.write(entry(request, action, target, detail));
    return { identity: request.caller, record: [organizations.present(request.organization), audited, ...along] };
  }
}

type Detail = Readonly<Record<string, string>>;
