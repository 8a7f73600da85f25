import { whilePresent } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import { isId } from '../ids.js';
import { TASK_LIMITS } from '../limits.js';
import type { Acted } from '../ports.js';
import { type ListedTask, tasksById } from '../repository/reads.js';
import { invalid } from '../request/fields.js';
import { readTaskQuery, type TaskQuery } from '../search/query.js';
import { countTasks, MOST_EXAMINED, searchTasks } from '../search/search.js';
import { refusalOf } from '../status.js';
import { by, existingQueue, queuesById, type TaskRouteDeps } from './deps.js';
import * as schemas from './schemas.js';
import { readId } from './task-routes.js';

/** Tasks that one request acts on; further ones are for the next. */
const ACTED_PER_REQUEST = 10_000;
/** Ids of tasks that a count names. */
const SAMPLE = 5;
/** Reasons told apart; further ones are summed up. */
const MOST_REASONS = 20;
const OTHERS = 'other reasons';

type Body = schemas.ActionsBodyFields;
type Answer = {
  matched: number;
  acted: number;
  refused: Refusals[];
  sample: string[];
  last: string | null;
  next: string | null;
};
interface Refusals {
  readonly reason: string;
  tasks: number;
  readonly first: string;
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

  async function actOn(request: FastifyRequest, body: Body, queueId?: string): Promise<Answer> {
    const { ids, where } = body;
    if ((ids === undefined) === (where === undefined)) throw invalid('where', 'give either `where` or `ids`');
    if (ids !== undefined) return actOnIds(request, body, ids, queueId);
    const orgId = request.organization.id;
    return actWhere(
      request,
      body,
      readTaskQuery(where ?? '', () => controller.queues(orgId), queueId),
    );
  }

  async function actOnIds(
    request: FastifyRequest,
    body: Body,
    given: readonly string[],
    queueId: string | undefined,
  ): Promise<Answer> {
    const ids = [...new Set(given)];
    const wrong = ids.findIndex((id) => !isId(id));
    if (wrong >= 0) {
      const shown = JSON.stringify(ids[wrong]?.slice(0, 40));
      throw invalid(`ids.${wrong}`, `${shown} is no id of a task: 24 of 0-9 and a-f, as \`muster task list\` shows`);
    }
    const done = new Tally();
    for (let from = 0; from < ids.length; from += TASK_LIMITS.actedAtOnce) {
      const page = ids.slice(from, from + TASK_LIMITS.actedAtOnce);
      const there = await tasksById(read, request.organization.id, page);
      const meant = new Map(
        there.filter(({ queue_id }) => queueId === undefined || queue_id === queueId).map((row) => [row.id, row]),
      );
      done.count(page.filter((id) => !meant.has(id)).map((id) => ({ id, refused: 'it does not exist' })));
      if (body.dry_run === true) {
        done.matched += meant.size;
        for (const row of meant.values()) done.weigh(row, body.action);
      } else {
        await perform(request, body, [...meant.keys()], done);
      }
    }
    return done.answer(null);
  }

  async function actWhere(request: FastifyRequest, body: Body, query: TaskQuery): Promise<Answer> {
    const orgId = request.organization.id;
    const deps = { read, queueOf: queuesById(controller, orgId) };
    const order = 'asc';
    let after = readId('after', 'next', body.after);
    const until = readId('until', 'last', body.until);
    const done = new Tally();
    if (body.dry_run === true) {
      const { count, sample, last, next } = await countTasks(deps, orgId, query, {
        ...{ after, until, order, sample: SAMPLE },
        seen: (row) => done.weigh(row, body.action),
      });
      done.matched = count;
      done.name(sample, last);
      return done.answer(next);
    }
    const most = body.limit ?? ACTED_PER_REQUEST;
    while (done.matched < most) {
      const limit = Math.min(TASK_LIMITS.actedAtOnce, most - done.matched);
      const { rows, next } = await searchTasks(deps, orgId, query, { after, until, order, limit });
      const ids = rows.map(({ id }) => id);
      done.name(ids, ids.at(-1) ?? null);
      await perform(request, body, ids, done);
      if (next === null) return done.answer(null);
      after = next;
      // Nothing more within what one request looks at.
      if (rows.length < limit) break;
    }
    return done.answer(after);
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

/** What became of tasks. */
class Tally {
  matched = 0;
  #acted = 0;
  readonly #sample: string[] = [];
  #last: string | null = null;
  readonly #refused = new Map<string, Refusals>();

  count(answers: readonly Acted[]): void {
    for (const { id, refused } of answers) {
      this.matched += 1;
      if (refused === null) this.#acted += 1;
      else this.#refuse(id, refused);
    }
  }

  /** Would it stay as it is? */
  weigh({ id, status }: ListedTask, action: Body['action']): void {
    const refused = refusalOf(action, status);
    if (refused !== null) this.#refuse(id, refused);
  }

  /** Which those are that a selector found. */
  name(ids: readonly string[], last: string | null): void {
    this.#sample.push(...ids.slice(0, SAMPLE - this.#sample.length));
    this.#last = last ?? this.#last;
  }

  #refuse(id: string, told: string): void {
    const reason = this.#refused.has(told) || this.#refused.size < MOST_REASONS ? told : OTHERS;
    const known = this.#refused.get(reason);
    if (known === undefined) this.#refused.set(reason, { reason, tasks: 1, first: id });
    else known.tasks += 1;
  }

  answer(next: string | null): Answer {
    const refused = [...this.#refused.values()];
    return { matched: this.matched, acted: this.#acted, refused, sample: this.#sample, last: this.#last, next };
  }
}
