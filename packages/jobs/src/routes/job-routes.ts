import { type App, baseUrl } from '@muster/platform/http';
import { Type } from 'typebox';
import { allSubscriptions } from '../notifications/subscriptions.js';
import { SubscriptionView, subscriptionView } from '../notifications/view.js';
import { historyOf } from '../repository/job-reads.js';
import { readSubmissionBody } from '../request/body.js';
import { refused } from '../request/refusal.js';
import { HISTORY_FIELDS, SHARED_HISTORY_FIELDS } from '../search/fields.js';
import type { Job } from '../types.js';
import { addJobRoute, type JobRouteDeps } from './deps.js';
import { enveloped, HistoryAnswer, JobAnswer, StatusAnswer, SubmissionBody } from './schemas.js';
import { historyView, jobView, statusView } from './view.js';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Submitting a job, and looking at one. */
export function jobRoutes(app: App, deps: JobRouteDeps): void {
  addJobRoute(app, deps, {
    method: 'POST',
    path: '/',
    operationId: 'submitJob',
    summary: 'Submit a job',
    description:
      'It is checked whole. 201: it is accepted, will not be lost, and is seen at once as ACCEPTED. With `Idempotency-Key` ' +
      'repeating the request makes no second job.',
    body: SubmissionBody,
    result: enveloped(JobAnswer),
    status: 201,
    async handle({ organization, asker, query, request, links, entry }) {
      query.refuseConditions();
      const { headers, rawBody } = request;
      const key = readKey(headers['idempotency-key']);
      const body = await readSubmissionBody({ contentType: headers['content-type'], bytes: rawBody });
      const taken = (job: Job) => deps.auth.audit.record(entry('submit', job, { app: job.appId }));
      const job = await deps.acceptance.submit(organization, asker, body, key, taken);
      return { status: 201, result: jobView(job, links) };
    },
  });

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/usage',
    operationId: 'getJobUsage',
    summary: 'Where it is told how jobs are used',
    result: enveloped(Type.Object({ documentation: Type.String(), openapi: Type.String() })),
    async handle({ request }) {
      const root = baseUrl(request);
      return { result: { documentation: `${root}/docs`, openapi: `${root}/openapi.json` } };
    },
  });

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/:id',
    operationId: 'getJob',
    summary: 'A job',
    result: enveloped(JobAnswer),
    async handle({ job, query, links }) {
      query.refuseConditions();
      return { result: jobView((await job('read', 'read')).job, links) };
    },
  });

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/:id/status',
    operationId: 'getJobStatus',
    summary: 'How a job stands',
    result: enveloped(StatusAnswer),
    async handle({ job, query, links }) {
      query.refuseConditions();
      return { result: statusView((await job('read', 'read')).job, links) };
    },
  });

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/:id/history',
    operationId: 'getJobHistory',
    summary: 'What happened to a job, oldest first',
    description:
      '`limit`, `offset`, `order` and `orderBy` as lists of jobs have them. Searched by `id`, `status`, `created`, `createdby`, ' +
      '`description`, and by the owner and `job:admin` also by `ipaddress`, where a request came from.',
    result: enveloped(HistoryAnswer),
    async handle({ job, query, asker }) {
      const { uuid, owner } = (await job('read', 'read')).job;
      const fields = asker.admin || asker.user === owner ? HISTORY_FIELDS : SHARED_HISTORY_FIELDS;
      const search = { ...query.list, fields, conditions: query.conditions };
      const entries = await historyOf(deps.read, uuid, search, deps.clock.now());
      return { result: entries.map(historyView) };
    },
  });

  addJobRoute(app, deps, {
    method: 'GET',
    path: '/:id/notifications',
    operationId: 'getJobNotifications',
    summary: 'Who is told of a job, oldest first',
    description: 'For its owner, those with whom all of it is shared, and administrators: addresses may hold secrets.',
    result: enveloped(Type.Array(SubscriptionView)),
    async handle({ job, query }) {
      query.refuseConditions();
      const { uuid } = (await job('share', 'read the notifications of')).job;
      const { limit, offset } = query.list;
      const all = await allSubscriptions(deps.read, uuid);
      return { result: all.slice(offset, offset + limit).map(subscriptionView) };
    },
  });
}

function readKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && KEY.test(header)) return header;
  throw refused('ALOE_INVALID_PARAMETER', 'Idempotency-Key', 'must have 1 to 255 visible ASCII characters');
}
