import { type TSchema, Type } from 'typebox';
import type { StoredDelivery } from './deliveries.js';

const Time = Type.String({ description: 'ISO 8601' });
const nullable = <T extends TSchema>(type: T) => Type.Union([type, Type.Null()]);

/** What was sent, or is to be. */
export const DeliveryAnswer = Type.Object({
  id: Type.String({ description: '`webhook-id`, the same at each attempt' }),
  event: Type.String({ description: 'Type of the event' }),
  url: Type.String(),
  outcome: Type.Union([
    Type.Literal('waiting'),
    Type.Literal('delivered'),
    Type.Literal('logged'),
    Type.Literal('given_up'),
  ]),
  attempts: Type.Integer(),
  response_code: nullable(Type.Integer()),
  detail: nullable(Type.String({ description: 'What was answered, or why it did not come' })),
  created: Time,
  last_sent: nullable(Time),
  next_attempt: nullable(Time),
});

export function deliveryView(row: StoredDelivery): Type.Static<typeof DeliveryAnswer> {
  return {
    id: row.id,
    event: row.event,
    url: row.url,
    outcome: row.outcome,
    attempts: row.attempts,
    response_code: row.response_code,
    detail: row.detail,
    created: time(row.created),
    last_sent: row.last_sent === null ? null : time(row.last_sent),
    next_attempt: row.next_attempt === null ? null : time(row.next_attempt),
  };
}

const time = (ms: number): string => new Date(ms).toISOString();
