import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import { jobFor } from '../controller/access.js';
import { askerOf } from '../controller/asker.js';
import { MusterError } from '../errors.js';
import { type AdminDeps, IdParams, OrgParams, PageQuery, pageOf, recordAudit } from '../routes/admin-deps.js';
import { recordCommandOf } from './messages.js';
import { countOf, findRecord, jobsOf, recordsOf, view, whyJob } from './view.js';

const RECOVERY = '/organizations/:org/job-recovery';
const tags = ['jobs'];
const Texts = Type.Record(Type.String(), Type.String());
const Time = Type.Union([Type.String(), Type.Null()]);

const Recovery = Type.Object({
  id: Type.String(),
  condition: Type.String(),
  tester: Type.String(),
  parameters: Texts,
  policy: Type.String(),
  policy_parameters: Texts,
  attempts: Type.Integer({ description: 'Tests that were not passed' }),
  last_answer: Type.Union([Type.String(), Type.Null()]),
  next_test: Time,
  since: Time,
  gives_up: Time,
  jobs: Type.Integer({ description: 'Jobs that wait for it' }),
});

const RecoveryDetail = Type.Object({
  ...Recovery.properties,
  blocked: Type.Array(
    Type.Object({
      job: Type.String(),
      goes_on_at: Type.Union([Type.String(), Type.Null()], {
        description: 'null: it has ended, and its program may run',
      }),
      message: Type.String(),
      since: Type.String(),
    }),
    { description: 'The first thousand' },
  ),
});

const JobWhy = Type.Object({
  why: Type.Array(Type.String()),
  recovery: Type.Union([Recovery, Type.Null()], { description: 'What it waits for while it is blocked' }),
});

const Accepted = Type.Object({ id: Type.String() });
const MOST_SHOWN = 1000;

/** Jobs that are blocked: for what, until when, and what may be done about it. */
export function recoveryRoutes(app: App, deps: AdminDeps): void {
  const { read } = deps.store;

  app.route({
    method: 'GET',
    url: RECOVERY,
    config: { permission: 'job:admin' },
    schema: {
      tags,
      operationId: 'listJobRecovery',
      summary: 'What blocked jobs wait for, what is tested next first',
      params: OrgParams,
      querystring: PageQuery,
      response: { 200: Type.Array(Recovery) },
    },
    handler: ({ organization, query }) => recordsOf(read, organization.id, pageOf(query)),
  });

  app.route({
    method: 'GET',
    url: `${RECOVERY}/:id`,
    config: { permission: 'job:admin' },
    schema: {
      tags,
      operationId: 'getJobRecovery',
      summary: 'One condition, and the jobs that wait for its end',
      params: IdParams,
      response: { 200: RecoveryDetail },
    },
    handler: async ({ organization, params: { id } }) => {
      const record = await existing(organization.id, id);
      return { ...view(record, await countOf(read, id)), blocked: await jobsOf(read, id, MOST_SHOWN) };
    },
  });

  for (const [action, msgType, summary] of [
    ['test-now', 'TEST_NOW', 'Test it now'],
    ['give-up', 'GIVE_UP', 'Give it up: its jobs fail'],
  ] as const) {
    app.route({
      method: 'POST',
      url: `${RECOVERY}/:id/${action}`,
      config: { permission: 'job:admin', empowers: false },
      schema: {
        tags,
        operationId: action === 'test-now' ? 'testJobRecovery' : 'giveUpJobRecovery',
        summary,
        params: IdParams,
        response: { 202: Accepted },
      },
      handler: async ({ caller, organization, params: { id } }, reply) => {
        await existing(organization.id, id);
        await recordAudit(deps, { caller, organization }, `job-recovery:${action}`, id);
        await deps.broker.publish(recordCommandOf(organization.name, msgType, id, caller.name));
        return reply.code(202).send({ id });
      },
    });
  }

  app.route({
    method: 'GET',
    url: '/organizations/:org/job-recovery/jobs/:id/why',
    config: { permission: 'job:use' },
    schema: {
      tags,
      operationId: 'whyJob',
      summary: 'What a job does now and why, line by line',
      params: IdParams,
      response: { 200: JobWhy },
    },
    handler: async ({ caller, organization, params: { id } }) => {
      const asker = await askerOf(deps.auth, caller, organization);
      const { job } = await jobFor(read, organization, asker, id, 'read', 'read');
      const { why, recovery } = await whyJob(read, job);
      return { why: [...why], recovery };
    },
  });

  async function existing(orgId: string, id: string) {
    const record = await findRecord(read, orgId, id);
    if (record === null) throw new MusterError('not_found', { kind: 'recovery record', name: id });
    return record;
  }
}
