import { actorOf, type Identity, type Organization } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import { parseJson, readFields } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import type { Approvals } from '../approvals/approvals.js';
import { policyNeeds } from '../approvals/policies.js';
import { AskedAnswer } from '../approvals/schemas.js';
import { startOrAsk } from '../approvals/start-or-ask.js';
import { askedView } from '../approvals/view.js';
import { MusterError } from '../errors.js';
import { DEFAULT_PAGE, JOBS_FOUND, MAX_NODE_NAME_BYTES } from '../limits.js';
import {
  findJob,
  jobsBeginning,
  listJobNodes,
  nodeCounts,
  nodeStatuses,
  pageOfJobs,
  statusesOfNode,
  unfinishedNodeNames,
} from '../repository/reads.js';
import type { JobRow } from '../repository/writes.js';
import { checkText, invalid } from '../request/fields.js';
import { idsBeginning, isJobId } from '../request/job-id.js';
import { batchesOf } from '../request/job-spec.js';
import { forecast, judgeQuorum, type PreviewDeps, previewOf, readPreviewRequest, tallied } from '../request/preview.js';
import { readJobRequest } from '../request/request.js';
import { FILE_KEYS, isUpgrade } from '../request/request-files.js';
import { readNodeStatuses } from '../request/request-target.js';
import { nodesOfGroup } from '../request/result-group.js';
import { admitNodes, checkPolicy, defaultQuorum, type SubmissionDeps, submitJob } from '../request/submission.js';
import type { PushAccess } from './access.js';
import { cursorOf, nextLink, readCursor, readJobFilter, wordsOf } from './queries.js';
import * as schemas from './schemas.js';
import { jobUri } from './uri.js';
import {
  batchesView,
  ended,
  foundJob,
  type JobViewOptions,
  jobNode,
  jobStanding,
  listedJob,
  singleJob,
  waitingNode,
} from './view.js';

export interface JobRouteDeps extends SubmissionDeps, Omit<PreviewDeps, 'nodes'> {
  readonly access: PushAccess;
  readonly approvals: Pick<Approvals, 'ask'>;
}

interface Sight {
  /** Name of the requester; undefined: of all. */
  readonly only?: string;
  /** Of these. */
  may(jobId: string): Promise<boolean>;
}

const EVERYTHING: Sight = { may: async () => true };

const JOBS = '/organizations/:org/pushy/jobs';
const tags = ['push jobs'];

/** Jobs: start, preview, list, look at, abort. */
export function jobRoutes(app: App, deps: JobRouteDeps): void {
  const { read, controller } = deps;
  const requests = validatedEarly((body, text) => readJobRequest(body, text, deps));
  const previews = validatedEarly((body, text) => readPreviewRequest(body, text, deps.maxNodes));

  app.route({
    method: 'POST',
    url: JOBS,
    config: { permission: 'push:execute', empowers: false, beforeAuth: requests.check },
    schema: {
      tags,
      operationId: 'startPushJob',
      summary: 'Start a push job',
      description: '202: nothing is started; it waits for others to agree, as a policy of approval wants it.',
      params: schemas.OrgParams,
      body: schemas.JobBody,
      response: { 201: schemas.StartedAnswer, 202: AskedAnswer },
    },
    handler: async (request, reply) => {
      const { caller, organization } = request;
      const order = { kind: 'command', request: requests.of(request) } as const;
      const start = () => submitJob(deps, caller, organization, order.request);
      const attempted = await startOrAsk(deps.approvals, organization, { order, asker: caller, start });
      if ('approval' in attempted) return reply.code(202).send(askedView(attempted.approval));
      const id = attempted.job;
      const uri = jobUri(request, organization.name, id);
      return reply.code(201).header('location', uri).send({ id, uri });
    },
  });

  app.route({
    method: 'POST',
    url: `${JOBS}/preview`,
    config: { permission: 'push:execute', empowers: false, beforeAuth: previews.check },
    schema: {
      tags,
      operationId: 'previewPushJob',
      summary: 'Which nodes a job would have, and which of them would refuse it, without starting it',
      description:
        'By what nodes have told and what the server knows of them: none is asked, and each decides by itself when it is. ' +
        'With `limit` a page of them by name; a `Link: <…>; rel="next"` header leads to further ones.',
      params: schemas.OrgParams,
      querystring: schemas.PreviewQuery,
      body: schemas.PreviewBody,
      response: { 200: schemas.PreviewAnswer },
    },
    handler: async (request, reply) => {
      const { caller, organization, query } = request;
      const wanted = previews.of(request);
      checkPolicy(
        deps.config,
        wanted.command,
        FILE_KEYS.find((key) => wanted[key] && !(key === 'uploads' && isUpgrade(wanted.command))),
      );
      const { chosen, settings } = await admitNodes(deps, caller, organization, wanted);
      const nodes = [...chosen.allowed, ...chosen.denied].sort();
      const { needs } = await policyNeeds(deps, organization, nodes);
      if (needs.length === 0) deps.limits.check(caller, organization, settings);
      const whole = forecast(deps, organization, chosen, wanted);
      const counts = tallied(nodes.length, whole);
      const { after, limit = nodes.length } = query;
      const left = after === undefined ? nodes : nodes.filter((name) => name > after);
      const shown = left.slice(0, limit);
      const denied = new Set(chosen.denied);
      const last = shown.at(-1);
      if (left.length > limit && last !== undefined) reply.header('link', nextLink(request.url, 'after', last));
      return {
        count: nodes.length,
        nodes: shown,
        restricted: shown.filter((name) => denied.has(name)),
        approval: needs.length > 0,
        ...previewOf(shown, whole),
        counts,
        quorum: judgeQuorum(wanted, nodes.length, counts, defaultQuorum(settings)),
        ...batchesView(batchesOf(wanted, nodes.length)),
      };
    },
  });

  app.route({
    method: 'GET',
    url: JOBS,
    config: { permission: 'push:jobs', fields: schemas.JOB_FIELDS },
    schema: {
      tags,
      operationId: 'listPushJobs',
      summary: 'Jobs, newest first',
      description:
        'Who may not look at all of them (`push:read`) is shown those that they started and may look at (`push:job`); 403 when there is none. ' +
        'A `Link: <…>; rel="next"` header leads to further jobs. What only details have is shown also when `fields` asks for it.',
      params: schemas.OrgParams,
      querystring: schemas.ListQuery,
      response: { 200: schemas.JobListAnswer },
    },
    handler: async (request, reply) => {
      const { query, caller, organization } = request;
      const { only, may } = await sight(caller, organization);
      const filter = { ...readJobFilter(query), ...(only !== undefined && { only }) };
      const page = { limit: query.limit ?? DEFAULT_PAGE, after: readCursor(query.cursor), sort: query.sort };
      const { rows, more } = await pageOfJobs(read, organization.id, filter, page, may);
      const last = rows.at(-1);
      if (more && last !== undefined) reply.header('link', nextLink(request.url, 'cursor', cursorOf(last)));
      const asked = query.fields === undefined ? [] : readFields(query.fields, schemas.JOB_FIELDS);
      const detail = query.detail === 'true' || asked.some((name) => schemas.FIELDS_IN_DETAIL.includes(name));
      if (!detail) return rows.map((row) => listedJob(row, null));
      const ids = rows.map(({ id }) => id);
      const counts = await nodeCounts(read, ids);
      const standing = query.node === undefined ? null : await statusesOfNode(read, ids, query.node);
      return rows.map((row) => listedJob(row, counts.get(row.id) ?? {}, standing?.get(row.id)));
    },
  });

  app.route({
    method: 'GET',
    url: `${JOBS}/lookup/:digits`,
    config: { permission: 'push:jobs' },
    schema: {
      tags,
      operationId: 'lookUpPushJob',
      summary: 'Jobs whose id begins with these digits',
      description:
        'At least 4 digits. All ids of an organization begin with the same 12, which may be left out. At most ' +
        `${JOBS_FOUND} jobs are shown, by id: one when the digits are unambiguous, none when there is no such job. Of the same jobs as the list.`,
      params: schemas.LookupParams,
      response: { 200: schemas.LookupAnswer },
    },
    handler: async (request) => {
      const { caller, organization, params } = request;
      const { only, may } = await sight(caller, organization);
      const beginning = idsBeginning(organization.id, params.digits);
      if (beginning === null) throw invalid('digits', 'must be 4 to 32 of 0-9 and a-f');
      const found = [];
      for (const job of await jobsBeginning(read, organization.id, beginning, JOBS_FOUND, only)) {
        if (await may(job.id)) found.push(foundJob(job));
      }
      return found;
    },
  });

  app.route({
    method: 'GET',
    url: `${JOBS}/:id`,
    config: { permission: 'push:job', unsignedQuery: ['include_file'] },
    schema: {
      tags,
      operationId: 'getPushJob',
      summary: 'One job with its nodes by status',
      params: schemas.JobParams,
      querystring: schemas.JobQuery,
      response: { 200: schemas.JobAnswer },
    },
    handler: async (request) => {
      const { organization, params, query } = request;
      const job = await existingJob(deps, organization, params.id);
      return show(job, { includeFile: query.include_file === 'true', detail: query.detail === 'true' });
    },
  });

  app.route({
    method: 'GET',
    url: `${JOBS}/:id/nodes`,
    config: { permission: 'push:job' },
    schema: {
      tags,
      operationId: 'listPushJobNodes',
      summary: 'The nodes of a job in full, by name',
      description: 'A `Link: <…>; rel="next"` header leads to further nodes.',
      params: schemas.JobParams,
      querystring: schemas.JobNodesQuery,
      response: { 200: schemas.JobNodesAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params, query } = request;
      const job = await existingJob(deps, organization, params.id);
      if (query.after !== undefined) checkText('after', query.after, MAX_NODE_NAME_BYTES);
      const words = wordsOf('status', query.status);
      const limit = query.limit ?? DEFAULT_PAGE;
      const names = query.group === undefined ? undefined : await nodesOfGroup(read, job.id, query.group);
      const rows = await listJobNodes(
        read,
        job.id,
        {
          ...(words === undefined ? {} : { statuses: readNodeStatuses('status', words) }),
          ...(names === undefined ? {} : { names }),
        },
        { limit: limit + 1, ...(query.after === undefined ? {} : { after: query.after }) },
      );
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      if (rows.length > limit && last !== undefined) reply.header('link', nextLink(request.url, 'after', last.node));
      return shown.map(jobNode);
    },
  });

  app.route({
    method: 'GET',
    url: `${JOBS}/:id/why`,
    config: { permission: 'push:job' },
    schema: {
      tags,
      operationId: 'explainPushJob',
      summary: 'What a job and each of its unfinished nodes wait for',
      description: 'A `Link: <…>; rel="next"` header leads to further nodes.',
      params: schemas.JobParams,
      querystring: schemas.WhyQuery,
      response: { 200: schemas.WhyAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params, query } = request;
      const job = await existingJob(deps, organization, params.id);
      const { why, nodes } = controller.why(organization.id, job.id) ?? { why: [ended(job)], nodes: [] };
      const { after, limit = DEFAULT_PAGE } = query;
      const left = after === undefined ? nodes : nodes.filter(({ node }) => node > after);
      const shown = left.slice(0, limit);
      const last = shown.at(-1);
      if (left.length > limit && last !== undefined) reply.header('link', nextLink(request.url, 'after', last.node));
      return { why: [...why], nodes: shown.map(waitingNode) };
    },
  });

  app.route({
    method: 'PUT',
    url: `${JOBS}/:id/abort`,
    config: { permission: 'push:execute', empowers: false },
    schema: {
      tags,
      operationId: 'abortPushJob',
      summary: 'Abort a job; harmless when it has finished',
      description:
        'A job that goes on may also be named by the beginning of its id, as in a lookup, when no other id begins so.',
      params: schemas.JobParams,
      response: { 200: schemas.ChangedJobAnswer },
    },
    handler: async (request) => {
      const { caller, organization, params } = request;
      const job = await jobThatGoesOn(deps, organization, params.id);
      await checkMayAbort(deps, caller, organization, job);
      const aborted = deps.audit.write({
        orgId: organization.id,
        actor: actorOf(caller),
        action: 'push.abort',
        target: job.id,
        outcome: 'done',
      });
      await controller.abort(organization.id, job.id, caller.name, [aborted]);
      return showChanged(caller, organization, job.id);
    },
  });

  app.route({
    method: 'PUT',
    url: `${JOBS}/:id/continue`,
    config: { permission: 'push:execute', empowers: false },
    schema: {
      tags,
      operationId: 'continuePushJob',
      summary: 'Let a job go on that is held after a batch, or after failures',
      description:
        'A pause between two batches ends, too. Say which hold you have seen, so that the request may be repeated: 409 when the job is at another one. The job may be named as to abort it.',
      params: schemas.JobParams,
      querystring: schemas.SeenHoldQuery,
      response: { 200: schemas.ChangedJobAnswer },
    },
    handler: async (request) => {
      const { caller, organization, params, query } = request;
      const job = await jobThatGoesOn(deps, organization, params.id);
      await checkMayAbort(deps, caller, organization, job);
      const { batch, excused = 0 } = query;
      const seen = batch === undefined ? null : { batch, excused };
      const continued = deps.audit.write({
        orgId: organization.id,
        actor: actorOf(caller),
        action: 'push.continue',
        target: job.id,
        outcome: 'done',
      });
      const how = await controller.continue(organization.id, job.id, seen, [continued]);
      if (how === 'not_held') throw new MusterError('push_job_not_held', { job: job.id, status: job.status });
      if (how === 'other_hold') throw new MusterError('push_job_held_elsewhere', { job: job.id, batch: batch ?? 0 });
      return showChanged(caller, organization, job.id);
    },
  });

  /** Which jobs somebody is shown. @throws MusterError `forbidden` for whom there is none */
  async function sight(caller: Identity, org: Organization): Promise<Sight> {
    const { access } = deps;
    if (await access.mayRead(caller, org)) return EVERYTHING;
    const own = { only: caller.name, may: (jobId: string) => access.mayLookAt(caller, org, jobId) };
    const { rows } = await pageOfJobs(read, org.id, { only: own.only }, { limit: 1 }, own.may);
    if (rows.length === 0) throw access.forbidden(caller, 'push:read');
    return own;
  }

  /** After a change: to whoever may look at it the whole job. */
  async function showChanged(caller: Identity, org: Organization, id: string): Promise<Record<string, unknown>> {
    const job = await existingJob(deps, org, id);
    if (!(await deps.access.mayLookAt(caller, org, id))) return jobStanding(job);
    return show(job, { includeFile: false, detail: true });
  }

  async function show(job: JobRow, options: JobViewOptions): Promise<Record<string, unknown>> {
    return singleJob(job, await nodeStatuses(read, job.id), options);
  }
}

/** @throws MusterError `push_job_not_found`, also for jobs of other organizations. */
export async function existingJob(deps: Pick<JobRouteDeps, 'read'>, org: Organization, id: string): Promise<JobRow> {
  // What cannot be an id is not looked up: the databases differ in what text they take.
  const job = isJobId(id) ? await findJob(deps.read, org.id, id) : undefined;
  if (job === undefined) throw new MusterError('push_job_not_found', { job: id.slice(0, 64) });
  return job;
}

/**
 * By its id, or by a beginning that no other id has. That finds only a job that goes on: who may abort or continue jobs but not
 * read them could look through the others by trying digits.
 */
async function jobThatGoesOn(deps: Pick<JobRouteDeps, 'read'>, org: Organization, id: string): Promise<JobRow> {
  const beginning = isJobId(id) ? null : idsBeginning(org.id, id);
  if (beginning === null) return existingJob(deps, org, id);
  const [found, another] = await jobsBeginning(deps.read, org.id, beginning, 2);
  if (another !== undefined) throw invalid('id', 'is the beginning of several ids: give more digits');
  const job = found === undefined ? undefined : await findJob(deps.read, org.id, found.id);
  if (job === undefined || job.phase === 'finished') throw new MusterError('push_job_not_found', { job: id });
  return job;
}

/** Who may not start jobs at large may abort one only when every node still in it is granted to them (N13). */
async function checkMayAbort(deps: JobRouteDeps, caller: Identity, org: Organization, job: JobRow): Promise<void> {
  if (await deps.access.mayWrite(caller, org)) return;
  const names = await unfinishedNodeNames(deps.read, job.id);
  if (names.length === 0) return;
  const denied = await deps.access.denied(caller, org, names);
  if (denied.length > 0) throw deps.access.forbidden(caller, 'push:write');
}

/** Bodies are validated before the signature (sheet §7.2) and used after it. */
function validatedEarly<T>(read: (body: unknown, text: string) => T) {
  const accepted = new WeakMap<FastifyRequest, T>();
  return {
    check(request: FastifyRequest): void {
      accepted.set(request, read(parseJson(request.rawBody), request.rawBody.toString()));
    },
    of(request: FastifyRequest): T {
      const value = accepted.get(request);
      if (value === undefined) throw new Error('the body was not validated before authentication');
      return value;
    },
  };
}
