import { readFile } from 'node:fs/promises';
import { expectedQuantity, parseFailure, parseQuantity, type Quantity } from '@muster/base';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { parse } from 'yaml';
import { MusterError } from './errors.js';
import { MEMORY_QUANTITY, runLimitsSchema } from './execution/run-limits.js';
import { ALLOW_LIST_ENTRIES, ALLOWED_PATHS, COMMAND_WORDS, ENV_VARIABLES, LABELS, SCRIPT_SIGNERS } from './limits.js';
import { SystemsSchema } from './systems/config.js';
import { misconfiguredTasks, TASK_QUANTITIES, TasksSchema } from './tasks/config.js';
import { MINISIGN_KEY, VERSION_PATTERN } from './upgrade/version.js';

const strict = { additionalProperties: false } as const;
const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 4096 });

const YEAR = 31_536_000;
/** Seconds and bytes; in the file also text with a unit, such as `10s` or `1GiB`. */
const QUANTITIES = {
  grace: { unit: 'seconds', minimum: 0, maximum: YEAR },
  file_dir_expiry: { unit: 'seconds', minimum: 0.1, maximum: YEAR },
  'facts.interval': { unit: 'seconds', minimum: 10, maximum: YEAR },
  'facts.timeout': { unit: 'seconds', minimum: 0.1, maximum: 600 },
  'limits.memory': MEMORY_QUANTITY,
  'upgrade.probation': { unit: 'seconds', minimum: 1, maximum: 600 },
  ...TASK_QUANTITIES,
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

const VARIABLE = '^[A-Za-z_][A-Za-z0-9_]*\\*?$|^\\*$';
const allowedVariables = (description: string) =>
  Type.Array(Type.String({ pattern: VARIABLE, maxLength: 128 }), { description, maxItems: ENV_VARIABLES });
const allow_env = Type.Optional(allowedVariables('Further variables that jobs may set for this command'));

/** Absolute, in its one spelling; at its end `/*` or `/**`. */
const ALLOWED_PATH = '^(/(?!\\.\\.?(/|$))[^/*\\x00]+)+(/\\*\\*?)?$|^/\\*\\*?$';
const allowedPaths = (description: string) =>
  Type.Array(Type.String({ pattern: ALLOWED_PATH, maxLength: 4096 }), {
    description,
    default: [],
    maxItems: ALLOWED_PATHS,
  });

/** What one allowed command runs (N16). */
export const CommandEntrySchema = Type.Union([
  CommandLine,
  Arguments,
  Type.Object(
    {
      shell: Type.String({ description: 'Run by /bin/sh -c; captures are "$1"…', minLength: 1 }),
      match,
      lock,
      allow_env,
    },
    strict,
  ),
  Type.Object({ command_line: Type.Union([CommandLine, Arguments]), match, lock, allow_env }, strict),
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
    tell_commands: Type.Boolean({
      description:
        'Tell the server what this node allows, so that people see what they can run and where; it decides nothing',
      default: true,
    }),
    allow_scripts: Type.Union(
      [
        Type.Boolean(),
        Type.Array(
          Type.Object(
            {
              name: Type.String({ description: 'Who, for people', minLength: 1, maxLength: 255 }),
              key: Type.String({ description: 'Their public key, PEM', minLength: 1, maxLength: 16_384 }),
            },
            strict,
          ),
          { minItems: 1, maxItems: SCRIPT_SIGNERS },
        ),
      ],
      {
        description: 'Run scripts that come with push jobs: any, or those that one of these has signed',
        default: false,
      },
    ),
    allow_upload: allowedPaths('Where push jobs may put files: directories as `/srv/app/**` or `/srv/app/*`, or files'),
    allow_fetch: allowedPaths('Files that push jobs may collect, as in allow_upload'),
    allow_env: {
      ...allowedVariables(
        'Variables that jobs may set: names, or beginnings such as `DEPLOY_*`, which never stand for one that can ' +
          'change what a program runs (PATH, LD_PRELOAD, BASH_ENV, …): that is named in full',
      ),
      default: [],
    },
    environment: Type.Record(
      Type.String({ pattern: '^[^=\\x00]+$', maxLength: 128 }),
      Type.String({ pattern: '^[^\\x00]*$', maxLength: 32_768 }),
      {
        description:
          'What every command gets besides PATH, TZ, LANG, LC_* of the agent, HOME, USER, LOGNAME, SHELL and what tells it its job',
        default: {},
        maxProperties: ENV_VARIABLES,
      },
    ),
    labels: Type.Record(
      Type.String({ minLength: 1, maxLength: 128 }),
      Type.Union([Type.String({ maxLength: 1024 }), Type.Number(), Type.Boolean()]),
      {
        description: 'Key and value pairs of this node, searchable like facts',
        default: {},
        maxProperties: LABELS,
      },
    ),
    facts: Type.Object(
      {
        interval: Type.Number({
          description: 'Facts are looked at this often, and told when they have changed; also on SIGHUP',
          default: 3600,
          ...QUANTITIES['facts.interval'],
        }),
        program: Type.Optional(
          Type.String({
            description:
              'Absolute path of a program that writes further facts: one JSON object of text, numbers and booleans, at most 128 of them and 32 KiB. ' +
              'It runs as the agent, without arguments; a fact of the machine itself counts more than one of the same name',
            pattern: '^/',
            maxLength: 4096,
          }),
        ),
        timeout: Type.Number({
          description: 'How long that program may take',
          default: 10,
          ...QUANTITIES['facts.timeout'],
        }),
      },
      { ...strict, default: {} },
    ),
    grace: Type.Number({
      description: 'Between TERM and KILL when a command is stopped',
      default: 5,
      ...QUANTITIES.grace,
    }),
    limits: Type.Optional(
      runLimitsSchema(
        'one command',
        'What each command may take, by cgroup v2; an agent that cannot keep them does not start. Read when the agent starts',
      ),
    ),
    tasks: Type.Optional(TasksSchema),
    systems: Type.Optional(SystemsSchema),
    upgrade: Type.Optional(
      Type.Object(
        {
          key: Type.String({
            description:
              'Public key of minisign that has signed every release which may run here: the second line of muster.pub',
            pattern: MINISIGN_KEY,
          }),
          lowest: Type.Optional(
            Type.String({
              description:
                'Older versions than the one that runs may be put in its place, but none older than this; none at all when absent',
              pattern: VERSION_PATTERN,
            }),
          ),
          probation: Type.Number({
            description:
              'Within this time a new version has to reach the server, or the old one comes back. Keep it below the time after which ' +
              'the server takes a silent node for down (heartbeat.offline_threshold intervals)',
            default: 25,
            ...QUANTITIES['upgrade.probation'],
          }),
        },
        {
          ...strict,
          description:
            'Push jobs may upgrade the agent of this node (`muster agent upgrade`); none may when absent. That it is there is read when the agent starts',
        },
      ),
    ),
    file_dir: Type.Optional(text('Where files of jobs are written; DATA_DIR/files when absent')),
    file_dir_expiry: Type.Number({
      description: 'Files of jobs are removed once older than this, looked at this often',
      default: 86_400,
      ...QUANTITIES.file_dir_expiry,
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
        description:
          'Variables that jobs may set, too; when given, others are not refused but get the prefix CHEF_PUSH_ENV_',
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
  const wrong = Value.Check(AgentConfigSchema, value) ? misconfiguredTasks(value.tasks) : complaint(value, input);
  if (wrong === null) return value as AgentConfig;
  throw new MusterError('invalid_configuration', { reason: `${file}: ${wrong}` });
}

/** Text that is no duration or size stays, to be refused by the schema. */
function withoutUnits(input: unknown, path: readonly string[] = []): unknown {
  if (!isMap(input) || path.length > DEEPEST) return input;
  const read = ([name, value]: [string, unknown]) => {
    const at = [...path, name];
    const quantity = quantityOf(at);
    if (quantity === undefined) return [name, withoutUnits(value, at)];
    return [name, typeof value === 'string' ? (parseQuantity(quantity.unit, value) ?? value) : value];
  };
  return Object.fromEntries(Object.entries(input).map(read));
}

/** Keys above the deepest quantity: `tasks.plugins.NAME.limits`. */
const DEEPEST = 4;

/** In the table the name of a plugin is a `*`. */
function quantityOf(path: readonly string[]): Quantity | undefined {
  const named = path[0] === 'tasks' && path[1] === 'plugins' && path.length > 2;
  const key = path.map((name, index) => (named && index === 2 ? '*' : name)).join('.');
  return Object.hasOwn(QUANTITIES, key) ? QUANTITIES[key as keyof typeof QUANTITIES] : undefined;
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
    throw new MusterError('invalid_configuration', { reason: `${file}: ${parseFailure(error)}` }, { cause: error });
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
  const path = first.instancePath
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const key = path.join('.');
  const quantity = quantityOf(path);
  if (quantity !== undefined) {
    const found = path.reduce<unknown>((map, name) => (isMap(map) ? map[name] : undefined), written);
    return `${key}: expected ${expectedQuantity(quantity)}, got ${shown(found)}`;
  }
  if (path[0] === 'commands' && path.length === 2) return `${key}: expected ${COMMAND_ENTRY}`;
  const expected = first.keyword === 'pattern' ? EXPECTED[String(path[0])] : undefined;
  return expected === undefined ? `${key} ${first.message}` : `${key}: expected ${expected}`;
}

const COMMAND_ENTRY =
  'a command line, a list of a program and its arguments, or a map with shell or command_line, and perhaps match, lock, allow_env';
const ALLOWED =
  'a whole path, as /etc/motd: that file; /srv/app/*: what is in that directory; or /srv/app/**: all below it. An asterisk stands nowhere else';
/** In the place of a pattern, which is nothing to read. */
const EXPECTED: Readonly<Record<string, string>> = { allow_upload: ALLOWED, allow_fetch: ALLOWED };

const SHOWN_LENGTH = 64;

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, SHOWN_LENGTH)}'`;
  return typeof value === 'number' || value === null ? String(value) : `a value of type ${typeof value}`;
}
