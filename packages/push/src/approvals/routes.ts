import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { Approvals } from './approvals.js';
import type { ApprovalRow } from './repository.js';
import * as schemas from './schemas.js';
import { approvalDetail, approvalView, type Choices } from './view.js';

export interface ApprovalRouteDeps {
  readonly approvals: Approvals;
  readonly auth: Pick<Auth, 'authorize' | 'rights'>;
}

const APPROVALS = '/organizations/:org/approvals';
const tags = ['approvals'];

/** Requests for a second person: list, look at, grant, deny. */
export function approvalRoutes(app: App, { approvals, auth }: ApprovalRouteDeps): void {
  /** Who asked may take it back, and not agree to it. */
  async function choices(caller: Identity, organization: Organization, row: ApprovalRow): Promise<Choices> {
    const own = row.asker_id === caller.principalId;
    const decides = await auth.authorize(caller, organization, 'approval:decide', row.id);
    return { grant: decides && !own, deny: decides || own };
  }

  app.route({
    method: 'GET',
    url: APPROVALS,
    config: { permission: 'member' },
    schema: {
      tags,
      operationId: 'listApprovals',
      summary: 'Approvals that the caller may look at, the newest first',
      params: schemas.OrgParams,
      querystring: schemas.ListQuery,
      response: { 200: schemas.ApprovalListAnswer },
    },
    handler: async ({ caller, organization, query }) => {
      const all = await auth.authorize(caller, organization, 'push:read');
      const seen = [];
      for (const row of await approvals.all(organization, query.status ?? null)) {
        if (all || (await auth.authorize(caller, organization, 'approval:read', row.id))) {
          seen.push(approvalView(row, approvals.now()));
        }
      }
      return seen;
    },
  });

  app.route({
    method: 'GET',
    url: `${APPROVALS}/:id`,
    config: { permission: 'approval:read' },
    schema: {
      tags,
      operationId: 'getApproval',
      summary: 'One approval with everything that would be started',
      params: schemas.ApprovalParams,
      response: { 200: schemas.ApprovalDetailAnswer },
    },
    handler: async ({ caller, organization, params }) => {
      const row = await approvals.existing(organization, params.id);
      const script = await approvals.script(organization, row);
      return approvalDetail(row, approvals.now(), script, await choices(caller, organization, row));
    },
  });

  app.route({
    method: 'POST',
    url: `${APPROVALS}/:id/grant`,
    // Who finds a token must not be the second person.
    config: { permission: 'approval:decide', empowers: true },
    schema: {
      tags,
      operationId: 'grantApproval',
      summary: 'Agree to what was asked for; whoever does so last starts it',
      description:
        'The signature covers the hash, and with it what is started. Asked again by the same caller it answers the same push job. Never by who asked for it.',
      params: schemas.ApprovalParams,
      body: schemas.GrantBody,
      response: { 200: schemas.GrantedAnswer },
    },
    handler: async ({ caller, organization, params, body }) => {
      const { run, missing } = await approvals.grant(organization, params.id, body.hash, caller);
      const { job } = approvalView(await approvals.existing(organization, params.id), approvals.now());
      return { id: params.id, job: run === null ? null : job, missing };
    },
  });

  app.route({
    method: 'POST',
    url: `${APPROVALS}/:id/deny`,
    config: { permission: 'approval:read', empowers: false },
    schema: {
      tags,
      operationId: 'denyApproval',
      summary: 'Refuse it; also by who asked, who takes it back',
      params: schemas.ApprovalParams,
      body: schemas.DenyBody,
      response: { 200: schemas.ApprovalAnswer },
    },
    handler: async ({ caller, organization, params, body }) => {
      const row = await approvals.existing(organization, params.id);
      if (!(await choices(caller, organization, row)).deny) {
        throw auth.rights.forbidden(caller.name, 'approval:decide');
      }
      const denied = await approvals.deny(organization, params.id, body.reason ?? null, caller);
      return approvalView(denied, approvals.now());
    },
  });
}
