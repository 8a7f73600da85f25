import type { Clock } from '@muster/base';
import type { Broker } from '@muster/broker';
import { type App, parseJson } from '@muster/platform/http';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import type { AppStore } from '../apps/app-store.js';
import { invalid, isFields } from '../definition/reader.js';
import { MusterError } from '../errors.js';
import { resourcesOf } from '../request/resources.js';
import { readSubmission } from '../request/submission.js';
import { audited, type CatalogAuth } from '../routes/catalog.js';
import { ACTIVE_STATUSES } from '../status.js';
import type { SystemStore } from '../systems/system-store.js';
import type { LivingWorkers } from '../worker/living-workers.js';
import { type RoutedJob, routingAttributes } from './attributes.js';
import { checkFile, readQueue, readQueues, wholeName } from './definition.js';
import { invalidQueue } from './errors.js';
import type { JobQueues } from './job-queues.js';
import type { JobQueue } from './types.js';

export interface QueueRoutesDeps extends CatalogAuth {
  readonly queues: JobQueues;
  readonly apps: Pick<AppStore, 'find'>;
  readonly systems: Pick<SystemStore, 'defaultOf' | 'find'>;
  readonly broker: Pick<Broker, 'depths'>;
  readonly livingWorkers: LivingWorkers;
  readonly read: Kysely<Schema>;
  readonly clock: Pick<Clock, 'now'>;
}

const QUEUES = '/organizations/:org/job-queues';
const tags = ['job queues'];
const OrgParams = Type.Object({ org: Type.String() });
const QueueParams = Type.Object({ org: Type.String(), queue: Type.String({ description: 'Whole, or its last part' }) });
const OrNull = Type.Union([Type.String(), Type.Null()]);
const QueueAnswer = Type.Object({
  uuid: OrNull,
  name: Type.String({ description: 'Whole: aloe.jobq.TENANT.submit.NAME' }),
  tenantId: Type.String(),
  priority: Type.Integer({ description: 'Higher ones are asked first' }),
  filter: Type.String(),
  created: OrNull,
  lastUpdated: OrNull,
});
const Anything = Type.Unknown();
const ExplainedAnswer = Type.Object({
  queue: Type.String({ description: 'Where it would wait, whole' }),
  byDefault: Type.Boolean({ description: 'No filter matches' }),
  filters: Type.Array(
    Type.Object({
      queue: Type.String(),
      priority: Type.Integer(),
      filter: Type.String(),
      asked: Type.Boolean({ description: 'false: one before it matched' }),
      matched: Type.Boolean(),
      error: OrNull,
      values: Type.Record(Type.String(), Type.Unknown(), { description: 'What the filter speaks of, as it was seen' }),
    }),
    { description: 'In the order in which they are asked' },
  ),
});

/** Job queues: which there are, and which requests go to them. */
export function queueRoutes(app: App, deps: QueueRoutesDeps): void {
  const { queues, clock } = deps;

  app.route({
    method: 'GET',
    url: QUEUES,
    config: { permission: 'job:admin', tenant: 'path' },
    schema: {
      tags,
      operationId: 'listJobQueues',
      summary: 'Job queues in the order in which their filters are asked',
      params: OrgParams,
      response: { 200: Type.Array(QueueAnswer) },
    },
    handler: async ({ organization }) =>
      (await queues.list(organization)).map((queue) => view(queue, organization.name)),
  });

  app.route({
    method: 'PUT',
    url: `${QUEUES}/:queue`,
    config: { permission: 'job:admin', tenant: 'path', empowers: false },
    schema: {
      tags,
      operationId: 'putJobQueue',
      summary: 'Create or change a job queue: priority and filter',
      params: QueueParams,
      body: Anything,
      response: { 200: QueueAnswer },
    },
    handler: async (request) => {
      const { organization, body } = request;
      const { name: tenant } = organization;
      const name = wholeName(tenant, request.params.queue);
      const said = isFields(body) ? { name, ...body } : body;
      const definition = readQueue(said, 'queue', { tenant, file: null });
      if (definition.name !== name) throw invalid('queue.name', `the path names ${name.slice(0, 255)}`);
      const also = audited(deps, request, 'job_queue.set', name);
      const [queue] = await queues.put(organization, [definition], also);
      if (queue === undefined) throw new Error('a queue that was stored is not there');
      return view(queue, tenant);
    },
  });

  app.route({
    method: 'DELETE',
    url: `${QUEUES}/:queue`,
    config: { permission: 'job:admin', tenant: 'path', empowers: false },
    schema: {
      tags,
      operationId: 'deleteJobQueue',
      summary: 'Delete a job queue without jobs',
      params: QueueParams,
      response: { 204: Type.Null({ description: 'Done' }) },
    },
    handler: async (request, reply) => {
      const { organization, params } = request;
      const name = wholeName(organization.name, params.queue).slice(0, 255);
      await queues.remove(organization, name, audited(deps, request, 'job_queue.delete', name));
      return reply.code(204).send(null);
    },
  });

  app.route({
    method: 'POST',
    url: `${QUEUES}/import`,
    config: { permission: 'job:admin', tenant: 'path', empowers: false, anyBody: true },
    schema: {
      tags,
      operationId: 'importJobQueues',
      summary: 'Create and change job queues from a file of definitions, all or none',
      description: 'A list of {name, tenantId, priority, filter}. Queues that are not in it stay as they are.',
      params: OrgParams,
      querystring: Type.Object({
        file: Type.Optional(Type.String({ maxLength: 1024, description: 'Name of the file: TENANT.json' })),
      }),
      response: { 200: Type.Array(QueueAnswer) },
    },
    handler: async (request) => {
      const { organization, rawBody, query } = request;
      const { name: tenant } = organization;
      const { file = `${tenant}.json` } = query;
      checkFile(file, tenant);
      const definitions = readQueues(readFile(rawBody), { tenant, file });
      const also = audited(deps, request, 'job_queue.import', String(definitions.length));
      const stored = await queues.put(organization, definitions, also, 'file');
      return stored.map((queue) => view(queue, tenant));
    },
  });

  app.route({
    method: 'POST',
    url: `${QUEUES}/test`,
    config: { permission: 'job:use', tenant: 'path', empowers: false },
    schema: {
      tags,
      operationId: 'testJobQueues',
      summary: 'Which queue a request for a job would go to, filter by filter, with the values seen',
      params: OrgParams,
      querystring: Type.Object({
        at: Type.Optional(Type.String({ maxLength: 40, description: 'As if it were sent then; ISO 8601' })),
        owner: Type.Optional(Type.String({ maxLength: 255, description: 'As if this user sent it' })),
      }),
      body: Anything,
      response: { 200: ExplainedAnswer },
    },
    handler: async ({ organization, caller, body, query }) => {
      const at = query.at === undefined ? clock.now() : Date.parse(query.at);
      if (!(Math.abs(at) < 8.64e15)) throw invalid('at', 'must be a time, such as 2026-11-23T21:00:00Z');
      const { owner = caller.name } = query;
      const job = { ...(await routed(deps, organization.id, body)), owner, roles: caller.roles ?? null };
      const attributes = routingAttributes({ ...job, tenant: organization.name }, at);
      const { queue, byDefault, answers } = await queues.explain(organization, attributes);
      const filters = answers.map(({ queue: one, ...answer }) => ({
        ...{ queue: one.name, priority: one.priority, filter: one.filter },
        ...answer,
      }));
      return { queue, byDefault, filters };
    },
  });

  app.route({
    method: 'GET',
    url: `${QUEUES}/stats`,
    config: { permission: 'job:admin', tenant: 'path' },
    schema: {
      tags,
      operationId: 'jobQueueStats',
      summary: 'What waits in job queues, and how their jobs stand',
      params: OrgParams,
      response: {
        200: Type.Array(
          Type.Object({
            name: Type.String(),
            ready: Type.Union([Type.Integer(), Type.Null()], {
              description: 'Jobs that wait for a worker; null: the broker has no such queue',
            }),
            held: Type.Integer({ description: 'Jobs that workers work on' }),
            slots: Type.Integer({ description: 'Of the workers that take its jobs: how many they work on at most' }),
            jobs: Type.Record(Type.String(), Type.Integer(), { description: 'That have not ended, by status' }),
          }),
        ),
      },
    },
    handler: async ({ organization }) => {
      const names = (await queues.list(organization)).map(({ name }) => name);
      const depths = await deps.broker.depths(names);
      const counted = await deps.read
        .selectFrom('jobs')
        .select(({ fn }) => ['queue', 'status', fn.countAll<number>().as('count')])
        .where('org_id', '=', organization.id)
        .where('ended', 'is', null)
        .groupBy(['queue', 'status'])
        .execute();
      const workers = await deps.livingWorkers.list(organization.id, { ended: false });
      return names.map((name, index) => {
        const mine = counted.filter(({ queue }) => queue === name);
        const jobs = Object.fromEntries(mine.map(({ status, count }) => [status, Number(count)]));
        const takers = workers.filter(({ queue, state }) => queue === name && state === 'running');
        return {
          name,
          ready: depths[index]?.ready ?? null,
          held: sum(ACTIVE_STATUSES.map((status) => jobs[status] ?? 0)),
          slots: sum(takers.map(({ slots }) => slots)),
          jobs,
        };
      });
    },
  });
}

/** A request as far as queues are chosen by it: with what its app and its system give it. */
async function routed({ apps, systems }: QueueRoutesDeps, orgId: string, body: unknown): Promise<RoutedJob> {
  const submission = readSubmission(body);
  const { appId, name, archive, archiveOnAppError, archiveSystem } = submission;
  const app = await apps.find(orgId, appId);
  if (app === null) throw new MusterError('job_app_not_found', { app: appId });
  const wanted = submission.executionSystem ?? app.executionSystem;
  const system = wanted === null ? await systems.defaultOf(orgId) : await systems.find(orgId, wanted);
  if (system === null) throw new MusterError('not_found', { kind: 'system', name: wanted ?? 'default' });
  return {
    appId,
    name,
    archive,
    archiveOnAppError,
    archiveSystem,
    systemId: system.name,
    ...resourcesOf(submission, app, system),
  };
}

function readFile(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw invalidQueue('JOBS_QUEUE_DEFINITIONS_LOAD_ERROR', 'file', reason);
  }
}

function view({ uuid, name, priority, filter, created, lastUpdated }: JobQueue, tenantId: string) {
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return { uuid, name, tenantId, priority, filter, created: time(created), lastUpdated: time(lastUpdated) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
