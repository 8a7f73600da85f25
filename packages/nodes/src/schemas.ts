import { type TSchema, Type } from 'typebox';
import { FACT_CHANGE } from './event-types.js';

/** Shapes of the answers, for the OpenAPI document and the serializer. */

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()]);
const time = (description = '') =>
  Type.String({ format: 'date-time', description: ['ISO 8601', description].filter((text) => text !== '').join('; ') });
const values = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]));

/** What every answer about a node begins with. */
export const NODE_STATUS = {
  node_name: Type.String(),
  status: Type.Union([Type.Literal('up'), Type.Literal('down')]),
  updated_at: time('when `status` last changed'),
  reason: Type.String({ description: 'Why it is in this state' }),
  via: Type.Union([Type.Literal('agent'), Type.Literal('ssh')], {
    description: '`ssh`: it has no agent, and the server itself runs commands there',
  }),
};

const DETAIL = {
  state: nullable(Type.String({ description: 'What the agent says it is doing' })),
  heard_at: nullable(time()),
  incarnation: nullable(Type.String()),
  last_end: nullable(Type.String({ description: 'How its previous incarnation ended: clean, crash or reinstalled' })),
  dialect: nullable(Type.String()),
  created_at: time(),
  facts: values,
  labels: values,
};

/** `fields`: what layers above know of a node. */
export function nodeDetailSchema(fields: Readonly<Record<string, TSchema>>) {
  return Type.Object({ ...NODE_STATUS, ...fields, ...DETAIL });
}

export const History = Type.Array(
  Type.Object({
    position: Type.Integer({ description: 'Of its event: `after` for what comes next' }),
    at: time(),
    changes: Type.Array(Type.Object(FACT_CHANGE)),
    omitted: Type.Integer({ description: 'How many changes more there were' }),
  }),
  { description: 'The oldest first' },
);

export const Why = Type.Object({ node_name: Type.String(), available: Type.Boolean(), explanation: Type.String() });

const ServerKeyLink = Type.Object({
  previous: Type.String({ description: 'PEM' }),
  key: Type.String({ description: 'PEM' }),
  announced_at: time(),
  takes_over_at: time(),
  revoked: Type.Boolean({ description: 'The previous key was replaced at once: somebody else may have it' }),
  signature: Type.String({ description: 'Base64, by the previous key' }),
  confirmation: Type.String({ description: 'Base64, by the key' }),
});

export const Configuration = Type.Object({
  type: Type.Literal('config'),
  host: Type.String(),
  push_jobs: Type.Object({
    heartbeat: Type.Object({
      out_addr: Type.String(),
      command_addr: Type.String(),
      interval: Type.Number({ description: 'Seconds' }),
      offline_threshold: Type.Integer(),
      online_threshold: Type.Integer(),
    }),
    command_addr: Type.String(),
  }),
  node: Type.String(),
  organization: Type.String(),
  public_key: Type.String({ description: 'PEM; verifies the server’s heartbeats' }),
  curve_public_key: Type.Optional(Type.String({ description: 'Z85' })),
  encoded_session_key: Type.Object({
    method: Type.Literal('hmac_sha256'),
    key: Type.String({ description: 'Base64, encrypted for the key that signed the request' }),
  }),
  lifetime: Type.Number({ description: 'Seconds' }),
  max_message_skew: Type.Number({ description: 'Seconds' }),
  max_body_size: Type.Integer({ description: 'Bytes' }),
  incarnation_id: Type.String(),
  output_limit: Type.Integer({ description: 'Bytes kept per stream of a command' }),
  server_key: Type.Optional(
    Type.Object(
      {
        voucher: Type.String({ description: 'Base64, by `public_key`: the CURVE key is that of the server' }),
        links: Type.Array(ServerKeyLink, { description: 'From the key that the node knows to `public_key`' }),
        next: Type.Optional(ServerKeyLink),
      },
      { description: 'By which a Muster agent knows the server again' },
    ),
  ),
  return_within: Type.Optional(Type.Number({ description: 'Seconds over which nodes return to a restarted server' })),
  clustered: Type.Optional(
    Type.Literal(true, {
      description: 'After a lost connection another server of the cluster may be the one to speak to',
    }),
  ),
});
