import type { NodeView } from '@muster/nodes';
import { type NodeCommands, parseBuiltin, versionAskedFor } from '@muster/wire';
import { RE2JS, RE2JSException } from 're2js';
import { COMMANDS } from '../limits.js';

/** What a job would ask of a node. */
export interface Wish {
  /** Null: a script, or files alone. */
  readonly command: string | null;
  readonly script: boolean;
  readonly uploads: boolean;
  readonly fetch: boolean;
  /** Variables for the command. */
  readonly variables: boolean;
  /** It runs as a user that is named. */
  readonly user: boolean;
  /** It runs in a directory that is named. */
  readonly dir: boolean;
  /** A file comes with the command. */
  readonly file: boolean;
  /** Names of those that it needs. */
  readonly secrets: readonly string[];
}

type Via = NodeView['via'];

/** `perhaps`: only the node can say. `why` is true of one node and of many. */
export type Forecast = { readonly says: 'yes' } | { readonly says: 'perhaps' | 'no'; readonly why: string };

const YES: Forecast = { says: 'yes' };
const perhaps = (why: string): Forecast => ({ says: 'perhaps', why });
const no = (why: string): Forecast => ({ says: 'no', why });
const SILENT = perhaps('what is allowed there is not told');

/** What no policy of a node without an agent could allow; null: nothing of that is asked. */
function withoutAgent({ user, file, secrets }: Wish): Forecast | null {
  if (user) return no('only agents run commands as another user, and there is none');
  if (file) return no('only agents hand a file to a command, and there is none');
  if (secrets.length > 0) return no('only agents hand secrets to a command, and there is none');
  return null;
}

/** Whether nodes would take what is asked of them, by what they told; nodes with the same list are looked at once. */
export class Forecasts {
  readonly #wish: Wish;
  readonly #withoutAgent: Forecast | null;
  readonly #made: Readonly<Record<Via, Map<NodeCommands, Forecast>>> = { agent: new Map(), ssh: new Map() };
  /** Patterns come from nodes, and must not hold the server up. */
  #work = COMMANDS.work;

  constructor(wish: Wish) {
    this.#wish = wish;
    this.#withoutAgent = withoutAgent(wish);
  }

  /** @param commands Null: it does not tell. @param via Only agents have commands built in. */
  of(commands: NodeCommands | null, via: Via): Forecast {
    if (via === 'ssh' && this.#withoutAgent !== null) return this.#withoutAgent;
    if (commands === null) return SILENT;
    let made = this.#made[via].get(commands);
    if (made === undefined) {
      made = this.#forecast(commands, via);
      this.#made[via].set(commands, made);
    }
    return made;
  }

  #forecast(commands: NodeCommands, via: Via): Forecast {
    const { command, script, uploads, fetch, variables, user, dir } = this.#wish;
    if (script && commands.scripts === 'none') return no('no scripts are allowed there (allow_scripts)');
    // The files of an upgrade have a place of their own.
    const upgrade = command !== null && versionAskedFor(command) !== null;
    if (uploads && !commands.uploads && !upgrade) return no('no uploads are allowed there (allow_upload)');
    if (fetch && !commands.fetches) return no('no files may be fetched there (allow_fetch)');
    const allowed =
      command === null ? YES : this.#allows(upgrade ? { ...commands, any: false } : commands, command, via);
    if (allowed.says !== 'yes') return allowed;
    if (script && commands.scripts === 'signed')
      return perhaps('only scripts that certain people signed are allowed there');
    if (upgrade) return perhaps('whether its signature is trusted is decided there');
    if (uploads || fetch) return perhaps('which files are allowed is decided there');
    const open = [
      ...(variables ? ['which variables may be set (allow_env)'] : []),
      ...(user ? ['whether there is that user, and commands may run as it'] : []),
      ...(dir ? ['whether there is that directory'] : []),
    ];
    return open.length === 0 ? YES : perhaps(`decided there: ${open.join('; ')}`);
  }

  /** As an agent decides: what is listed goes before what is built in, and that before anything else. */
  #allows({ list, any, omitted }: NodeCommands, command: string, via: Via): Forecast {
    if (list.some(({ name, pattern }) => pattern === null && name === command)) return YES;
    let unknown = omitted > 0 ? perhaps('more is allowed there than is told') : null;
    for (const { pattern } of list) {
      if (pattern === null) continue;
      const matches = this.#matches(pattern, command);
      if (matches === true) return YES;
      if (matches === null) unknown ??= perhaps('whether a pattern allows it is decided there');
    }
    if (parseBuiltin(command) !== null) {
      return via === 'agent' ? YES : (unknown ?? no('agents run this command themselves, and there is none'));
    }
    return any ? YES : (unknown ?? no('this command is not among those allowed there'));
  }

  /** Null: it cannot be said, or would take too long. */
  #matches(pattern: string, command: string): boolean | null {
    if (command.length > COMMANDS.judgedCharacters || pattern.length > COMMANDS.judgedCharacters) return null;
    if (this.#work <= 0) return null;
    this.#work -= COMMANDS.compiling;
    try {
      const compiled = RE2JS.compile(pattern);
      const work = compiled.programSize() * (command.length + 1);
      if (work > this.#work) return null;
      this.#work -= work;
      return compiled.matches(command);
    } catch (error) {
      // What the agent's own engine knows besides, such as looking ahead.
      if (error instanceof RE2JSException) return null;
      throw error;
    }
  }
}
