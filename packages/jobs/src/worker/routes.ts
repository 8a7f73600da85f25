import { namesOf, workerKey } from '@muster/broker';
import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { type AdminDeps, IdParams, OrgParams, recordAudit } from '../routes/admin-deps.js';
import type { LivingWorkers } from './living-workers.js';
import type { WorkerCommand } from './messages.js';

export interface WorkerRouteDeps extends AdminDeps {
  readonly livingWorkers: LivingWorkers;
}

const WORKERS = '/organizations/:org/job-workers';
const tags = ['jobs'];

const Worker = Type.Object({
  id: Type.String({ description: 'New at every start' }),
  name: Type.String(),
  host: Type.String(),
  queue: Type.String({ description: 'Whole' }),
  slots: Type.Integer(),
  state: Type.Union(
    [
      Type.Literal('running'),
      Type.Literal('quiescing'),
      Type.Literal('suspended'),
      Type.Literal('stopped'),
      Type.Literal('lost'),
    ],
    { description: 'lost: it says nothing any more' },
  ),
  jobs: Type.Integer({ description: 'That it works on' }),
  started: Type.String(),
  version: Type.String(),
});

const ACTIONS: readonly (readonly [action: string, msgType: WorkerCommand, summary: string])[] = [
  ['quiesce', 'WKR_SHUTDOWN_QUIESCE', 'Have a worker take nothing more, and end when what it has is over'],
  ['suspend', 'WKR_SUSPEND', 'Have a worker take nothing more until it is resumed'],
  ['resume', 'WKR_RESUME', 'Have a worker take messages again'],
  ['shutdown', 'WKR_SHUTDOWN', 'Have a worker give back what it has, and end'],
];

/** Who works on jobs, and telling them. */
export function workerRoutes(app: App, deps: WorkerRouteDeps): void {
  const { livingWorkers, broker } = deps;
  app.route({
    method: 'GET',
    url: WORKERS,
    config: { permission: 'job:admin' },
    schema: {
      tags,
      operationId: 'listJobWorkers',
      summary: 'Workers of jobs, the newest first; those that have ended with `all=true`',
      params: OrgParams,
      querystring: Type.Object({ all: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
      response: { 200: Type.Array(Worker) },
    },
    handler: async ({ organization, query: { all = false } }) => [
      ...(await livingWorkers.list(organization.id, { ended: all })),
    ],
  });

  for (const [action, msgType, summary] of ACTIONS) {
    app.route({
      method: 'POST',
      url: `${WORKERS}/:id/${action}`,
      config: { permission: 'job:admin', empowers: false },
      schema: {
        tags,
        operationId: `${action}JobWorker`,
        summary,
        params: IdParams,
        response: { 202: Type.Object({ id: Type.String({ description: 'Of the worker that is told' }) }) },
      },
      handler: async ({ caller, organization, params: { id } }, reply) => {
        const workers = await livingWorkers.list(organization.id, { ended: true });
        const meant = workers.find((worker) => worker.id === id || (worker.name === id && worker.state !== 'lost'));
        if (meant === undefined) throw new MusterError('not_found', { kind: 'worker', name: id });
        await recordAudit(deps, { caller, organization }, `job-worker:${action}`, meant.name);
        await broker.publish({
          exchange: namesOf(organization.name).commandExchange,
          key: workerKey(meant.id),
          body: JSON.stringify({ msgType, correlationId: '', senderId: caller.name, workerUuid: meant.id }),
        });
        return reply.code(202).send({ id: meant.id });
      },
    });
  }
}
