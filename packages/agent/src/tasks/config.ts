import { isAbsolute } from 'node:path';
import { ArgumentsError, classFault, parseArguments } from '@muster/plugin/contract';
import { LIMITS } from '@muster/wire';
import { type Static, Type } from 'typebox';
import { MEMORY_QUANTITY, runLimitsSchema } from '../execution/run-limits.js';
import {
  COMMAND_WORDS,
  ENV_VARIABLES,
  MODULE_PROCESSES,
  MODULE_RUNS_MOST,
  PERL_DIRECTORIES,
  PLUGIN_CONCURRENCY,
  TASK_SLOTS,
} from '../limits.js';

/** The part of the agent's file about queues: which plugins the node has, and how many tasks it runs at one time. */

const strict = { additionalProperties: false } as const;
const path = (description: string) => Type.Optional(Type.String({ description, minLength: 1, maxLength: 4096 }));
const queues = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.nameBytes }), {
    description,
    maxItems: LIMITS.queuesNamed,
    default: [],
  });

const YEAR = 31_536_000;
const TIMEOUT = { unit: 'seconds', minimum: 0.001, maximum: YEAR } as const;

/** Seconds and bytes; `*` is the name of a plugin. */
export const TASK_QUANTITIES = {
  'tasks.plugins.*.timeout': TIMEOUT,
  'tasks.plugins.*.limits.memory': MEMORY_QUANTITY,
  'tasks.plugins.*.recycle.memory': MEMORY_QUANTITY,
} as const;

const PluginSchema = Type.Object(
  {
    program: path(
      'Program that runs a task, as a full path. Without `args` it gets a task file and answers in another',
    ),
    type: Type.Optional(
      Type.String({
        description: 'How a program without `args` is called: `default`, with `--config`, or `nomongo`, without',
        maxLength: 64,
      }),
    ),
    config: path('File passed as --config to a program of type default; a generated one when absent'),
    args: Type.Optional(
      Type.Array(Type.String({ maxLength: 16_384 }), {
        description:
          'Arguments of a program that knows nothing of Muster; `{name}` is the parameter of that name, {{ and }} are braces. Never passed through a shell',
        maxItems: COMMAND_WORDS,
      }),
    ),
    stdin: Type.Optional(
      Type.Boolean({ description: 'Whether a program with `args` reads the parameters, as JSON, from its input' }),
    ),
    module: path('JavaScript module with a function `run`, as a full path; it runs in warm worker processes'),
    processes: Type.Optional(
      Type.Integer({
        description: 'Worker processes of a module; 1 when absent',
        minimum: 1,
        maximum: MODULE_PROCESSES,
      }),
    ),
    recycle: Type.Optional(
      Type.Object(
        {
          runs: Type.Optional(
            Type.Integer({ description: 'Tasks that one worker process runs', minimum: 1, maximum: MODULE_RUNS_MOST }),
          ),
          memory: Type.Optional(
            Type.Integer({ description: 'Memory that a worker process may come to use', ...MEMORY_QUANTITY }),
          ),
        },
        { ...strict, description: 'When a worker process of a module is replaced by a fresh one' },
      ),
    ),
    perl: Type.Optional(
      Type.String({
        description: 'Perl class, such as Disbatch::Plugin::Demo',
        minLength: 1,
        maxLength: LIMITS.nameBytes,
      }),
    ),
    lib: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
        description: 'Where the Perl class is looked for, besides where Perl looks',
        maxItems: PERL_DIRECTORIES,
      }),
    ),
    concurrency: Type.Optional(
      Type.Integer({
        description: 'Tasks of the plugin at one time; as many as the node runs when absent',
        minimum: 1,
        maximum: PLUGIN_CONCURRENCY,
      }),
    ),
    user: Type.Optional(
      Type.String({
        description: 'User that its tasks run as; the agent’s own when absent',
        minLength: 1,
        maxLength: 256,
      }),
    ),
    timeout: Type.Optional(Type.Number({ description: 'Longest time that one task may run', ...TIMEOUT })),
    limits: Type.Optional(
      runLimitsSchema(
        'one task',
        'What each task of a program may take, by cgroup v2; with `{}` a task has a control group of its own without limits, and a kill reaches every process of it. An agent that cannot keep them does not start',
      ),
    ),
    temp_dir: path(
      'Where working directories of its tasks are made; below DATA_DIR when absent. With `user`, one that nobody but the agent can change',
    ),
    environment: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[^=\\x00]+$', maxLength: 128 }),
        Type.String({ pattern: '^[^\\x00]*$', maxLength: 32_768 }),
        { description: 'What its tasks get besides what every command gets', maxProperties: ENV_VARIABLES },
      ),
    ),
  },
  { ...strict, description: 'One of `program`, `module` and `perl`' },
);

export const TasksSchema = Type.Object(
  {
    max: Type.Optional(
      Type.Integer({
        description: 'Tasks at one time, of all plugins together; as many as there are processors when absent',
        minimum: 0,
        maximum: TASK_SLOTS,
      }),
    ),
    activequeues: queues('Ids or names of the only queues whose tasks are run; all when empty'),
    ignorequeues: queues('Ids or names of queues whose tasks are not run'),
    plugins: Type.Record(Type.String({ minLength: 1, maxLength: LIMITS.nameBytes }), PluginSchema, {
      description: 'What runs tasks, by the names that queues give their plugins',
      default: {},
      maxProperties: LIMITS.plugins,
    }),
  },
  { ...strict, description: 'Tasks of queues that this node runs; none when absent' },
);

export type TasksConfig = Static<typeof TasksSchema>;
export type PluginConfig = Static<typeof PluginSchema>;

/** What is wrong with it that its schema does not tell; null: nothing. */
export function misconfiguredTasks(tasks: TasksConfig | undefined): string | null {
  for (const [name, plugin] of Object.entries(tasks?.plugins ?? {})) {
    const wrong = misconfiguredPlugin(plugin);
    if (wrong !== null) return `tasks.plugins.${name}: ${wrong}`;
  }
  return null;
}

const KINDS = ['program', 'module', 'perl'] as const;
type Kind = (typeof KINDS)[number];

/** Keys that mean something for some kinds of plugins only. */
const ONLY: Partial<Record<keyof PluginConfig, readonly Kind[]>> = {
  type: ['program'],
  config: ['program'],
  args: ['program'],
  stdin: ['program'],
  processes: ['module'],
  recycle: ['module'],
  lib: ['perl'],
  limits: ['program', 'perl'],
  temp_dir: ['program', 'perl'],
};

function misconfiguredPlugin(plugin: PluginConfig): string | null {
  const kinds = KINDS.filter((kind) => plugin[kind] !== undefined);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) return `give one of ${KINDS.join(', ')}`;
  for (const [key, allowed] of Object.entries(ONLY)) {
    const given = plugin[key as keyof PluginConfig] !== undefined;
    if (given && !allowed.includes(kind)) return `'${key}' is for a plugin with ${allowed.join(' or ')}`;
  }
  for (const key of ['program', 'module', 'config', 'temp_dir'] as const) {
    const file = plugin[key];
    if (file !== undefined && !isAbsolute(file)) return `'${key}' must be a full path, not '${file}'`;
  }
  const relative = plugin.lib?.find((dir) => !isAbsolute(dir));
  if (relative !== undefined) return `'lib' must be full paths, not '${relative}'`;
  if (plugin.perl !== undefined && classFault(plugin.perl) !== null)
    return `'${plugin.perl}' is no name of a Perl class`;
  return misconfiguredType(plugin) ?? misconfiguredArguments(plugin.args ?? []);
}

function misconfiguredArguments(args: readonly string[]): string | null {
  try {
    parseArguments(args);
    return null;
  } catch (error) {
    if (error instanceof ArgumentsError) return `'args': ${error.message}`;
    throw error;
  }
}

function misconfiguredType({ type, args, config, stdin }: PluginConfig): string | null {
  if (type === 'mongo' || type === 'handoff') {
    return `type '${type}' needs MongoDB, which Muster does not have; change the plugin to type default or nomongo`;
  }
  if (type !== undefined && type !== 'default' && type !== 'nomongo') return `type '${type}' is not default or nomongo`;
  if (args !== undefined && type !== undefined) return "'type' is for a program without 'args'";
  if (config !== undefined && (args !== undefined || type === 'nomongo')) return "'config' is for type default";
  if (stdin !== undefined && args === undefined) return "'stdin' is for a program with 'args'";
  return null;
}
