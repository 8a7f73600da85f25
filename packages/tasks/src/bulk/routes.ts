import { whilePresent } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import { MusterError } from '../errors.js';
import { isId } from '../ids.js';
import { invalid } from '../request/fields.js';
import { readActedOn } from '../routes/acted-on.js';
import { by, existingQueue, type TaskRouteDeps } from '../routes/deps.js';
import { OrgParams, QueueParams } from '../routes/schemas.js';
import { readId } from '../routes/task-routes.js';
import { bulkRunOf, bulkStateOf, findBulkRun, newestBulkRuns, type Row } from './repository.js';
import type { BulkRunner } from './runner.js';
import * as schemas from './schemas.js';
import { type BulkView, bulkView } from './view.js';

export interface BulkRouteDeps extends TaskRouteDeps {
  readonly bulk: BulkRunner;
}

/** So many are told at once. */
const LISTED = 50;
const tags = ['tasks'];
const description =
  'The answer comes when it is stored that it is to be done; it goes on when the server is restarted, with the rights of whoever asked for it. ' +
  'Each task is acted on by itself: those that cannot be stay as they are, and are told with the reason. `task.bulk` events tell how far it is.';

/** All tasks of an organization, for those with the roles, and those of one queue, for its own readers and writers, too. */
const PLACES = [
  {
    under: '/organizations/:org/tasks/bulk',
    reads: 'task:read',
    writes: 'task:write',
    params: OrgParams,
    bulkParams: schemas.BulkParams,
    operation: 'Bulk',
    of: '',
  },
  {
    under: '/organizations/:org/queues/:queue/tasks/bulk',
    reads: 'queue:read',
    writes: 'queue:write',
    params: QueueParams,
    bulkParams: schemas.QueueBulkParams,
    operation: 'QueueBulk',
    of: ' of one queue',
  },
] as const;

/** What the schemas of both places let through. */
interface Named {
  readonly queue?: string;
  readonly bulk?: string;
}

/** Actions on many tasks that the server carries out: start, look at, stop. */
export function bulkRoutes(app: App, deps: BulkRouteDeps): void {
  const { read, controller, bulk } = deps;

  for (const { under, reads, writes, params, bulkParams, operation, of } of PLACES) {
    app.route({
      method: 'POST',
      url: under,
      config: { permission: writes, empowers: false },
      schema: {
        tags,
        operationId: `start${operation}`,
        summary: `Have the server retry, cancel, hold, release or delete many tasks${of}`,
        description,
        params,
        body: schemas.BulkBody,
        response: { 202: schemas.BulkAnswer },
      },
      handler: async (request, reply) => reply.code(202).send(await start(request, request.body)),
    });
    app.route({
      method: 'GET',
      url: under,
      config: { permission: reads },
      schema: {
        tags,
        operationId: `list${operation}`,
        summary: `What the server does to many tasks${of}, the newest first, at most ${LISTED}`,
        params,
        response: { 200: schemas.BulkListAnswer },
      },
      handler: async (request) => {
        const { id: orgId } = request.organization;
        const rows = await newestBulkRuns(read, orgId, { queueId: queueOf(request), limit: LISTED });
        return rows.map((row) => asNow(row, request));
      },
    });
    app.route({
      method: 'GET',
      url: `${under}/:bulk`,
      config: { permission: reads },
      schema: {
        tags,
        operationId: `show${operation}`,
        summary: `How far the server is with many tasks${of}, or how it ended`,
        params: bulkParams,
        response: { 200: schemas.BulkAnswer },
      },
      handler: async (request) => asNow(await existing(request), request),
    });
    app.route({
      method: 'POST',
      url: `${under}/:bulk/stop`,
      config: { permission: writes, empowers: false },
      schema: {
        tags,
        operationId: `stop${operation}`,
        summary: `Act on no further task${of}; what was done stays done`,
        description: 'What is over stays as it is.',
        params: bulkParams,
        response: { 200: schemas.BulkAnswer },
      },
      handler: async (request) => {
        const { id } = await existing(request);
        const who = by(deps, request, { action: 'bulk.stop', target: id });
        await whilePresent(request.organization, bulk.end(id, who));
        return asNow(await existing(request), request);
      },
    });
  }

  function queueOf({ organization, params }: Pick<FastifyRequest, 'organization' | 'params'>): string | undefined {
    const { queue } = params as Named;
    return queue === undefined ? undefined : existingQueue(deps, organization.id, queue).id;
  }

  async function start(request: FastifyRequest, body: schemas.BulkBodyFields): Promise<BulkView> {
    const { organization } = request;
    const { action, counted = null, code = null } = body;
    const queueId = queueOf(request);
    const which = readActedOn(body, () => controller.queues(organization.id), queueId);
    const about = {
      selector: which.ids === null ? (body.where ?? '') : null,
      ids: which.ids,
      until: readId('until', 'last', body.until),
    };
    if (code !== null && action !== 'hold') throw invalid('code', 'only `hold` has one');
    const asked = { org: organization, queueId: queueId ?? null, action, code, counted, about };
    const detail = {
      action,
      ...(about.ids === null ? { where: about.selector?.slice(0, 200) ?? '' } : { tasks: about.ids.length }),
    };
    const audit = (target: string) => by(deps, request, { action: 'bulk.start', target, detail });
    const { run, state } = await whilePresent(organization, bulk.add(asked, request.caller, audit));
    return bulkView(run, state);
  }

  async function existing(request: FastifyRequest): Promise<Row> {
    const { bulk: id = '' } = request.params as Named;
    const queueId = queueOf(request);
    const row = isId(id) ? await findBulkRun(read, request.organization.id, id) : undefined;
    if (row === undefined || (queueId !== undefined && row.queue_id !== queueId)) {
      throw new MusterError('not_found', { kind: 'action on many tasks', name: id.slice(0, 80) });
    }
    return row;
  }

  /** One that runs may be further than what is stored. */
  function asNow(row: Row, { organization }: Pick<FastifyRequest, 'organization'>): BulkView {
    const { run, state } = bulk.running(row.id) ?? { run: bulkRunOf(row, organization), state: bulkStateOf(row) };
    return bulkView(run, state);
  }
}
