import { Type } from 'typebox';
import { APPROVAL_LIMITS } from './limits.js';
import { APPROVAL_STATUSES, type ApprovalStatus } from './machine.js';

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
  runbook: Type.String(),
  version: Type.Integer(),
  command: Type.String({ description: 'As the push job shows it' }),
  target: Type.String({ description: 'Answered when it is started' }),
  parameters: Type.Record(Type.String(), Type.String(), { description: 'Of a secret `***`, of a file its hash' }),
  hash: Type.String({ description: 'Of everything that decides what would be started' }),
  asked_by: Type.String(),
  created_at: Time,
  expires_at: Time,
  decided_by: nullable('Null while it waits, and when its time was over'),
  decided_at: Type.Union([Time, Type.Null()]),
  reason: nullable('Why it was denied'),
  job: nullable('Id of the push job that was started'),
});
export const ApprovalListAnswer = Type.Array(ApprovalAnswer);
export const ApprovalDetailAnswer = Type.Object({
  ...ApprovalAnswer.properties,
  order: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
    description: 'Everything that decides what would be started, but for secrets; null once it is decided',
  }),
});
export const GrantedAnswer = Type.Object({ id: Type.String(), job: Type.String() });
export const AskedAnswer = Type.Object(
  { approval: Type.String({ description: 'Its id' }), hash: Type.String(), expires_at: Time },
  { description: 'It waits for a second person' },
);
