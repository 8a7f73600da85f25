import { type Static, Type } from 'typebox';
import {
  ActionsBody,
  Count,
  nullable,
  OrgParams,
  QueueParams,
  Refused,
  STRICT,
  Time,
  words,
} from '../routes/schemas.js';

const STATES = ['running', 'done', 'stopped', 'failed'] as const;
const { action, where, ids, until, code } = ActionsBody.properties;

export const BulkBody = Type.Object(
  {
    action,
    where,
    ids,
    until,
    counted: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: '`matched` of the count before: how far it is, is told in proportion to it',
      }),
    ),
    code,
  },
  STRICT,
);
export type BulkBodyFields = Static<typeof BulkBody>;

const BULK = { bulk: Type.String({ description: 'Id of the action' }) };
export const BulkParams = Type.Object({ ...OrgParams.properties, ...BULK });
export const QueueBulkParams = Type.Object({ ...QueueParams.properties, ...BULK });

export const BulkAnswer = Type.Object({
  id: Type.String(),
  action,
  queue_id: nullable(Type.String({ description: 'Only tasks of this queue' })),
  where: nullable(Type.String({ description: 'Selector of tasks; null: they were named' })),
  state: words(STATES, ''),
  reason: nullable(Type.String({ description: 'Why it was stopped, or failed' })),
  by: Type.String({ description: 'Who wanted it' }),
  counted: nullable(Type.Integer({ minimum: 0, description: 'How many it was about when they were counted' })),
  matched: Type.Integer({ minimum: 0, description: 'Tasks that were looked at until now' }),
  acted: Count,
  refused: Refused,
  created_at: Time,
  ended_at: Type.Union([Time, Type.Null()]),
});
export const BulkListAnswer = Type.Array(BulkAnswer);
