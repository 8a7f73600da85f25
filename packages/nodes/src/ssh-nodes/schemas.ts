import { PRINCIPAL_NAME } from '@muster/platform/auth';
import { SECRET_NAME } from '@muster/platform/secrets';
import { Type } from 'typebox';
import { NODE_STATUS } from '../schemas.js';

const STRICT = { additionalProperties: false } as const;
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description });

const Host = Type.String({
  pattern: '^(?!-)[A-Za-z0-9._:%-]{1,255}$',
  description: 'Name or address of the host',
});
const Port = Type.Integer({ minimum: 1, maximum: 65_535, description: 'Of its sshd; 22 unless given' });
const User = Type.String({ pattern: '^[^\\x00-\\x20-][^\\x00-\\x20]{0,254}$', description: 'Who logs in there' });
const HostKey = Type.String({
  minLength: 1,
  maxLength: 16_384,
  description:
    'The key of the host: `SHA256:…` as `ssh-keygen -l` shows it, or a line of `ssh-keyscan` or of its `.pub` file. A host with another one is refused; without one nobody logs in',
});
const SecretName = (description: string) => nullable(Type.String({ pattern: SECRET_NAME }), description);
const KEY_SECRET = 'Name of the secret that holds the private key';
const PASSWORD_SECRET = 'Name of the secret that holds the password; with a key, of the key';

const Policy = Type.Object(
  {
    commands: Type.Optional(
      Type.Record(Type.String({ minLength: 1, maxLength: 16_384 }), Type.Unknown(), {
        description: 'Allowed commands, as `commands` of `agent.yaml`: exact text, or /pattern/, to what it runs',
      }),
    ),
    allow_any: Type.Optional(Type.Boolean({ description: 'Run whatever is asked for' })),
    allow_env: Type.Optional(Type.Array(Type.String(), { description: 'Variables that jobs may set' })),
    environment: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'What every command gets' })),
    labels: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
        description: 'By which it is found',
      }),
    ),
    grace: Type.Optional(Type.Number({ description: 'Seconds between TERM and KILL; 5 unless given' })),
    tell_commands: Type.Optional(Type.Boolean({ description: 'Show people what is allowed; true unless given' })),
  },
  {
    ...STRICT,
    description: 'What may run there, as an `agent.yaml` would say it. What is not said is not allowed',
  },
);

export const SshNodeBody = Type.Object(
  {
    name: Type.String({ pattern: PRINCIPAL_NAME }),
    host: Host,
    port: Type.Optional(Port),
    user: User,
    host_key: Type.Optional(nullable(HostKey, '')),
    key_secret: Type.Optional(SecretName(KEY_SECRET)),
    password_secret: Type.Optional(SecretName(PASSWORD_SECRET)),
    policy: Type.Optional(Policy),
  },
  STRICT,
);

export const SshNodeChanges = Type.Partial(Type.Omit(SshNodeBody, ['name']), STRICT);

export const SshNodeAnswer = Type.Object({
  ...NODE_STATUS,
  host: Type.String(),
  port: Type.Integer(),
  user: Type.String(),
  host_key: nullable(Type.String(), '`SHA256:…`; null: none is pinned, and nobody logs in'),
  key_secret: nullable(Type.String(), KEY_SECRET),
  password_secret: nullable(Type.String(), PASSWORD_SECRET),
  policy: Type.Object(
    {},
    { additionalProperties: true, description: 'As it was given; `environment` is shown to admins alone' },
  ),
  reached: Type.Union([Type.Literal('unknown'), Type.Literal('reached'), Type.Literal('unreachable')], {
    description: 'Whether its host answers; `unknown`: it was not asked yet',
  }),
  reached_since: Type.String({ format: 'date-time', description: 'When that last changed' }),
  trouble: nullable(Type.String(), 'Why it is not reached'),
  connected: Type.Boolean({ description: 'A connection is open now; one that nobody uses is closed' }),
  created_at: Type.String({ format: 'date-time' }),
  changed_at: Type.String({ format: 'date-time' }),
});

export const SshTestAnswer = Type.Object({
  node_name: Type.String(),
  ok: Type.Boolean(),
  steps: Type.Array(
    Type.Object({
      step: Type.Union([
        Type.Literal('answers'),
        Type.Literal('host key'),
        Type.Literal('login'),
        Type.Literal('shell'),
      ]),
      ok: Type.Boolean(),
      text: Type.String(),
    }),
    { description: 'In their order, until the first that fails' },
  ),
});
