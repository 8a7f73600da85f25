import { whilePresent } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import { NOT_THERE, Tally } from '../bulk/tally.js';
import { TASK_LIMITS } from '../limits.js';
import { type ListedTask, tasksById } from '../repository/reads.js';
import type { TaskQuery } from '../search/query.js';
import { queuesById } from '../search/queues.js';
import { countTasks, MOST_EXAMINED, searchTasks } from '../search/search.js';
import { refusalOf } from '../status.js';
import { readActedOn } from './acted-on.js';
import { by, existingQueue, type TaskRouteDeps } from './deps.js';
import * as schemas from './schemas.js';
import { readId } from './task-routes.js';

/** Tasks that one request acts on; further ones are for the next. */
const ACTED_PER_REQUEST = 10_000;
/** Ids of tasks that a count names. */
const SAMPLE = 5;

type Body = schemas.ActionsBodyFields;
/** Tasks of one answer. */
interface Named {
  readonly sample: readonly string[];
  readonly last: string | null;
  readonly next: string | null;
}

/** Acting on many tasks, by their ids or by a selector, page by page on the server. */
export function actionRoutes(app: App, deps: TaskRouteDeps): void {
  const { read, controller } = deps;
  const description =
    `One request acts on at most ${ACTED_PER_REQUEST} tasks and looks at ${MOST_EXAMINED}; \`next\` says that there are more. ` +
    'Each task is acted on by itself: those that cannot be stay as they are, and are told with the reason.';

  app.route({
    method: 'POST',
    url: '/organizations/:org/tasks/actions',
    config: { permission: 'task:write', empowers: false },
    schema: {
      tags: ['tasks'],
      operationId: 'actOnTasks',
      summary: 'Retry, cancel, hold, release or delete many tasks',
      description,
      params: schemas.OrgParams,
      body: schemas.ActionsBody,
      response: { 200: schemas.ActionsAnswer },
    },
    handler: async (request) => actOn(request, request.body),
  });

  app.route({
    method: 'POST',
    url: '/organizations/:org/queues/:queue/tasks/actions',
    config: { permission: 'queue:write', empowers: false },
    schema: {
      tags: ['tasks'],
      operationId: 'actOnQueueTasks',
      summary: 'The same on tasks of one queue, also for its own writers',
      description,
      params: schemas.QueueParams,
      body: schemas.ActionsBody,
      response: { 200: schemas.ActionsAnswer },
    },
    handler: async (request) => {
      const { id } = existingQueue(deps, request.organization.id, request.params.queue);
      return actOn(request, request.body, id);
    },
  });

  async function actOn(request: FastifyRequest, body: Body, queueId?: string) {
    const orgId = request.organization.id;
    const { ids, query } = readActedOn(body, () => controller.queues(orgId), queueId);
    return ids === null ? actWhere(request, body, query) : actOnIds(request, body, ids, queueId);
  }

  async function actOnIds(request: FastifyRequest, body: Body, ids: readonly string[], queueId: string | undefined) {
    const done = new Tally();
    for (let from = 0; from < ids.length; from += TASK_LIMITS.actedAtOnce) {
      const page = ids.slice(from, from + TASK_LIMITS.actedAtOnce);
      const there = await tasksById(read, request.organization.id, page);
      const meant = new Map(
        there.filter(({ queue_id }) => queueId === undefined || queue_id === queueId).map((row) => [row.id, row]),
      );
      done.count(page.filter((id) => !meant.has(id)).map((id) => ({ id, refused: NOT_THERE })));
      if (body.dry_run === true) {
        done.matched += meant.size;
        for (const row of meant.values()) weigh(done, row, body.action);
      } else {
        await perform(request, body, [...meant.keys()], done);
      }
    }
    return answer(done, { sample: [], last: null, next: null });
  }

  async function actWhere(request: FastifyRequest, body: Body, query: TaskQuery) {
    const orgId = request.organization.id;
    const deps = { read, queueOf: queuesById(controller, orgId) };
    const order = 'asc';
    let after = readId('after', 'next', body.after);
    const until = readId('until', 'last', body.until);
    const done = new Tally();
    if (body.dry_run === true) {
      const { count, sample, last, next } = await countTasks(deps, orgId, query, {
        ...{ after, until, order, sample: SAMPLE },
        seen: (row) => weigh(done, row, body.action),
      });
      done.matched = count;
      return answer(done, { sample, last, next });
    }
    const most = body.limit ?? ACTED_PER_REQUEST;
    const sample: string[] = [];
    let last: string | null = null;
    while (done.matched < most) {
      const limit = Math.min(TASK_LIMITS.actedAtOnce, most - done.matched);
      const { rows, next } = await searchTasks(deps, orgId, query, { after, until, order, limit });
      const ids = rows.map(({ id }) => id);
      sample.push(...ids.slice(0, SAMPLE - sample.length));
      last = ids.at(-1) ?? last;
      await perform(request, body, ids, done);
      after = next;
      // At the end, or nothing more within what one request looks at.
      if (next === null || rows.length < limit) break;
    }
    return answer(done, { sample, last, next: after });
  }

  async function perform(request: FastifyRequest, body: Body, ids: readonly string[], done: Tally): Promise<void> {
    if (ids.length === 0) return;
    const { organization } = request;
    const { action, code, where } = body;
    const detail = { tasks: ids.length, ...(where !== undefined && { where: where.slice(0, 200) }) };
    const who = by(deps, request, { action: `task.${action}`, target: ids[0] ?? '', detail });
    const how = code === undefined ? who : { ...who, code };
    done.count(await whilePresent(organization, controller.act(organization, ids, action, how)));
  }
}

/** Would it stay as it is? */
function weigh(done: Tally, { id, status }: ListedTask, action: Body['action']): void {
  const refused = refusalOf(action, status);
  if (refused !== null) done.refuse(id, refused);
}

function answer({ counts }: Tally, { sample, last, next }: Named) {
  const { matched, acted, refused } = counts;
  return { matched, acted, refused: [...refused], sample: [...sample], last, next };
}
