import { type Static, Type } from 'typebox';
import { CALENDAR_LIMITS } from './limits.js';

/** Shapes of requests and answers about calendars. Requests are strict: an unknown field is refused by name. */
const STRICT = { additionalProperties: false } as const;
const Time = Type.String({ description: 'ISO 8601' });
const segment = () => Type.String({ minLength: 1, maxLength: CALENDAR_LIMITS.name });
const line = (description: string) => Type.String({ minLength: 1, maxLength: CALENDAR_LIMITS.text, description });

export const OrgParams = Type.Object({ org: segment() });
export const CalendarParams = Type.Object({ org: segment(), calendar: segment() });
export const Nothing = { 204: Type.Null({ description: 'Done' }) };

const WHY = { why: Type.Optional(line('For whoever asks why nothing is started')) };
const EntryShape = Type.Union([
  Type.Object(
    { weekly: line('`fri 18:00-mon 06:00`, `mon-fri 22:00-06:00`, `daily 02:00-04:00`, `sun`'), ...WHY },
    STRICT,
  ),
  Type.Object(
    {
      dates: line('`2026-12-24`, `2026-12-24..2027-01-02` with both days, `2026-12-24T18:00..2026-12-25T06:00`'),
      ...WHY,
    },
    STRICT,
  ),
  Type.Object(
    {
      cron: line('When it begins, in five fields of cron: `0 2 1 * *`'),
      minutes: Type.Integer({
        minimum: 1,
        maximum: CALENDAR_LIMITS.windowMs / 60_000,
        description: 'How long it lasts from then on',
      }),
      ...WHY,
    },
    STRICT,
  ),
]);
const Entries = Type.Array(EntryShape, {
  minItems: 1,
  maxItems: CALENDAR_LIMITS.entries,
  description: 'When nothing is started: at the times of any of them',
});
const Zone = Type.String({ maxLength: 64, description: 'Whose clocks that means, such as `Europe/Berlin`' });
const Description = Type.String({ maxLength: CALENDAR_LIMITS.description });

export const NewBody = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$', description: 'letters, digits and _ . -' }),
    description: Type.Optional(Description),
    timezone: Type.Optional(Zone),
    entries: Entries,
  },
  STRICT,
);
export type NewCalendar = Static<typeof NewBody>;

export const ChangesBody = Type.Object(
  { description: Type.Optional(Description), timezone: Type.Optional(Zone), entries: Type.Optional(Entries) },
  { ...STRICT, minProperties: 1 },
);
export type CalendarChanges = Static<typeof ChangesBody>;

export const CalendarAnswer = Type.Object({
  name: Type.String(),
  description: Type.String(),
  timezone: Type.String(),
  entries: Type.Array(Type.Object({}, { additionalProperties: true })),
  now: Type.Union(
    [
      Type.Object({
        until: Type.String({ description: 'When something may be started again, ISO 8601' }),
        goes_on: Type.Boolean({ description: 'At that time it is not over: no end was found' }),
        why: Type.String(),
      }),
      Type.Null(),
    ],
    { description: 'Whether it lets nothing start now' },
  ),
  created_at: Time,
  updated_at: Time,
});
