import { Type } from 'typebox';
import { MembersBody, Unknown } from '../../directory/schemas.js';
import { EVENT_LIMITS } from '../limits.js';

/** Shapes of requests and answers about events. */

const segment = () => Type.String({ minLength: 1, maxLength: 255 });
const Time = Type.String({ description: 'ISO 8601' });

export const OrgParams = Type.Object({ org: segment() });

export const WhereAnswer = Type.Object({
  stomp: Type.String({ description: 'Address of STOMP 1.2: stomp://HOST:PORT or stomp+tls://HOST:PORT' }),
  websocket: Type.String({ description: 'The same over WebSocket: ws:// or wss://' }),
  destination: Type.String({ description: 'Where events are sent to and subscribed to' }),
  position: Type.Integer({ description: 'Of the newest event of all' }),
  max_size: Type.Integer({ description: 'Bytes of the largest event: type, attributes and body together' }),
});

/** A type, or the beginning of types and `*`. */
export const TYPE_PATTERN = '^(?:[A-Za-z0-9_.-]{1,128}|[A-Za-z0-9_.-]{0,127}\\*)$';
const Pattern = Type.String({ pattern: TYPE_PATTERN, description: 'An event type, or its beginning and `*`' });
const Action = Type.Union([Type.Literal('publish'), Type.Literal('subscribe')]);

/** Of what is to be set the pattern is checked by the handler, so that it answers 400 and not 404. */
export const GrantParams = Type.Object({ org: segment(), action: Action, pattern: segment() });
export const GrantPattern = Pattern;
export const GrantBody = MembersBody;
const Grant = {
  action: Action,
  pattern: Pattern,
  users: Type.Array(Type.String()),
  clients: Type.Array(Type.String()),
  groups: Type.Array(Type.String()),
};
export const GrantAnswer = Type.Object(Grant);
export const StoredGrantAnswer = Type.Object({ ...Grant, ...Unknown });

const Kind = Type.Union([Type.Literal('user'), Type.Literal('node'), Type.Literal('service')], {
  description: 'What that is the name of',
});

export const ScheduledParams = Type.Object({ org: segment(), id: segment() });
export const ScheduledQuery = Type.Object(
  { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: EVENT_LIMITS.page, default: EVENT_LIMITS.page })) },
  { additionalProperties: false },
);
export const ScheduledAnswer = Type.Object({
  id: Type.String(),
  type: Type.String(),
  source: Type.String({ description: 'Whose event it is: ORG/NAME' }),
  kind: Kind,
  at: Type.String({ description: 'When it is due, ISO 8601' }),
  created_at: Time,
  attributes: Type.Array(
    Type.Object({ name: Type.String(), value: Type.String() }, { description: 'In the publisher’s order' }),
  ),
  size: Type.Integer({ description: 'Bytes of the body' }),
});

export const DurableParams = Type.Object({ org: segment(), principal: segment(), name: segment() });
export const DurableQuery = Type.Object({ kind: Type.Optional(Kind) }, { additionalProperties: false });
export const DurableAnswer = Type.Object({
  principal: Type.String({ description: 'Whose it is' }),
  kind: Kind,
  name: Type.String(),
  selector: Type.String(),
  position: Type.Integer({ description: 'All events up to here were acknowledged, or do not match' }),
  saved_at: Time,
});
