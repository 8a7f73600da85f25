import { type NodeCommands, versionAskedFor } from '@muster/wire';
import { RE2JS, RE2JSException } from 're2js';
import { COMMANDS } from '../limits.js';

/** What a job would ask of a node. */
export interface Wish {
  /** Null: a script, or files alone. */
  readonly command: string | null;
  readonly script: boolean;
  readonly uploads: boolean;
  readonly fetch: boolean;
}

/** `perhaps`: only the node can say. */
export type Forecast = { readonly says: 'yes' | 'perhaps' } | { readonly says: 'no'; readonly why: string };

const YES: Forecast = { says: 'yes' };
const PERHAPS: Forecast = { says: 'perhaps' };
const no = (why: string): Forecast => ({ says: 'no', why });

/** Commands that every node knows; of which arguments, it says itself. */
const BUILT_IN = /^\s*(?:sleep|dummy_job|facts|ohai)\b/;

/** Whether nodes would take what is asked of them, by what they told; nodes with the same list are looked at once. */
export class Forecasts {
  readonly #wish: Wish;
  readonly #made = new Map<NodeCommands, Forecast>();
  /** Patterns come from nodes, and must not hold the server up. */
  #work = COMMANDS.work;

  constructor(wish: Wish) {
    this.#wish = wish;
  }

  of(commands: NodeCommands): Forecast {
    let made = this.#made.get(commands);
    if (made === undefined) {
      made = this.#forecast(commands);
      this.#made.set(commands, made);
    }
    return made;
  }

  #forecast(commands: NodeCommands): Forecast {
    const { command, script, uploads, fetch } = this.#wish;
    if (script && commands.scripts === 'none') return no('its owner allows no scripts (allow_scripts)');
    // The files of an upgrade have a place of their own.
    const upgrade = command !== null && versionAskedFor(command) !== null;
    if (uploads && !commands.uploads && !upgrade) return no('its owner allows no uploads (allow_upload)');
    if (fetch && !commands.fetches) return no('its owner allows no files to be fetched (allow_fetch)');
    const allowed = command === null ? YES : this.#allows(upgrade ? { ...commands, any: false } : commands, command);
    if (allowed.says !== 'yes') return allowed;
    const decidedThere = uploads || fetch || (script && commands.scripts === 'signed');
    return decidedThere ? PERHAPS : YES;
  }

  #allows({ list, any, omitted }: NodeCommands, command: string): Forecast {
    if (any || list.some(({ name, pattern }) => pattern === null && name === command)) return YES;
    let unknown = omitted > 0 || BUILT_IN.test(command);
    for (const { pattern } of list) {
      if (pattern === null) continue;
      const matches = this.#matches(pattern, command);
      if (matches === true) return YES;
      unknown ||= matches === null;
    }
    return unknown ? PERHAPS : no('its owner does not allow this command');
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
