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
  description:
    "Which events: a selector, such as `type = 'push.job_complete' AND (status <> 'complete' OR failed > 0)`",
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
const AfterSeal = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Of the audit: what was sealed after this seal is sent; 0, all of it, unless given',
});
const Follows = Type.Union([Type.Literal('events'), Type.Literal('audit')], {
  description: '`audit`: every entry of the audit, seal by seal in their order; events unless given',
});
const Enabled = Type.Boolean({ description: 'false: nothing is told' });

export const NewBody = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$', description: 'letters, digits and _ . -' }),
    follows: Type.Optional(Follows),
    on: Type.Optional(On),
    to: To,
    retries: Type.Optional(Retries),
    enabled: Type.Optional(Enabled),
    after_seal: Type.Optional(AfterSeal),
  },
  STRICT,
);
export const ChangesBody = Type.Object(
  {
    on: Type.Optional(On),
    to: Type.Optional(To),
    retries: Type.Optional(Retries),
    enabled: Type.Optional(Enabled),
    after_seal: Type.Optional(AfterSeal),
  },
  { ...STRICT, minProperties: 1 },
);

const nullable = <T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(type: T) =>
  Type.Union([type, Type.Null()]);

const OnlyLogged = Type.Boolean({
  description: 'Its target is mail, and this server sends none until `outbound.smtp_url` is set: it is logged',
});

/** How far the audit has come with whoever follows it. */
const Trail = Type.Object({
  arrived: Type.Integer({ description: 'Number of the last seal that arrived' }),
  sealed: Type.Integer({ description: 'Number of the last seal that there is' }),
  attempts: Type.Integer({ description: 'That failed, of the seal after the one that arrived' }),
  response_code: nullable(Type.Integer()),
  detail: nullable(Type.String({ description: 'What was answered last, or why it did not come' })),
  last_sent: nullable(Time),
  next_attempt: nullable(Time),
});

export const Answer = Type.Object({
  name: Type.String(),
  follows: Type.String({ description: '`events` or `audit`' }),
  on: nullable(Type.String({ description: 'null: it follows the audit' })),
  to: Type.String(),
  only_logged: OnlyLogged,
  retries: Type.Integer(),
  enabled: Type.Boolean(),
  owner: Type.Object({
    name: Type.String({ description: 'With whose rights events are followed: whoever made or changed it last' }),
    kind: Type.String(),
  }),
  skipped: Type.Integer({ description: `Events that were not told: ${NOTIFICATION_LIMITS.waiting} waited already` }),
  trail: Type.Union([Trail, Type.Null()]),
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

export const TestAnswer = Type.Object({
  id: Type.String({ description: 'Of the delivery' }),
  only_logged: OnlyLogged,
});

export const SecretAnswer = Type.Object({ secret: Type.String({ description: 'whsec_…' }) });
