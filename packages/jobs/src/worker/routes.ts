import type { Clock } from '@muster/base';
import { namesOf, workerKey } from '@muster/broker';
import type { App } from '@muster/platform/http';
import { type Held, LeaseWatch, type Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { type AdminDeps, IdParams, OrgParams, recordAudit } from '../routes/admin-deps.js';
import { ACTIVE_STATUSES } from '../status.js';
import { LIMITS } from './limits.js';
import type { WorkerCommand } from './messages.js';
import { leaseName } from './tenure.js';

export interface WorkerRouteDeps extends AdminDeps {
  readonly clock: Clock;
}

const WORKERS = '/organizations/:org/job-workers';
const tags = ['jobs'];
const MOST_SHOWN = 1000;

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
  const { store, clock, broker } = deps;
  const { read } = store;
  const leases = new LeaseWatch({ store, clock });
  const alive = async (workers: readonly string[]): Promise<ReadonlySet<string>> => {
    const held = await leases.look(workers.map(leaseName), LIMITS.leaseMs);
    return new Set(workers.filter((worker) => isAlive(held.get(leaseName(worker)), clock.now())));
  };

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
    handler: async ({ organization, query: { all = false } }) => {
      const workers = await workersOf(read, organization.id, alive);
      return workers.filter(({ state }) => all || (state !== 'stopped' && state !== 'lost'));
    },
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
        const workers = await workersOf(read, organization.id, alive);
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

/** By what was seen of its lease; until enough was seen, by the clocks. */
function isAlive(lease: Held | undefined, now: number): boolean {
  if (lease === undefined || lease.unchangedMs >= LIMITS.leaseMs) return false;
  return lease.renewed || lease.expiresAt > now;
}

async function workersOf(
  read: Kysely<Schema>,
  orgId: string,
  living: (workers: readonly string[]) => Promise<ReadonlySet<string>>,
) {
  const rows = await read
    .selectFrom('job_workers')
    .selectAll()
    .where('org_id', '=', orgId)
    .orderBy('started', 'desc')
    .orderBy('name')
    .limit(MOST_SHOWN)
    .execute();
  if (rows.length === 0) return [];
  const ids = rows.map(({ uuid }) => uuid);
  const alive = await living(ids);
  const counts = await read
    .selectFrom('jobs')
    .select(['worker', (row) => row.fn.countAll<number>().as('count')])
    .where('worker', 'in', ids)
    .where('status', 'in', ACTIVE_STATUSES)
    .groupBy('worker')
    .execute();
  const jobs = new Map(counts.map(({ worker, count }) => [worker, Number(count)]));
  return rows.map(({ uuid, name, host, queue, slots, state, started, version }) => ({
    id: uuid,
    name,
    host,
    queue,
    slots,
    state: state === 'stopped' || alive.has(uuid) ? state : ('lost' as const),
    jobs: jobs.get(uuid) ?? 0,
    started: new Date(started).toISOString(),
    version,
  }));
}
