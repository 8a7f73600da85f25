import { readFile } from 'node:fs/promises';
import { MusterError } from '@muster/wire';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { parse } from 'yaml';
import { ALLOW_LIST_ENTRIES, COMMAND_WORDS, LABELS } from './limits.js';

const strict = { additionalProperties: false } as const;
const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 4096 });
const seconds = (description: string, fallback: number) =>
  Type.Number({ description: `${description} (seconds)`, default: fallback, minimum: 0, maximum: 31_536_000 });

const CommandLine = Type.String({
  description: 'Split into words and run without a shell; `$1` is the first capture',
  minLength: 1,
  maxLength: 16_384,
});
const Arguments = Type.Array(Type.String({ maxLength: 16_384 }), {
  description: 'Program and arguments, as they are',
  minItems: 1,
  maxItems: COMMAND_WORDS,
});
const match = Type.Optional(
  Type.String({ description: 'Regular expression for the whole command; the key is then only a name' }),
);
const lock = Type.Optional(
  Type.Union([Type.Boolean(), Type.String({ minLength: 1 })], {
    description: 'Refuse while another process holds this lock file; true is the one of chef-client',
  }),
);

/** What one allowed command runs (N16). */
export const CommandEntrySchema = Type.Union([
  CommandLine,
  Arguments,
  Type.Object(
    { shell: Type.String({ description: 'Run by /bin/sh -c; captures are "$1"…', minLength: 1 }), match, lock },
    strict,
  ),
  Type.Object({ command_line: Type.Union([CommandLine, Arguments]), match, lock }, strict),
]);

/** The agent's file, JSON or YAML. Flags of the command line count more. */
export const AgentConfigSchema = Type.Object(
  {
    server: Type.Optional(text('URL of the server, e.g. https://muster.example.com')),
    org: Type.Optional(text('Organization')),
    name: Type.Optional(text('Name of this node; the host name when absent')),
    key: Type.Optional(text('Private key file; DATA_DIR/client.pem when absent')),
    data_dir: Type.Optional(text('Where key, incarnation and job files live')),
    ca: Type.Optional(text('PEM file of the authority that signed the server’s certificate')),
    commands: Type.Record(Type.String({ minLength: 1 }), CommandEntrySchema, {
      description: 'Allowed commands: exact text, or /pattern/',
      default: {},
      maxProperties: ALLOW_LIST_ENTRIES,
    }),
    allow_any: Type.Boolean({ description: 'Run whatever is asked for with /bin/sh -c', default: false }),
    labels: Type.Record(
      Type.String({ minLength: 1, maxLength: 128 }),
      Type.Union([Type.String({ maxLength: 1024 }), Type.Number(), Type.Boolean()]),
      {
        description: 'Key and value pairs of this node, searchable like facts',
        default: {},
        maxProperties: LABELS,
      },
    ),
    grace: seconds('Between TERM and KILL when a command is stopped', 5),
    file_dir: Type.Optional(text('Where files of jobs are written; DATA_DIR/files when absent')),
    file_dir_expiry: Type.Number({
      description: 'Files of jobs are removed once older than this, looked at this often (seconds)',
      default: 86_400,
      minimum: 0.1,
      maximum: 31_536_000,
    }),
    events: Type.Optional(
      Type.Object(
        {
          socket: Type.String({
            description:
              'Unix socket at which programs on this node publish and follow events as the node; relative to DATA_DIR',
            minLength: 1,
            maxLength: 107,
          }),
          upstream: Type.Optional(
            text('Relay or server: stomp://HOST:PORT, stomp+tls://, ws:// or wss://; the server itself when absent'),
          ),
          group: Type.Optional(text('Group that may open the socket; only the agent’s own user when absent')),
        },
        { ...strict, description: 'Events for programs on this node; none when absent. Read when the agent starts' },
      ),
    ),
    allowed_overwritable_env_vars: Type.Optional(
      Type.Array(Type.String(), {
        description: 'When given, other variables of a job’s env get the prefix CHEF_PUSH_ENV_',
      }),
    ),
  },
  strict,
);

export type AgentConfig = Static<typeof AgentConfigSchema>;
export type CommandEntry = Static<typeof CommandEntrySchema>;

/** Checks a parsed file and fills defaults in. Throws `invalid_configuration` naming the key. */
export function parseAgentConfig(input: unknown, file = 'agent configuration'): AgentConfig {
  const value = Value.Default(AgentConfigSchema, input ?? {});
  if (Value.Check(AgentConfigSchema, value)) return value;
  throw new MusterError('invalid_configuration', { reason: `${file}: ${complaint(value)}` });
}

/** Reads and checks a configuration file. JSON is YAML. */
export async function loadAgentConfig(file: string): Promise<AgentConfig> {
  let parsed: unknown;
  try {
    parsed = parse(await readFile(file, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MusterError('invalid_configuration', { reason: `${file}: ${reason}` }, { cause: error });
  }
  return parseAgentConfig(parsed, file);
}

function complaint(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  const unknown = Object.keys(value).find((key) => !(key in AgentConfigSchema.properties));
  if (unknown !== undefined) {
    return `unknown key '${unknown}' (known: ${Object.keys(AgentConfigSchema.properties).join(', ')})`;
  }
  const [first] = Value.Errors(AgentConfigSchema, value);
  if (first === undefined) return 'invalid';
  return `${first.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')} ${first.message}`;
}
