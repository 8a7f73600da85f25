import { whilePresent } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import { MusterError } from '../errors.js';
import type { QueueChanges, QueueView } from '../ports.js';
import { oldestWaiting } from '../repository/reads.js';
import { readNewQueue, readQueueChanges } from '../request/queue.js';
import type { QueueState } from '../types.js';
import { by, existingQueue, type TaskRouteDeps } from './deps.js';
import * as schemas from './schemas.js';
import { queueView } from './view.js';

const QUEUES = '/organizations/:org/queues';
const tags = ['queues'];

/** Queues: create, list, look at, change, delete. */
export function queueRoutes(app: App, deps: TaskRouteDeps): void {
  const { controller } = deps;

  app.route({
    method: 'GET',
    url: QUEUES,
    config: { permission: 'task:read' },
    schema: {
      tags,
      operationId: 'listQueues',
      summary: 'Queues by name, and how they are getting on',
      params: schemas.OrgParams,
      response: { 200: schemas.QueueListAnswer },
    },
    handler: async ({ organization }) => {
      const queues = [...controller.queues(organization.id)];
      const oldest = await oldestWaiting(deps.read, organization.id, null);
      return queues.sort((a, b) => (a.name < b.name ? -1 : 1)).map((queue) => queueView(queue, oldest.get(queue.id)));
    },
  });

  app.route({
    method: 'POST',
    url: QUEUES,
    config: { permission: 'task:write', empowers: false },
    schema: {
      tags,
      operationId: 'createQueue',
      summary: 'Create a queue',
      description: '`writers` and `readers` need a signed request, as they change who may do what.',
      params: schemas.OrgParams,
      body: schemas.QueueBody,
      response: { 201: schemas.QueueAnswer },
    },
    handler: async (request, reply) => {
      const { organization, body } = request;
      const queue = readNewQueue(body);
      checkSigned(request, body);
      const detail = { plugin: queue.plugin };
      const who = by(deps, request, { action: 'queue.create', target: queue.name, detail });
      const created = await whilePresent(organization, controller.createQueue(organization, queue, who));
      return reply.code(201).send(queueView(created, undefined));
    },
  });

  app.route({
    method: 'GET',
    url: `${QUEUES}/:queue`,
    config: { permission: 'queue:read' },
    schema: {
      tags,
      operationId: 'getQueue',
      summary: 'One queue, by its name or id',
      params: schemas.QueueParams,
      response: { 200: schemas.QueueAnswer },
    },
    handler: async ({ organization, params }) => show(existingQueue(deps, organization.id, params.queue)),
  });

  app.route({
    method: 'GET',
    url: `${QUEUES}/:queue/why`,
    config: { permission: 'queue:read' },
    schema: {
      tags,
      operationId: 'whyQueue',
      summary: 'Why nothing of a queue is assigned though something waits',
      params: schemas.QueueParams,
      response: { 200: schemas.WhyAnswer },
    },
    handler: async ({ organization, params }) => ({
      why: [...existingQueue(deps, organization.id, params.queue).why],
    }),
  });

  app.route({
    method: 'PATCH',
    url: `${QUEUES}/:queue`,
    config: { permission: 'queue:write', empowers: false },
    schema: {
      tags,
      operationId: 'changeQueue',
      summary: 'Change what is given of a queue',
      description:
        'Its `plugin`, `writers` and `readers` are changed by who may write all queues (`task:write`), the last two with a signed request.',
      params: schemas.QueueParams,
      body: schemas.QueueChangesBody,
      response: { 200: schemas.QueueAnswer },
    },
    handler: async (request) => {
      const { rules } = existingQueue(deps, request.organization.id, request.params.queue);
      const changes = readQueueChanges(request.body, rules.retry);
      await checkMayGovern(request, request.body);
      checkSigned(request, request.body);
      return change(request, request.params.queue, changes);
    },
  });

  stateRoute('pause', 'paused', 'Assign no more of its tasks; those that nodes have go on');
  stateRoute('resume', 'open', 'Assign its tasks again, and take new ones');
  stateRoute('drain', 'draining', 'Take no more tasks; those it has are worked off');

  app.route({
    method: 'DELETE',
    url: `${QUEUES}/:queue`,
    config: { permission: 'task:write', empowers: false },
    schema: {
      tags,
      operationId: 'deleteQueue',
      summary: 'Delete a queue with all its tasks',
      params: schemas.QueueParams,
      querystring: schemas.RemoveQueueQuery,
      response: schemas.Nothing,
    },
    handler: async (request, reply) => {
      const { organization, params, query } = request;
      const { id, name } = existingQueue(deps, organization.id, params.queue);
      const who = by(deps, request, { action: 'queue.delete', target: name });
      const how = { force: query.force === true, keepTasks: false };
      await whilePresent(organization, controller.removeQueue(organization, id, how, who));
      deps.auth.standing.changed();
      return reply.code(204).send(null);
    },
  });

  function stateRoute(action: string, state: QueueState, summary: string): void {
    app.route({
      method: 'POST',
      url: `${QUEUES}/:queue/${action}`,
      config: { permission: 'queue:write', empowers: false },
      schema: {
        tags,
        operationId: `${action}Queue`,
        summary,
        params: schemas.QueueParams,
        response: { 200: schemas.QueueAnswer },
      },
      handler: async (request) => change(request, request.params.queue, { state }),
    });
  }

  async function change(request: FastifyRequest, idOrName: string, changes: QueueChanges) {
    const { organization } = request;
    const { id, name } = existingQueue(deps, organization.id, idOrName);
    const { rules = {}, ...others } = changes;
    const changed = [...Object.keys(others), ...Object.keys(rules)].join(', ');
    const who = by(deps, request, { action: 'queue.change', target: name, detail: { changed } });
    const { queue } = await whilePresent(organization, controller.changeQueue(organization, id, changes, who));
    // Who follows its feed, or the output of its tasks, may have lost the right to.
    if (rules.writers !== undefined || rules.readers !== undefined) deps.auth.standing.changed();
    return show(queue);
  }

  async function show(queue: QueueView) {
    const oldest = await oldestWaiting(deps.read, queue.orgId, queue.id);
    return queueView(queue, oldest.get(queue.id));
  }

  /** Whom a queue itself admits may not admit others, nor choose what runs on nodes. */
  async function checkMayGovern(
    { caller, organization }: Pick<FastifyRequest, 'caller' | 'organization'>,
    { plugin, writers, readers }: schemas.QueueChangesFields,
  ): Promise<void> {
    if (plugin === undefined && writers === undefined && readers === undefined) return;
    if (await deps.auth.authorize(caller, organization, 'task:write')) return;
    throw deps.auth.rights.forbidden(caller.name, 'task:write');
  }
}

/** Who finds a token must not be able to turn it into something that outlives it. */
function checkSigned(
  { caller }: Pick<FastifyRequest, 'caller'>,
  { writers, readers }: schemas.QueueChangesFields,
): void {
  if (writers === undefined && readers === undefined) return;
  if (caller.publicKey === null) throw new MusterError('signature_required', { name: caller.name });
}
