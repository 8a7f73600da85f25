import { Type } from 'typebox';
import { OUTBOUND_LIMITS } from '../outbound/limits.js';
import { NOTIFICATION_LIMITS } from './limits.js';

/** Shapes of requests and answers about notifications. Requests are strict: an unknown field is refused by name. */
const STRICT = { additionalProperties: false } as const;
const Time = Type.String({ description: 'ISO 8601' });
const segment = () => Type.String({ minLength: 1, maxLength: NOTIFICATION_LIMITS.name });

export const OrgParams = Type.Object({ org: segment() });
export const Params = Type.Object({ org: segment(), name: segment() });

const On = Type.String({
  minLength: 1,
  maxLength: NOTIFICATION_LIMITS.selector,
  description: "Which events: a selector, such as `type = 'push.job_complete' AND status <> 'complete'`",
});
const To = Type.String({
  minLength: 1,
  maxLength: NOTIFICATION_LIMITS.target,
  description: 'An http or https URL, which gets Standard Webhooks; or an e-mail address',
});
const Retries = Type.Integer({
  minimum: 0,
  maximum: OUTBOUND_LIMITS.retries,
  description: 'After the first attempt, the first after 5 s, each pause twice the one before, a day at most',
});
const Enabled = Type.Boolean({ description: 'false: nothing is told' });

export const NewBody = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$', description: 'letters, digits and _ . -' }),
    on: On,
    to: To,
    retries: Type.Optional(Retries),
    enabled: Type.Optional(Enabled),
  },
  STRICT,
);
export const ChangesBody = Type.Object(
  { on: Type.Optional(On), to: Type.Optional(To), retries: Type.Optional(Retries), enabled: Type.Optional(Enabled) },
  { ...STRICT, minProperties: 1 },
);

export const Answer = Type.Object({
  name: Type.String(),
  on: Type.String(),
  to: Type.String(),
  retries: Type.Integer(),
  enabled: Type.Boolean(),
  owner: Type.Object({
    name: Type.String({ description: 'With whose rights events are followed: whoever made or changed it last' }),
    kind: Type.String(),
  }),
  skipped: Type.Integer({ description: `Events that were not told: ${NOTIFICATION_LIMITS.waiting} waited already` }),
  created_at: Time,
  updated_at: Time,
});

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: NOTIFICATION_LIMITS.page, default: NOTIFICATION_LIMITS.page }),
    ),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 })),
  },
  STRICT,
);

const nullable = <T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(type: T) =>
  Type.Union([type, Type.Null()]);

/** What was sent, or is to be. */
export const DeliveryAnswer = Type.Object({
  id: Type.String({ description: '`webhook-id`, the same at each attempt' }),
  event: Type.String({ description: 'Type of the event' }),
  url: Type.String(),
  outcome: Type.Union([Type.Literal('waiting'), Type.Literal('delivered'), Type.Literal('given_up')]),
  attempts: Type.Integer(),
  response_code: nullable(Type.Integer()),
  detail: nullable(Type.String({ description: 'What was answered, or why it did not come' })),
  created: Time,
  last_sent: nullable(Time),
  next_attempt: nullable(Time),
});

export const SecretAnswer = Type.Object({ secret: Type.String({ description: 'whsec_…' }) });
