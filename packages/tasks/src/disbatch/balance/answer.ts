import { Type } from 'typebox';

/** What `GET …/disbatch/balance` says: the plan and how it went, as far as somebody has said one, and whether the server balances at all. */
export const BalanceAnswer = Type.Object({
  max_tasks: Type.Optional(
    Type.Record(Type.String(), Type.Integer(), {
      description: 'Of all queues together, by day of the week and time: `* 07:00` is every day, `0 07:00` Sundays',
    }),
  ),
  queues: Type.Optional(
    Type.Array(Type.Array(Type.String()), {
      description: 'Groups of queues, the least urgent first: it gets what is left',
    }),
  ),
  disabled: Type.Optional(
    Type.Union([Type.Integer(), Type.Null()], {
      description: 'Until when nothing is balanced, in seconds since 1970; null: it is',
    }),
  ),
  status: Type.Optional(
    Type.Union([Type.Literal('OK'), Type.Literal('WARNING'), Type.Literal('CRITICAL')], {
      description: 'Of the last round',
    }),
  ),
  message: Type.Optional(Type.String()),
  timestamp: Type.Optional(Type.Integer({ description: 'Of the last round, in seconds since 1970' })),
  notice: Type.Optional(Type.String({ description: 'That there is no plan yet' })),
  known_queues: Type.Array(Type.String()),
  settings: Type.Object({
    enabled: Type.Boolean({ description: 'The server balances' }),
    pretend: Type.Boolean({ description: 'It changes no queue' }),
  }),
});
