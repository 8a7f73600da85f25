import type { Command, CommandOptions } from 'commander';
import { Client } from './client.js';
import { MusterError } from './errors.js';
import { ofFlag } from './flag-errors.js';
import { Output } from './output.js';
import { loadServer, loadSettings, type ServerPlace, type SettingFlags, type Settings } from './settings.js';
import type { World } from './world.js';

/** One run of the CLI: its surroundings, the words before and after `--`, and the exit code it will have. */
export interface Shell {
  readonly world: World;
  /** All words, up to `--`. */
  readonly typed: readonly string[];
  /** What followed `--`; undefined when there was no `--`. */
  readonly words: readonly string[] | undefined;
  exitCode: number;
}

/** What a command gets to work with. */
export interface Call<Options> {
  readonly world: World;
  readonly out: Output;
  readonly options: Options;
  /** Positional arguments as typed. */
  readonly args: readonly string[];
  readonly words: readonly string[] | undefined;
  /** Loaded when first asked for: `--help` and completion need no configuration. */
  readonly settings: Settings;
  readonly client: Client;
  /** Where the server is, and what of the settings says who asks, if anything does. */
  readonly server: ServerPlace;
}

export interface CommandText {
  /** Name and arguments, e.g. `show <name>`. */
  readonly usage: string;
  readonly summary: string;
  /** Complete command lines, shown by --help and in the reference. */
  readonly examples: readonly string[];
}

const examples = new WeakMap<Command, readonly string[]>();
const working = new WeakSet<Command>();

/** It does something by itself, also where there are commands below it. */
export function hasWork(command: Command): boolean {
  return working.has(command);
}

export function examplesOf(command: Command): readonly string[] {
  return examples.get(command) ?? [];
}

/** A command below `parent`, with its examples in the help text. */
export function subcommand(parent: Command, text: CommandText, options: CommandOptions = {}): Command {
  const command = parent.command(text.usage, options).description(text.summary).summary(text.summary);
  command.enablePositionalOptions().allowExcessArguments(false);
  examples.set(command, text.examples);
  command.addHelpText('after', () => ['', 'Examples:', ...text.examples.map((line) => `  ${line}`)].join('\n'));
  return command;
}

/** A command that talks to a server. */
export function clientCommand(parent: Command, text: CommandText): Command {
  return withCommonFlags(subcommand(parent, text));
}

/** What may stand before the first word of a command line, too. */
export function withCommonFlags(command: Command): Command {
  return command
    .option('--config <file>', 'settings of the CLI: url, org, user, key or token, ca')
    .option('--context <name>', 'settings that `muster context add` has kept under this name')
    .option('--ca <file>', 'PEM file of the authority that signed the certificate of the server')
    .option('--json', 'one JSON document (or JSON lines) instead of text');
}

/**
 * Gives a command its work. What it returns is the exit code; nothing means 0. Words after `--` are refused
 * unless the command takes them.
 */
export function does<Options extends object>(
  command: Command,
  shell: Shell,
  work: (call: Call<Options>) => Promise<number> | Promise<void>,
  takes: { readonly words?: boolean } = {},
): Command {
  working.add(command);
  return command.action(async () => {
    if (shell.words !== undefined && takes.words !== true) {
      throw new MusterError('usage', { reason: `\`${pathOfCommand(command)}\` takes no \`--\`` });
    }
    try {
      shell.exitCode = (await work(new CallOf<Options>(command, shell))) ?? 0;
    } catch (error) {
      throw ofFlag(error, command);
    }
  });
}

class CallOf<Options> implements Call<Options> {
  readonly world: World;
  readonly out: Output;
  readonly options: Options;
  readonly args: readonly string[];
  readonly words: readonly string[] | undefined;
  readonly #flags: SettingFlags;
  #settings: Settings | undefined;
  #server: ServerPlace | undefined;
  #client: Client | undefined;

  constructor(command: Command, shell: Shell) {
    // `muster --config FILE push list` and `muster push list --config FILE` are the same.
    const common = inherited(command);
    this.world = shell.world;
    this.words = shell.words;
    this.options = command.opts() as Options;
    this.args = command.args;
    this.#flags = common;
    this.out = new Output(shell.world, { json: common.json === true });
  }

  get settings(): Settings {
    this.#settings ??= loadSettings(this.world, this.#flags);
    return this.#settings;
  }

  get client(): Client {
    this.#client ??= new Client(this.settings, {
      now: () => this.world.now(),
      waiting: (ms) => this.out.note(`the server takes no more for now: trying again in ${ms / 1000} s`),
    });
    return this.#client;
  }

  get server(): ServerPlace {
    this.#server ??= loadServer(this.world, this.#flags);
    return this.#server;
  }
}

interface CommonFlags extends SettingFlags {
  readonly json?: boolean;
}

/** The flags of the command itself count more than those before it. */
function inherited(command: Command): CommonFlags {
  let found: CommonFlags = {};
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const { config, context, ca, json } = at.opts<CommonFlags>();
    // A file that is named nearer counts more than a context before it, and the other way round.
    const named = found.config !== undefined || found.context !== undefined ? found : { config, context };
    found = { ...pick(named), ca: found.ca ?? ca, json: found.json === true || json === true };
  }
  return found;
}

const pick = ({ config, context }: CommonFlags): CommonFlags => ({ config, context });

/** `muster push start`. */
export function pathOfCommand(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

/** For options that may be given several times. */
export function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}
