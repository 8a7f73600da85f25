import { readFile } from 'node:fs/promises';
import { expectedQuantity, MusterError, parseQuantity, type Quantity } from '@muster/wire';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { parse } from 'yaml';
import { ALLOW_LIST_ENTRIES, COMMAND_WORDS, LABELS } from './limits.js';

const strict = { additionalProperties: false } as const;
const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 4096 });

const YEAR = 31_536_000;
/** Seconds; in the file also text with a unit, such as `10s`. */
const DURATIONS = {
  grace: { unit: 'seconds', minimum: 0, maximum: YEAR },
  file_dir_expiry: { unit: 'seconds', minimum: 0.1, maximum: YEAR },
} as const satisfies Readonly<Record<string, Quantity>>;

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
    grace: Type.Number({
      description: 'Between TERM and KILL when a command is stopped',
      default: 5,
      ...DURATIONS.grace,
    }),
    file_dir: Type.Optional(text('Where files of jobs are written; DATA_DIR/files when absent')),
    file_dir_expiry: Type.Number({
      description: 'Files of jobs are removed once older than this, looked at this often',
      default: 86_400,
      ...DURATIONS.file_dir_expiry,
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
  const value = Value.Default(AgentConfigSchema, withoutUnits(input ?? {}));
  if (Value.Check(AgentConfigSchema, value)) return value;
  throw new MusterError('invalid_configuration', { reason: `${file}: ${complaint(value, input)}` });
}

/** Text that is no duration stays, to be refused by the schema. */
function withoutUnits(input: unknown): unknown {
  if (!isMap(input)) return input;
  const read = ([key, value]: [string, unknown]) => {
    const quantity = quantityOf(key);
    const converts = quantity !== undefined && typeof value === 'string';
    return [key, converts ? (parseQuantity(quantity.unit, value) ?? value) : value];
  };
  return Object.fromEntries(Object.entries(input).map(read));
}

function quantityOf(key: string): Quantity | undefined {
  return Object.hasOwn(DURATIONS, key) ? DURATIONS[key as keyof typeof DURATIONS] : undefined;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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

/** `written`: the same before durations were read, as the author knows it. */
function complaint(value: unknown, written: unknown): string {
  if (!isMap(value) || !isMap(written)) return 'must be an object';
  const unknown = Object.keys(value).find((key) => !(key in AgentConfigSchema.properties));
  if (unknown !== undefined) {
    return `unknown key '${unknown}' (known: ${Object.keys(AgentConfigSchema.properties).join(', ')})`;
  }
  const [first] = Value.Errors(AgentConfigSchema, value);
  if (first === undefined) return 'invalid';
  const key = first.instancePath.slice(1);
  const quantity = quantityOf(key);
  if (quantity !== undefined) {
    return `${key}: expected ${expectedQuantity(quantity)}, got ${shown(written[key])}`;
  }
  return `${key.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')} ${first.message}`;
}

const SHOWN_LENGTH = 64;

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, SHOWN_LENGTH)}'`;
  return typeof value === 'number' || value === null ? String(value) : `a value of type ${typeof value}`;
}
