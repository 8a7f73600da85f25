import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { EXIT, MusterError, parseDuration } from '@muster/base';
import { Command, Option } from 'commander';
import { ArgumentsError, parseArguments } from '../contract/index.js';
import { givenTask } from './given-task.js';
import { reportOf } from './report.js';
import type { TriedPlugin } from './trial.js';
import { tryPlugin } from './try-plugin.js';

/** Where the kit runs. */
export interface KitWorld {
  readonly stdin: NodeJS.ReadableStream;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
}

interface RunFlags {
  readonly program?: string;
  readonly args?: readonly string[];
  readonly stdin?: true;
  readonly nomongo?: true;
  readonly module?: string;
  readonly perl?: string;
  readonly lib?: readonly string[];
  readonly queue: string;
  readonly node: string;
  readonly timeout?: string;
  readonly env?: readonly string[];
  readonly json?: true;
}

const EXAMPLES = `
Examples:
  muster-plugin run --program ./thumbnail '{"file": "a.png"}'
  muster-plugin run task.json --program ./report.sh --args '["--region", "{region}"]'
  muster-plugin run --module ./resize.mjs --timeout 10s task.json
  muster-plugin run --perl Disbatch::Plugin::Demo --lib ./lib '{"commands": "*"}'
  muster-plugin run --program ./thumbnail --json - < task.json | jq .status`;

/** The command tree; `ended` is told the exit code. */
export function createProgram(world: KitWorld, ended: (code: number) => void): Command {
  const program = new Command('muster-plugin')
    .description('Try plugins out, without a server and without a node.')
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ writeOut: world.write, writeErr: world.writeError, outputError: () => {} });
  const run = program
    .command('run')
    .argument('<task>', 'a file, - for standard input, or JSON: a task with its params, or the params alone')
    .description('run a plugin on one task as a node would, and show how the task ends')
    .summary('run a plugin on one task as a node would, and show how the task ends')
    .allowExcessArguments(false);
  run
    .option('--program <file>', 'a program, by the contract of task and response file; with --args by the simple one')
    .option(
      '--args <list>',
      'arguments as in agent.yaml, a JSON list with {name} for a parameter; or one argument, and may be repeated',
      collect,
    )
    .option('--stdin', 'with --args: the parameters on standard input, too')
    .option('--nomongo', 'do not pass --config to the program')
    .option('--module <file>', 'a JavaScript module that exports run(task, context)')
    .option('--perl <class>', 'a Perl class with the methods new and run')
    .option('--lib <dir>', 'with --perl: where classes are looked for first; may be repeated', collect)
    .option('--queue <name>', 'name of the queue that the task is told to be of', 'trial')
    .option('--node <name>', 'name of the node that it is told to run on', hostname())
    .option('--timeout <duration>', 'end it after this time, e.g. 10s')
    .option(
      '--env <name=value>',
      'a variable; may be repeated. Of your own only PATH, TZ and the locale are passed',
      collect,
    )
    .addOption(new Option('--json', 'one JSON document instead of text'))
    .addHelpText('after', `${EXAMPLES}\n\nExit codes: 0 the task succeeded, 1 it did not, 2 usage.`)
    .action(async (from: string) => ended(await runTask(from, run.opts<RunFlags>(), world)));
  return program;
}

async function runTask(from: string, flags: RunFlags, world: KitWorld): Promise<number> {
  const plugin = pluginOf(flags);
  const { queue, node, timeout } = flags;
  const [limit, env] = [timeoutOf(timeout), variables(flags.env ?? [])];
  const task = await givenTask(from, world.stdin);
  const trial = await tryPlugin(plugin, { ...task, ...limit, queue, node, env });
  world.write(flags.json === true ? `${JSON.stringify(trial)}\n` : reportOf(trial));
  return trial.status === 1 ? EXIT.ok : EXIT.failed;
}

function pluginOf(flags: RunFlags): TriedPlugin {
  const { program, args, module, perl } = flags;
  const chosen = [program, module, perl].filter((one) => one !== undefined);
  if (chosen.length !== 1) {
    throw new MusterError('usage', { reason: 'give one of --program FILE, --module FILE and --perl CLASS' });
  }
  refuse(flags, program === undefined, ['args', 'nomongo'], '--program');
  refuse(flags, args === undefined, ['stdin'], '--args');
  refuse(flags, args !== undefined, ['nomongo'], 'a program without --args');
  refuse(flags, perl === undefined, ['lib'], '--perl');
  if (module !== undefined) return { contract: 'module', module: resolve(module) };
  if (perl !== undefined) {
    const lib = (flags.lib ?? []).map((dir) => resolve(dir));
    return { contract: 'perl', plugin: perl, lib };
  }
  const file = resolve(program ?? '');
  if (args === undefined) return { contract: flags.nomongo ? 'nomongo' : 'default', program: file };
  const words = checked(args.flatMap(argumentsOf));
  return { contract: 'simple', program: file, args: words, stdin: flags.stdin === true };
}

function argumentsOf(text: string): readonly string[] {
  if (!text.startsWith('[')) return [text];
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list) && list.every((word) => typeof word === 'string')) return list;
  } catch {
    // The same is wrong with it: it is no list of texts.
  }
  throw new MusterError('usage', { reason: `--args ${text} is no JSON list of texts, such as ["--size", "{size}"]` });
}

function checked(words: readonly string[]): readonly string[] {
  try {
    parseArguments(words);
    return words;
  } catch (error) {
    if (error instanceof ArgumentsError) throw new MusterError('usage', { reason: `--args: ${error.message}` });
    throw error;
  }
}

function refuse(flags: RunFlags, unfit: boolean, names: readonly (keyof RunFlags)[], fits: string): void {
  const found = unfit ? names.find((name) => flags[name] !== undefined) : undefined;
  if (found !== undefined) throw new MusterError('usage', { reason: `--${found} goes with ${fits} only` });
}

function timeoutOf(text: string | undefined): { readonly timeoutSeconds?: number } {
  if (text === undefined) return {};
  const seconds = parseDuration(text);
  if (seconds !== null && seconds > 0) return { timeoutSeconds: seconds };
  throw new MusterError('usage', { reason: `--timeout ${text} is no time above 0, such as 10s or 5m` });
}

function variables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((one) => {
      const equals = one.indexOf('=');
      if (equals > 0) return [one.slice(0, equals), one.slice(equals + 1)];
      throw new MusterError('usage', { reason: `--env ${one} is not NAME=VALUE` });
    }),
  );
}

function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}
