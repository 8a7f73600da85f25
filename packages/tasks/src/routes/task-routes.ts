import { whilePresent } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import { MusterError } from '../errors.js';
import { isId } from '../ids.js';
import type { TaskAction } from '../ports.js';
import { attemptsOf, dependenciesOf } from '../repository/reads.js';
import type { TaskRow } from '../repository/writes.js';
import { invalid } from '../request/fields.js';
import { readTaskQuery } from '../search/query.js';
import { queuesById } from '../search/queues.js';
import { searchTasks } from '../search/search.js';
import { by, existingQueue, existingTask, type TaskRouteDeps } from './deps.js';
import * as schemas from './schemas.js';
import { attemptView, taskDetail, taskView } from './view.js';

const TASKS = '/organizations/:org/tasks';
const tags = ['tasks'];
const DEFAULT_PAGE = 100;

/** What an action leaves behind, for its refusal: `task 5… cannot be held`. */
const DONE: Readonly<Record<TaskAction, string>> = {
  retry: 'retried',
  cancel: 'cancelled',
  hold: 'held',
  release: 'released',
  remove: 'deleted',
};

/** Tasks: list, look at, act on one. */
export function taskRoutes(app: App, deps: TaskRouteDeps): void {
  const { read, controller } = deps;

  app.route({
    method: 'GET',
    url: TASKS,
    config: { permission: 'task:read', fields: schemas.TASK_FIELDS },
    schema: {
      tags,
      operationId: 'listTasks',
      summary: 'Tasks that a selector finds, newest first',
      params: schemas.OrgParams,
      querystring: schemas.ListQuery,
      response: { 200: schemas.TaskListAnswer },
    },
    handler: async ({ organization, query }) => list(organization.id, query),
  });

  app.route({
    method: 'GET',
    url: '/organizations/:org/queues/:queue/tasks',
    config: { permission: 'queue:read', fields: schemas.TASK_FIELDS },
    schema: {
      tags,
      operationId: 'listQueueTasks',
      summary: 'The same of one queue, also for its own readers',
      params: schemas.QueueParams,
      querystring: schemas.ListQuery,
      response: { 200: schemas.TaskListAnswer },
    },
    handler: async ({ organization, params, query }) =>
      list(organization.id, query, existingQueue(deps, organization.id, params.queue).id),
  });

  app.route({
    method: 'GET',
    url: `${TASKS}/:id`,
    config: { permission: 'task:read' },
    schema: {
      tags,
      operationId: 'getTask',
      summary: 'One task',
      params: schemas.TaskParams,
      response: { 200: schemas.TaskDetailAnswer },
    },
    handler: async ({ organization, params }) => show(await existingTask(deps, organization.id, params.id)),
  });

  app.route({
    method: 'GET',
    url: `${TASKS}/:id/why`,
    config: { permission: 'task:read' },
    schema: {
      tags,
      operationId: 'whyTask',
      summary: 'Why a task is where it is',
      params: schemas.TaskParams,
      response: { 200: schemas.WhyAnswer },
    },
    handler: async ({ organization, params }) => ({
      why: [...(await controller.why(await existingTask(deps, organization.id, params.id)))],
    }),
  });

  app.route({
    method: 'GET',
    url: `${TASKS}/:id/attempts`,
    config: { permission: 'task:read' },
    schema: {
      tags,
      operationId: 'listTaskAttempts',
      summary: 'The runs of a task, the present one last',
      params: schemas.TaskParams,
      querystring: schemas.AttemptsQuery,
      response: { 200: schemas.AttemptsAnswer },
    },
    handler: async ({ organization, params, query }) => {
      const task = await existingTask(deps, organization.id, params.id);
      const { after = 0, limit = DEFAULT_PAGE } = query;
      const past = await attemptsOf(read, task.id, { after, limit });
      const last = past.at(-1)?.attempt ?? after;
      // The latest stands in the task, until it is over and the task goes on.
      const present = task.attempt > last && past.length < limit ? [{ ...task, task_id: task.id }] : [];
      return [...past, ...present].map(attemptView);
    },
  });

  actionRoute('retry', 'Run a task again that has ended');
  actionRoute('cancel', 'End a task: at once when it waits, by its node when that has it');
  actionRoute('release', 'Let a task go on that is held');

  app.route({
    method: 'POST',
    url: `${TASKS}/:id/hold`,
    config: { permission: 'task:write', empowers: false },
    schema: {
      tags,
      operationId: 'holdTask',
      summary: 'Hold a task back that waits',
      params: schemas.TaskParams,
      body: schemas.HoldBody,
      response: { 200: schemas.TaskDetailAnswer },
    },
    handler: async (request) => act(request, request.params.id, 'hold', request.body.code),
  });

  app.route({
    method: 'DELETE',
    url: `${TASKS}/:id`,
    config: { permission: 'task:write', empowers: false },
    schema: {
      tags,
      operationId: 'deleteTask',
      summary: 'Delete a task that no node has, with its output',
      params: schemas.TaskParams,
      response: schemas.Nothing,
    },
    handler: async (request, reply) => {
      await perform(request, request.params.id, 'remove');
      return reply.code(204).send(null);
    },
  });

  function actionRoute(action: TaskAction, summary: string): void {
    app.route({
      method: 'POST',
      url: `${TASKS}/:id/${action}`,
      config: { permission: 'task:write', empowers: false },
      schema: {
        tags,
        operationId: `${action}Task`,
        summary,
        params: schemas.TaskParams,
        response: { 200: schemas.TaskDetailAnswer },
      },
      handler: async (request) => act(request, request.params.id, action),
    });
  }

  async function list(orgId: string, query: schemas.ListQueryFields, queueId?: string) {
    const { q = '', limit = DEFAULT_PAGE } = query;
    const order = orderOf(query);
    const found = await searchTasks(
      { read, queueOf: queuesById(controller, orgId) },
      orgId,
      readTaskQuery(q, () => controller.queues(orgId), queueId),
      { limit, order, after: readId('after', 'next', query.after) },
    );
    const queueOf = queuesById(controller, orgId);
    return { tasks: found.rows.map((row) => taskView(row, queueOf(row.queue_id))), next: found.next };
  }

  async function show(row: TaskRow) {
    const { stdout: _out, stderr: _err, ...listed } = row;
    const queue = controller.queue(row.org_id, row.queue_id);
    const after = await dependenciesOf(read, row.id);
    return taskDetail(listed, queue, { after, progress: controller.progress(row.id), why: await controller.why(row) });
  }

  async function act(request: FastifyRequest, id: string, action: TaskAction, code?: number) {
    await perform(request, id, action, code);
    return show(await existingTask(deps, request.organization.id, id));
  }

  /** @throws MusterError `not_found`, `task_refused`. */
  async function perform(request: FastifyRequest, id: string, action: TaskAction, code?: number): Promise<void> {
    const { organization } = request;
    const task = await existingTask(deps, organization.id, id);
    const who = by(deps, request, { action: `task.${action}`, target: task.id });
    const how = code === undefined ? who : { ...who, code };
    const [acted] = await whilePresent(organization, controller.act(organization, [task.id], action, how));
    const reason = acted?.refused ?? null;
    if (reason !== null) throw new MusterError('task_refused', { id: task.id, done: DONE[action], reason });
  }
}

/** Ids are in the order of creation. @throws MusterError `invalid_field` when it is said in two ways. */
function orderOf({ order, sort }: schemas.ListQueryFields): 'asc' | 'desc' {
  if (sort === undefined) return order ?? 'desc';
  if (order !== undefined) throw invalid('sort', 'give either sort or order');
  return sort === 'ctime' ? 'asc' : 'desc';
}

/** A place in the order of ids that an answer before has told. @throws MusterError `invalid_field`. */
export function readId(field: string, told: string, id: string | undefined): string | null {
  if (id === undefined) return null;
  if (!isId(id)) throw invalid(field, `must be \`${told}\` of the answer before`);
  return id;
}
