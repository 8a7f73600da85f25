import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@muster/base';
import type { Auth, Identity, Organization } from '@muster/platform/auth';
import { checkEventSelector } from '@muster/platform/events';
import type { App } from '@muster/platform/http';
import { AskedAnswer, askedView } from '@muster/push';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Rules } from './directory.js';
import { MusterError } from './errors.js';
import type { GrantedRules } from './granted.js';
import { USUAL_AT_MOST } from './limits.js';
import { type Reading, readNewRule, readRuleFields } from './request.js';
import './rights.js';
import * as schemas from './schemas.js';
import { rightToRead, type Starting } from './starting.js';
import { type TryingDeps, tryRule } from './trying.js';
import type { Rule } from './types.js';
import { ruleView, runView, triedView } from './view.js';

export interface RuleRouteDeps extends Reading, TryingDeps {
  readonly rules: Rules;
  readonly starting: Starting;
  readonly granted: GrantedRules;
  readonly auth: Pick<Auth, 'authorize' | 'rights'>;
  readonly clock: Pick<Clock, 'now'>;
}

const RULES = '/organizations/:org/rules';
const tags = ['rules'];
const RIGHTS = 'It follows events and starts with the rights of whoever changed it last, as they are at each event.';
const WAITS =
  '202, with `asks: once`: nothing is changed until others have agreed to it; its runs wait for nobody then.';

/** Rules: make, list, look at, change, try, delete; and what they have started. */
export function ruleRoutes(app: App, deps: RuleRouteDeps): void {
  const { rules, starting, granted, auth, clock, tasks } = deps;
  const view = (rule: Rule) => ruleView(rule, (orgId, queueId) => tasks.controller.queue(orgId, queueId)?.name);

  app.route({
    method: 'GET',
    url: RULES,
    config: { permission: 'rule:use' },
    schema: {
      tags,
      operationId: 'listRules',
      summary: 'Rules by name: one’s own, and those whose work one may look at',
      params: schemas.OrgParams,
      response: { 200: Type.Array(schemas.RuleAnswer) },
    },
    handler: async ({ caller, organization }) => {
      const seen: Rule[] = [];
      for (const rule of await rules.list(organization)) if (await mayRead(caller, organization, rule)) seen.push(rule);
      return seen.map(view);
    },
  });

  app.route({
    method: 'POST',
    url: RULES,
    // It goes on when the token with which it was made is long gone.
    config: { permission: 'rule:use', empowers: true },
    schema: {
      tags,
      operationId: 'createRule',
      summary: 'Have events start a runbook, a task or a job',
      description: `${RIGHTS} ${WAITS}`,
      params: schemas.OrgParams,
      body: schemas.NewBody,
      response: { 201: schemas.RuleAnswer, 202: AskedAnswer },
    },
    handler: async ({ caller, organization, body }, reply) => {
      const { name, ...fields } = body;
      const asked = readNewRule(fields, organization, deps);
      await starting.assertMay(caller, organization, asked.work);
      await starting.assertFits(organization, asked.work);
      if ((await rules.find(organization, name)) !== null) throw new MusterError('rule_exists', { name });
      const waits = await granted.ask(organization, name, null, asked, caller);
      if (waits !== null) return reply.code(202).send(askedView(waits));
      return reply.code(201).send(view(await rules.create(organization, name, asked, caller)));
    },
  });

  app.route({
    method: 'POST',
    url: `${RULES}/dry-run`,
    config: { permission: 'push:read', empowers: false },
    schema: {
      tags,
      operationId: 'tryRule',
      summary: 'What a rule would have done about the last events; nothing is started',
      params: schemas.OrgParams,
      body: schemas.TryBody,
      response: { 200: schemas.TriedAnswer },
    },
    handler: async ({ caller, organization, body }) => {
      const { seconds = 86_400, at_most: atMost = USUAL_AT_MOST, on, ...fields } = body;
      checkEventSelector('on', on);
      const { work = null, notDuring = [], blackout = 'skip' } = readRuleFields(fields, organization, deps);
      // What is told of its runbook is for those who may run it.
      if (work !== null) await starting.assertMay(caller, organization, work);
      const blackoutAt = (at: number) => deps.calendars.at(organization.id, notDuring, at);
      const since = clock.now() - seconds * 1000;
      return triedView(await tryRule(deps, organization, { selector: on, work, atMost, blackout, blackoutAt }, since));
    },
  });

  app.route({
    method: 'GET',
    url: `${RULES}/:rule`,
    config: { permission: 'rule:use' },
    schema: {
      tags,
      operationId: 'getRule',
      summary: 'One rule',
      params: schemas.RuleParams,
      response: { 200: schemas.RuleAnswer },
    },
    handler: async (request) => view(await readable(request)),
  });

  app.route({
    method: 'PATCH',
    url: `${RULES}/:rule`,
    config: { permission: 'rule:use', empowers: true },
    schema: {
      tags,
      operationId: 'changeRule',
      summary: 'Change which events start what, or switch it off or on',
      description: `${RIGHTS} ${WAITS} To switch it on as it was when others agreed needs nobody.`,
      params: schemas.RuleParams,
      body: schemas.ChangesBody,
      response: { 200: schemas.RuleAnswer, 202: AskedAnswer },
    },
    handler: async (request, reply) => {
      const { caller, organization, body } = request;
      const before = await changeable(request);
      const asked = readRuleFields(body, organization, deps);
      if (isDeepStrictEqual(asked, { enabled: false })) return view(await rules.switchOff(before, caller));
      await starting.assertMay(caller, organization, asked.work ?? before.work);
      if (asked.work !== undefined) await starting.assertFits(organization, asked.work);
      const waits = await granted.ask(organization, before.name, before, asked, caller);
      if (waits !== null) return reply.code(202).send(askedView(waits));
      return view(await rules.change(before, asked, caller));
    },
  });

  app.route({
    method: 'POST',
    url: `${RULES}/:rule/off`,
    // Whoever may stop it can do so in a hurry, with what they have at hand: nobody can do more afterwards.
    config: { permission: 'rule:use', empowers: false },
    schema: {
      tags,
      operationId: 'switchOffRule',
      summary: 'Have it start nothing until it is switched on; it stays whose it is',
      params: schemas.RuleParams,
      response: { 200: schemas.RuleAnswer },
    },
    handler: async (request) => view(await rules.switchOff(await changeable(request), request.caller)),
  });

  app.route({
    method: 'DELETE',
    url: `${RULES}/:rule`,
    config: { permission: 'rule:use', empowers: false },
    schema: {
      tags,
      operationId: 'deleteRule',
      summary: 'Delete a rule; what it has started goes on',
      params: schemas.RuleParams,
      response: schemas.Nothing,
    },
    handler: async (request, reply) => {
      await rules.remove(await changeable(request), request.caller);
      return reply.code(204).send(null);
    },
  });

  app.route({
    method: 'GET',
    url: `${RULES}/:rule/runs`,
    config: { permission: 'rule:use' },
    schema: {
      tags,
      operationId: 'listRuleRuns',
      summary: 'What a rule has started, or could not start, newest first',
      params: schemas.RuleParams,
      querystring: schemas.PageQuery,
      response: { 200: Type.Array(schemas.RunAnswer) },
    },
    handler: async (request) => {
      const { limit = 50, offset = 0 } = request.query;
      return (await rules.runs(await readable(request), limit, offset)).map(runView);
    },
  });

  type OfRule = Pick<FastifyRequest, 'caller' | 'organization'> & { readonly params: { readonly rule: string } };

  async function mayRead(caller: Identity, org: Organization, { owner, work }: Rule): Promise<boolean> {
    return caller.principalId === owner.principalId || starting.mayRead(caller, org, work);
  }

  async function readable({ caller, organization, params }: OfRule): Promise<Rule> {
    const rule = await rules.existing(organization, params.rule);
    if (await mayRead(caller, organization, rule)) return rule;
    throw auth.rights.forbidden(caller.name, rightToRead(rule.work)[0]);
  }

  /** One's own, or any for admins. */
  async function changeable(request: OfRule): Promise<Rule> {
    const rule = await readable(request);
    await starting.assertMayChange(request.caller, rule);
    return rule;
  }
}
