import { Type } from 'typebox';
import { APPROVAL_LIMITS } from './limits.js';
import { APPROVAL_STATUSES, type ApprovalStatus } from './machine.js';
import type { OrderKind } from './order.js';

/** Shapes of requests and answers, for validation and for /openapi.json. */

const STRICT = { additionalProperties: false } as const;

const segment = () => Type.String({ minLength: 1, maxLength: 255 });
export const OrgParams = Type.Object({ org: segment() });
export const ApprovalParams = Type.Object({ org: segment(), id: segment() });

const Status = Type.Unsafe<ApprovalStatus>(Type.Union(APPROVAL_STATUSES.map((status) => Type.Literal(status))));
export const ListQuery = Type.Object({ status: Type.Optional(Status) }, STRICT);

export const GrantBody = Type.Object(
  {
    hash: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'Of what the caller has looked at, as `getApproval` shows it',
    }),
  },
  STRICT,
);
export const DenyBody = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: APPROVAL_LIMITS.reason })) },
  STRICT,
);

const Time = Type.String({ format: 'date-time' });
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

export const ApprovalAnswer = Type.Object({
  id: Type.String(),
  status: Status,
  kind: Type.Unsafe<OrderKind>(
    Type.Union(
      (['command', 'runbook', 'schedule', 'rule'] as const).map((kind) => Type.Literal(kind)),
      { description: 'What is asked for: to start a push job or a run, or to make or change what starts them' },
    ),
  ),
  runbook: nullable('Its name, of a run'),
  version: Type.Union([Type.Integer(), Type.Null()]),
  schedule: nullable('Its name, of one that is made or changed'),
  rule: nullable('Its name, of one that is made or changed'),
  command: Type.String({ description: 'As the push job shows it' }),
  target: Type.String({ description: 'Answered when it is started' }),
  parameters: Type.Record(Type.String(), Type.String(), { description: 'Of a secret `***`, of a file its hash' }),
  hash: Type.String({ description: 'Of everything that decides what would be started' }),
  asked_by: Type.String(),
  created_at: Time,
  expires_at: Time,
  decided_by: nullable('Null while it waits, and when its time was over'),
  decided_at: Type.Union([Time, Type.Null()]),
  needs: Type.Array(
    Type.Object({
      why: Type.String({ description: 'Who asks for it: a runbook, or a policy' }),
      grants: Type.Integer({ description: 'How many others have to agree' }),
      by: Type.Array(Type.String(), { description: 'Who counts, and nobody else; none: those who have `push:write`' }),
    }),
  ),
  agreed: Type.Array(Type.Object({ by: Type.String(), at: Time }), { description: 'Who has, so far' }),
  reason: nullable('Why it was denied'),
  job: nullable('Id of the push job that was started'),
});
export const ApprovalListAnswer = Type.Array(ApprovalAnswer);
export const ApprovalDetailAnswer = Type.Object({
  ...ApprovalAnswer.properties,
  order: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
    description: 'Everything that decides what would be started, but for secrets; null once it is decided',
  }),
  may_grant: Type.Boolean({ description: 'Whether the caller may agree to it, as long as it waits' }),
  may_deny: Type.Boolean({ description: 'Whether the caller may refuse it, or take it back, as long as it waits' }),
});
export const GrantedAnswer = Type.Object({
  id: Type.String(),
  job: nullable('Id of the push job that was started'),
  missing: Type.Integer({ description: 'How many others have to agree yet; 0: it was started, or made' }),
});

const text = (description: string) => Type.String({ description });
const POLICY = {
  node_group: Type.Union([Type.String({ minLength: 1, maxLength: 255 }), Type.Null()], {
    description: 'Whose nodes count; null: all do',
  }),
  above: Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Push jobs on more of these nodes wait' }),
  grants: Type.Integer({ minimum: 1, maximum: APPROVAL_LIMITS.grants, description: 'How many others have to agree' }),
  by: Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
    maxItems: APPROVAL_LIMITS.approvers,
    description: 'Who counts, and nobody else: `alice`, `group:NAME`, `client:NAME`; none: those who have `push:write`',
  }),
  within: Type.Union(
    [Type.Number({ minimum: APPROVAL_LIMITS.leastWithin, maximum: APPROVAL_LIMITS.mostWithin }), Type.Null()],
    { description: 'How long it waits (seconds); null: a day' },
  ),
};
export const PolicyParams = Type.Object({
  org: segment(),
  policy: Type.String({ minLength: 1, maxLength: APPROVAL_LIMITS.policyName, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' }),
});
export const PolicyBody = Type.Partial(Type.Object(POLICY, STRICT), {
  ...STRICT,
  description: 'Unless given: all nodes, `above` 0, 1 grant, a day',
});
export const PolicyAnswer = Type.Object({ name: text('Unique in the organization'), ...POLICY });
export const PolicySetAnswer = Type.Object({
  ...PolicyAnswer.properties,
  unknown: Type.Array(Type.String(), {
    description: 'Of `by`: who is not there, or not yet, as people who have still to sign in',
  }),
});
export const PolicyListAnswer = Type.Array(PolicyAnswer);
export const Nothing = { 204: Type.Null({ description: 'Done' }) };
export const AskedAnswer = Type.Object(
  { approval: Type.String({ description: 'Its id' }), hash: Type.String(), expires_at: Time },
  { description: 'It waits for a second person' },
);
