import { type Builtin, parseBuiltin } from '@muster/wire';
import type { AgentConfig, CommandEntry } from '../config.js';
import { MusterError } from '../errors.js';
import { COMMAND_BYTES, COMMAND_WORDS, PATTERN_LENGTH } from '../limits.js';
import type { VariableRules } from './job-variables.js';
import { argumentWord, fillWords, highestCapture, splitWords, type Word, WordsError } from './words.js';

/** What an allowed command comes to. */
export type Plan = (
  | { readonly kind: 'program'; readonly file: string; readonly args: readonly string[]; readonly lock: string | null }
  | { readonly kind: 'builtin'; readonly builtin: Builtin }
  /** The agent itself is replaced by this version. */
  | { readonly kind: 'upgrade'; readonly version: string }
  /** A program that came with the job. */
  | { readonly kind: 'script'; readonly args: readonly string[] }
  /** A file of this node is what the command writes. */
  | { readonly kind: 'fetch'; readonly path: string }
  /** Only files are put in their place. */
  | { readonly kind: 'nothing' }
) & {
  /** Which variables a job may set for it. */
  readonly variables: VariableRules;
};

export type Decision = { readonly allowed: Plan } | { readonly refused: string };

/** Which commands this node runs: its owner's decision, not the server's (N16). */
export interface CommandPolicy {
  /** `words`: the same command as a program and its arguments, which run as they are, where any command may. */
  decide(command: string, words?: readonly string[]): Decision;
  /** Which variables a job may set for what is no command of its own. */
  readonly variables: VariableRules;
  /** Remarks on entries that are allowed but look mistaken. */
  readonly notes: readonly string[];
}

/** Where chef-client keeps its lock. */
export const CHEF_CLIENT_LOCK = '/var/chef/cache/chef-client-running.pid';

type Run = (
  | { readonly kind: 'words'; readonly words: readonly Word[] }
  | { readonly kind: 'shell'; readonly script: string }
) & { readonly lock: string | null };
type Recipe = Run & { readonly variables: VariableRules };

const SHELL = '/bin/sh';
/** Words that only mean something to a shell. */
const SHELL_WORDS = new Set(['|', '||', '&&', '&', ';', '>', '>>', '<', '2>&1']);

type PolicyConfig = Pick<AgentConfig, 'commands' | 'allow_any' | 'allow_env' | 'allowed_overwritable_env_vars'>;

/**
 * Throws `invalid_configuration` naming the entry.
 * @param place Where the owner of the node says what it allows.
 */
export function commandPolicy(config: PolicyConfig, place = "this node's agent.yaml"): CommandPolicy {
  const rulesWith = (ofEntry: readonly string[]): VariableRules => ({
    allowed: [...config.allow_env, ...ofEntry],
    overwritable: config.allowed_overwritable_env_vars,
    place,
  });
  const everywhere = rulesWith([]);
  const exact = new Map<string, Recipe>();
  const patterns: { readonly pattern: RegExp; readonly recipe: Recipe }[] = [];
  const notes: string[] = [];

  for (const [key, entry] of Object.entries(config.commands)) {
    const source = patternOf(key, entry);
    const variables = typeof entry === 'object' && 'allow_env' in entry ? rulesWith(entry.allow_env ?? []) : everywhere;
    const recipe: Recipe = { ...runOf(key, entry, source, notes), variables };
    if (source === null) exact.set(key, recipe);
    else patterns.push({ pattern: compilePattern(key, source), recipe });
  }

  return {
    notes,
    variables: everywhere,
    decide(command, words) {
      if (Buffer.byteLength(command) > COMMAND_BYTES) return { refused: 'the command is too long' };
      if (command.includes('\0')) return { refused: 'the command contains a zero byte' };
      const listed = exact.get(command);
      if (listed !== undefined) return { allowed: cook(listed, [command]) };
      for (const { pattern, recipe } of patterns) {
        const captures = pattern.exec(command);
        if (captures !== null) return { allowed: cook(recipe, captures) };
      }
      const builtin = parseBuiltin(command);
      if (builtin !== null) return { allowed: { kind: 'builtin', builtin, variables: everywhere } };
      if (config.allow_any) {
        const [file, ...args] = words ?? [SHELL, '-c', command];
        if (file === undefined || file === '') return { refused: 'the command names no program' };
        return { allowed: { kind: 'program', file, args, lock: null, variables: everywhere } };
      }
      return { refused: 'the command is not allowed on this node' };
    },
  };
}

function cook(recipe: Recipe, captures: readonly (string | undefined)[]): Plan {
  const { lock, variables } = recipe;
  if (recipe.kind === 'shell') {
    // Positional parameters: the script sees "$1", and no capture ever becomes script text.
    const parameters = captures.slice(1).map((capture) => capture ?? '');
    return { kind: 'program', file: SHELL, args: ['-c', recipe.script, SHELL, ...parameters], lock, variables };
  }
  const [file = '', ...args] = fillWords(recipe.words, captures);
  return { kind: 'program', file, args, lock, variables };
}

/** `/…/` as key, or `match` in the entry. */
export function patternOf(key: string, entry: CommandEntry): string | null {
  if (typeof entry === 'object' && 'match' in entry && entry.match !== undefined) return entry.match;
  return key.length > 2 && key.startsWith('/') && key.endsWith('/') ? key.slice(1, -1) : null;
}

/** The pattern must match the whole command: a stricter reading is the safe one for an allow-list. */
function compilePattern(key: string, source: string): RegExp {
  if (source.length > PATTERN_LENGTH) throw invalid(key, `the pattern is longer than ${PATTERN_LENGTH} characters`);
  try {
    return new RegExp(`^(?:${source})$`, 'u');
  } catch (error) {
    throw invalid(key, error instanceof Error ? error.message : 'not a regular expression');
  }
}

function runOf(key: string, entry: CommandEntry, source: string | null, notes: string[]): Run {
  if (typeof entry === 'object' && 'shell' in entry) {
    return { kind: 'shell', script: entry.shell, lock: lockOf(entry.lock) };
  }
  const described = typeof entry === 'object' && 'command_line' in entry;
  const line = described ? entry.command_line : entry;
  const words = typeof line === 'string' ? split(key, line) : line.map(argumentWord);
  const first = words[0];
  if (first === undefined || first.length === 0) throw invalid(key, 'names no program');
  if (words.length > COMMAND_WORDS) throw invalid(key, `has more than ${COMMAND_WORDS} words`);
  if (first.some((part) => 'capture' in part)) throw invalid(key, 'the program itself may not come from a capture');
  const groups = source === null ? 0 : groupCount(key, source);
  if (highestCapture(words) > groups) {
    throw invalid(key, `asks for $${highestCapture(words)}, but there are ${groups} captures`);
  }
  if (typeof line === 'string' && words.some((word) => isShellWord(word))) {
    notes.push(`commands.${key}: looks like shell syntax but runs without a shell; use {"shell": "…"} if it is meant`);
  }
  return { kind: 'words', words, lock: described ? lockOf(entry.lock) : null };
}

function isShellWord(word: Word): boolean {
  const only = word.length === 1 ? word[0] : undefined;
  return only !== undefined && 'text' in only && (SHELL_WORDS.has(only.text) || only.text.endsWith(';'));
}

function split(key: string, line: string): readonly Word[] {
  try {
    return splitWords(line);
  } catch (error) {
    if (error instanceof WordsError) throw invalid(key, error.message);
    throw error;
  }
}

function groupCount(key: string, source: string): number {
  const empty = new RegExp(`${compilePattern(key, source).source}|`, 'u').exec('');
  return (empty?.length ?? 1) - 1;
}

function lockOf(lock: boolean | string | undefined): string | null {
  if (lock === undefined || lock === false) return null;
  return lock === true ? CHEF_CLIENT_LOCK : lock;
}

function invalid(key: string, reason: string): MusterError {
  return new MusterError('invalid_configuration', { reason: `commands.${key}: ${reason}` });
}
