import type { Auth, Organization } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { FastifyRequest } from 'fastify';
import type { Approvals } from '../approvals/approvals.js';
import { startOrAsk } from '../approvals/start-or-ask.js';
import { askedView } from '../approvals/view.js';
import * as jobSchemas from '../routes/schemas.js';
import { jobUri } from '../routes/uri.js';
import type { RunbookRow } from './reads.js';
import type { Runbooks, Version } from './runbooks.js';
import * as schemas from './schemas.js';
import { definitionOf, planView, runbookBrief, runbookView, versionView } from './view.js';

export interface RunbookRouteDeps {
  readonly runbooks: Runbooks;
  readonly approvals: Approvals;
  readonly auth: Pick<Auth, 'authorize' | 'rights'>;
}

type Asked = Pick<FastifyRequest, 'caller' | 'organization'>;

const RUNBOOKS = '/organizations/:org/runbooks';
const tags = ['runbooks'];

/** Saved commands: make, list, look at, change, try, run, delete. */
export function runbookRoutes(app: App, { runbooks, approvals, auth }: RunbookRouteDeps): void {
  const told = async (org: Organization, version: Version) =>
    runbookView(version, await runbooks.unknownMembers(org, version.definition));

  app.route({
    method: 'GET',
    url: RUNBOOKS,
    config: { permission: 'member' },
    schema: {
      tags,
      operationId: 'listRunbooks',
      summary: 'Runbooks that the caller may look at or run, by name',
      params: schemas.OrgParams,
      response: { 200: schemas.RunbookListAnswer },
    },
    handler: async ({ caller, organization }) => {
      const seen = [];
      for (const row of await runbooks.all(organization)) {
        const runnable = await auth.authorize(caller, organization, 'runbook:run', row.name);
        if (runnable || (await auth.authorize(caller, organization, 'runbook:read', row.name))) {
          seen.push({ ...runbookBrief(row), runnable });
        }
      }
      return seen;
    },
  });

  app.route({
    method: 'POST',
    url: RUNBOOKS,
    // It gives others the right to run something, for as long as it is there.
    config: { permission: 'push:execute', empowers: true },
    schema: {
      tags,
      operationId: 'createRunbook',
      summary: 'Make a runbook',
      description: 'Nodes are asked with the rights of whoever makes it, as they are at each run.',
      params: schemas.OrgParams,
      body: schemas.RunbookBody,
      response: { 201: schemas.RunbookAnswer },
    },
    handler: async ({ caller, organization, body }, reply) => {
      const { name, ...fields } = body;
      const made = await runbooks.create(organization, name, definitionOf(fields), caller);
      return reply.code(201).send(await told(organization, made));
    },
  });

  app.route({
    method: 'GET',
    url: `${RUNBOOKS}/:runbook`,
    config: { permission: 'runbook:read' },
    schema: {
      tags,
      operationId: 'getRunbook',
      summary: 'One runbook: its newest version, or another',
      params: schemas.RunbookParams,
      querystring: schemas.VersionQuery,
      response: { 200: schemas.RunbookAnswer },
    },
    handler: async (request) =>
      told(request.organization, await runbooks.version(await existing(request), request.query.version)),
  });

  app.route({
    method: 'GET',
    url: `${RUNBOOKS}/:runbook/versions`,
    config: { permission: 'runbook:read' },
    schema: {
      tags,
      operationId: 'listRunbookVersions',
      summary: 'Versions of a runbook, the newest first',
      params: schemas.RunbookParams,
      response: { 200: schemas.VersionsAnswer },
    },
    handler: async (request) => (await runbooks.versions(await existing(request))).map(versionView),
  });

  app.route({
    method: 'PUT',
    url: `${RUNBOOKS}/:runbook`,
    config: { permission: 'push:execute', empowers: true },
    schema: {
      tags,
      operationId: 'updateRunbook',
      summary: 'Give a runbook a new version',
      description:
        'By who made or last changed it, or who has `push:write`. From then on nodes are asked with the rights of whoever changed it. When its author hands in what it is already, there is no new version (`unchanged`).',
      params: schemas.RunbookParams,
      body: schemas.DefinitionBody,
      response: { 200: schemas.UpdatedAnswer },
    },
    handler: async (request) => {
      const { caller, organization, body } = request;
      const row = await changeable(request);
      const updated = await runbooks.update(organization, row, definitionOf(body), caller);
      return { ...(await told(organization, updated)), unchanged: updated.version === row.version };
    },
  });

  app.route({
    method: 'DELETE',
    url: `${RUNBOOKS}/:runbook`,
    config: { permission: 'push:execute', empowers: false },
    schema: {
      tags,
      operationId: 'deleteRunbook',
      summary: 'Delete a runbook with its versions; what it has started goes on',
      params: schemas.RunbookParams,
      response: schemas.Nothing,
    },
    handler: async (request, reply) => {
      await runbooks.remove(request.organization, await changeable(request), request.caller);
      return reply.code(204).send(null);
    },
  });

  app.route({
    method: 'POST',
    url: `${RUNBOOKS}/:runbook/preview`,
    config: { permission: 'member', empowers: false },
    schema: {
      tags,
      operationId: 'previewRunbook',
      summary: 'What a run would be, and on which nodes, without starting it',
      description: 'Needs `runbook:run`.',
      params: schemas.RunbookParams,
      body: schemas.RunBody,
      response: { 200: schemas.PlanAnswer },
    },
    handler: async (request) => {
      const plan = await planned(request);
      const { chosen, preview, quorum, approval } = await runbooks.forecast(request.caller, request.organization, plan);
      return planView(plan, chosen, { ...preview, quorum, approval });
    },
  });

  app.route({
    method: 'POST',
    url: `${RUNBOOKS}/:runbook/run`,
    config: { permission: 'member', empowers: false },
    schema: {
      tags,
      operationId: 'runRunbook',
      summary: 'Run it: start its push job',
      description:
        'Needs `runbook:run`. The caller may look at the job and its output; that gives no right to abort it, nor to other jobs. 202: it waits for a second person, who grants it.',
      params: schemas.RunbookParams,
      body: schemas.RunBody,
      response: { 201: jobSchemas.StartedAnswer, 202: schemas.AskedAnswer },
    },
    handler: async (request, reply) => {
      const { caller, organization } = request;
      const plan = await planned(request);
      const { asked, author } = plan;
      const order = runbooks.orderOf(plan);
      const start = () => runbooks.start(organization, order, { asker: caller, author });
      const attempted = await startOrAsk(approvals, organization, { order, asker: caller, asked, start });
      if ('approval' in attempted) return reply.code(202).send(askedView(attempted.approval));
      const id = attempted.job;
      const uri = jobUri(request, organization.name, id);
      return reply.code(201).header('location', uri).send({ id, uri });
    },
  });

  type OfRunbook = Asked & { readonly params: { readonly runbook: string } };

  function existing({ organization, params }: OfRunbook): Promise<RunbookRow> {
    return runbooks.existing(organization, params.runbook);
  }

  /**
   * Whether it is there is told only to those who may look at it.
   * @throws MusterError `runbook_not_found`, `forbidden`
   */
  async function runnable(request: OfRunbook): Promise<RunbookRow> {
    const { caller, organization, params } = request;
    const may = (permission: 'runbook:read' | 'runbook:run') =>
      auth.authorize(caller, organization, permission, params.runbook);
    if (await may('runbook:run')) return existing(request);
    if (await may('runbook:read')) await existing(request);
    throw auth.rights.forbidden(caller.name, 'runbook:run');
  }

  async function planned(request: OfRunbook & { readonly body: schemas.RunFields }) {
    const { parameters = {}, version } = request.body;
    const asked = { parameters, ...(version !== undefined && { version }) };
    return runbooks.plan(request.organization, await runnable(request), asked);
  }

  /** One's own, or all for those who may start any push job. @throws MusterError `runbook_not_found`, `forbidden` */
  async function changeable(request: OfRunbook): Promise<RunbookRow> {
    const { caller, organization } = request;
    const row = await existing(request);
    if (caller.principalId === row.author_id) return row;
    if (await auth.authorize(caller, organization, 'push:write')) return row;
    throw auth.rights.forbidden(caller.name, 'push:write');
  }
}
