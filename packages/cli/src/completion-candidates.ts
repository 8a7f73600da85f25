import type { Command } from 'commander';
import { Client } from './client.js';
import { createProgram } from './program.js';
import { loadSettings } from './settings.js';
import type { Shell } from './shell.js';
import type { World } from './world.js';

/** So long a person waits for what a shell offers. */
const PATIENCE_MS = 1500;
/** Names that are offered. */
const MOST = 100;
/** Nodes by whose facts and labels the attributes of selectors are known. */
const SAMPLE = 50;
/** What stands in a query of names without being quoted. */
const PLAIN = /^[\w.-]*$/;

/** What a word of a command line may be, that only the server knows. */
type Kind = 'node' | 'node group' | 'push job' | 'query' | 'queue' | 'runbook' | 'schedule';

/** By what an argument is called. */
const ARGUMENTS: Readonly<Record<string, Kind>> = {
  query: 'query',
  'query-and-command': 'query',
  queue: 'queue',
  runbook: 'runbook',
  schedule: 'schedule',
};
/** By the first word of the command, where the argument alone does not say it. */
const OF_COMMAND: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  push: { job: 'push job' },
  node: { name: 'node' },
  'node-group': { name: 'node group' },
};
const FLAGS: Readonly<Record<string, Kind>> = {
  '--node': 'node',
  '--node-group': 'node group',
  '--from-job': 'push job',
  '--rerun': 'push job',
};

/**
 * What may stand in the place of the last of these words, as far as the server knows it: names of nodes, node groups, queues, runbooks
 * and schedules, ids of push jobs, attributes and values of selectors. A shell asks for it, so whatever is wrong comes to no words.
 */
export async function completionCandidates(words: readonly string[], world: World): Promise<readonly string[]> {
  const before = words.slice(0, -1);
  const word = words.at(-1) ?? '';
  const shell: Shell = { world, typed: [], words: undefined, exitCode: 0 };
  const kind = kindOf(await createProgram(shell, { serverFlags: false }), before);
  if (kind === null || word.startsWith('-')) return [];
  try {
    const client = new Client(loadSettings(world, flagsOf(before)), { now: () => world.now() });
    const found = await new Asking(client, AbortSignal.timeout(PATIENCE_MS)).candidates(kind, word);
    return found.filter((one) => one.startsWith(word)).slice(0, MOST);
  } catch {
    // No settings, no server, no right: a shell has nobody to tell it to.
    return [];
  }
}

/** What comes after these words. */
export function kindOf(program: Command, words: readonly string[]): Kind | null {
  let place = program;
  const path: string[] = [];
  let operands = 0;
  let flag: { readonly name: string; readonly variadic: boolean } | null = null;
  for (const word of words) {
    // What follows is a command of nodes.
    if (word === '--') return null;
    if (word.startsWith('-')) {
      const option = place.options.find(({ long, short }) => long === word || short === word);
      const takes = option !== undefined && (option.required || option.optional);
      flag = takes && !word.includes('=') ? { name: word, variadic: option.variadic } : null;
      continue;
    }
    if (flag !== null) {
      if (!flag.variadic) flag = null;
      continue;
    }
    const child = operands === 0 ? place.commands.find((one) => one.name() === word) : undefined;
    if (child === undefined) operands += 1;
    else {
      place = child;
      path.push(word);
    }
  }
  if (flag !== null) return FLAGS[flag.name] ?? null;
  const argument = place.registeredArguments[operands] ?? lastVariadic(place, operands);
  if (argument === undefined || path.at(-1) === 'create') return null;
  return OF_COMMAND[path[0] ?? '']?.[argument.name()] ?? ARGUMENTS[argument.name()] ?? null;
}

/** Of the words of a query and a command the first is the query. */
function lastVariadic(place: Command, operands: number) {
  const last = place.registeredArguments.at(-1);
  return last?.variadic === true && operands > 0 && ARGUMENTS[last.name()] !== 'query' ? last : undefined;
}

function flagsOf(words: readonly string[]): {
  readonly config?: string;
  readonly context?: string;
  readonly ca?: string;
} {
  const after = (flag: string) => {
    const at = words.indexOf(flag);
    return at < 0 ? undefined : words[at + 1];
  };
  const given = { config: after('--config'), context: after('--context'), ca: after('--ca') };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

interface Named {
  readonly name: string;
}

interface Described {
  readonly node_name: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly labels: Readonly<Record<string, unknown>>;
}

const OWN_ATTRIBUTES = ['name', 'status', 'availability', 'command'];

class Asking {
  readonly #client: Client;
  readonly #signal: AbortSignal;

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  async candidates(kind: Kind, word: string): Promise<readonly string[]> {
    switch (kind) {
      case 'node':
        return (await this.#nodes(PLAIN.test(word) ? `name:${word}*` : undefined, MOST)).map((node) => node.node_name);
      case 'node group':
        return this.#names('node_groups');
      case 'queue':
        return this.#names('queues');
      case 'runbook':
        return this.#names('runbooks');
      case 'schedule':
        return this.#names('schedules');
      case 'push job': {
        const jobs = await this.#get<{ id: string }[]>(['pushy', 'jobs'], { limit: MOST });
        return jobs.map(({ id }) => id);
      }
      case 'query':
        return this.#query(word);
    }
  }

  /** `ro` is the beginning of an attribute, `role:we` of a value. */
  async #query(word: string): Promise<readonly string[]> {
    const [, attribute, value = ''] = /^([\w.-]+):(.*)$/.exec(word) ?? [];
    if (attribute === undefined) {
      const nodes = await this.#nodes(undefined, SAMPLE);
      const known = nodes.flatMap(({ facts, labels }) => [...Object.keys(labels), ...Object.keys(facts)]);
      return [...new Set([...OWN_ATTRIBUTES, ...known])].sort().map((name) => `${name}:`);
    }
    if (!PLAIN.test(value)) return [];
    const nodes = await this.#nodes(`${word}*`, MOST);
    const values = nodes.map(({ node_name, facts, labels }) =>
      attribute === 'name' ? node_name : (labels[attribute] ?? facts[attribute]),
    );
    const texts = values.filter((one) => one !== undefined).map((one) => `${attribute}:${String(one)}`);
    return [...new Set(texts)].sort();
  }

  async #nodes(q: string | undefined, limit: number): Promise<readonly Described[]> {
    const query = q === undefined ? { limit } : { q, limit };
    return (await this.#get<{ nodes: Described[] }>(['nodes'], query)).nodes;
  }

  async #names(...path: string[]): Promise<readonly string[]> {
    return (await this.#get<Named[]>(path)).map(({ name }) => name);
  }

  async #get<T>(path: readonly string[], query: Readonly<Record<string, string | number>> = {}): Promise<T> {
    return (await this.#client.json('GET', this.#client.inOrg(...path), { query, signal: this.#signal })) as T;
  }
}
