import type { App } from '@muster/platform/http';
import type { Policies, Policy } from './policies.js';
import * as schemas from './schemas.js';

const POLICIES = '/organizations/:org/approval-policies';
const tags = ['approvals'];

/** Which push jobs wait for others to agree. */
export function policyRoutes(app: App, { policies }: { readonly policies: Policies }): void {
  app.route({
    method: 'GET',
    url: POLICIES,
    config: { permission: 'member' },
    schema: {
      tags,
      operationId: 'listApprovalPolicies',
      summary: 'Which push jobs wait for others to agree, by name of the policy',
      params: schemas.OrgParams,
      response: { 200: schemas.PolicyListAnswer },
    },
    handler: async ({ organization }) => (await policies.all(organization)).map(policyView),
  });

  app.route({
    method: 'PUT',
    url: `${POLICIES}/:policy`,
    // A token that leaked must not lower what the jobs of others need.
    config: { permission: 'org:admin', empowers: true },
    schema: {
      tags,
      operationId: 'setApprovalPolicy',
      summary: 'Make a policy of approval, or put it in the place of the one of this name',
      description: 'It holds for all push jobs: commands, runs of runbooks, and what schedules and rules start.',
      params: schemas.PolicyParams,
      body: schemas.PolicyBody,
      response: { 200: schemas.PolicySetAnswer },
    },
    handler: async ({ organization, caller, params, body }) => {
      const { node_group: nodeGroup = null, above = 0, grants = 1, by = [], within = null } = body;
      const policy: Policy = { name: params.policy, nodeGroup, above, grants, by, within };
      await policies.set(organization, policy, caller);
      return { ...policyView(policy), unknown: [...(await policies.unknown(organization, policy))] };
    },
  });

  app.route({
    method: 'DELETE',
    url: `${POLICIES}/:policy`,
    config: { permission: 'org:admin', empowers: true },
    schema: {
      tags,
      operationId: 'deleteApprovalPolicy',
      summary: 'Delete a policy of approval; what waits for it goes on waiting',
      params: schemas.PolicyParams,
      response: schemas.Nothing,
    },
    handler: async ({ organization, caller, params }, reply) => {
      await policies.remove(organization, params.policy, caller);
      return reply.code(204).send(null);
    },
  });
}

function policyView({ name, nodeGroup, above, grants, by, within }: Policy) {
  return { name, node_group: nodeGroup, above, grants, by: [...by], within };
}
