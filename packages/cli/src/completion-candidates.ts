import { Argument, type Command, type Option } from 'commander';
import { Client, pathOf } from './client.js';
import type { CommandCounts } from './commands/command.js';
import type { Key } from './commands/keys.js';
import { NODE_COLUMNS } from './commands/node/list.js';
import type { RunbookDetail } from './commands/runbook/api.js';
import {
  EITHER,
  EVENT_ATTRIBUTES,
  isOnlyFirst,
  type Kind,
  LISTS,
  type ListedKind,
  type Named,
  ofArgument,
  ofFlag,
  SELECTORS,
  type Selected,
  STATUSES,
} from './completion-lists.js';
import { contextNames } from './contexts.js';
import { createProgram } from './program.js';
import { type Credentials, loadServer, loadSettings } from './settings.js';
import type { Shell } from './shell.js';
import type { World } from './world.js';

/** So long a person waits for what a shell offers. */
const PATIENCE_MS = 1500;
/** Names that are offered. */
const MOST = 100;
/** Nodes, tasks, by which attributes of selectors are known. */
const SAMPLE = 50;
const NOBODY: Credentials = { kind: 'none' };
/** What stands in a query of names without being quoted. */
const PLAIN = /^[\w.-]*$/;

/**
 * What may stand in the place of the last of these words: choices of a flag, and as far as the server knows it names and ids of whatever
 * there is, attributes and values of selectors. A shell asks for it, so whatever is wrong comes to no words.
 */
export async function completionCandidates(words: readonly string[], world: World): Promise<readonly string[]> {
  const before = words.slice(0, -1);
  const word = words.at(-1) ?? '';
  const shell: Shell = { world, typed: [], words: undefined, exitCode: 0 };
  const expected = expectedAfter(await createProgram(shell, { serverFlags: false }), before);
  if (expected === null || (word.startsWith('-') && expected.kind !== 'command')) return [];
  try {
    const [passed, last] = isSelector(expected.kind) ? lastConditionOf(word) : ['', word];
    const found = (await candidates(expected, last, { world, before })).map((one) => passed + one);
    return found.filter((one) => one.startsWith(word)).slice(0, MOST);
  } catch {
    // No settings, no server, no right: a shell has nobody to tell it to.
    return [];
  }
}

function isSelector(kind: Kind | null): boolean {
  return kind === 'event attribute' || (kind !== null && kind in SELECTORS);
}

/** Of a selector in quotes, `role:web AND (e`, what is before its last condition, and that. */
function lastConditionOf(word: string): readonly [passed: string, last: string] {
  const [passed = ''] = /^.*(?:\(\s*|\b(?:AND|OR|NOT)\s+)/is.exec(word) ?? [];
  return [passed, word.slice(passed.length)];
}

async function candidates(
  { choices, kind, runbook, keysOf, command, ofNodes }: Expected,
  word: string,
  { world, before }: { readonly world: World; readonly before: readonly string[] },
): Promise<readonly string[]> {
  if (choices !== undefined) return choices;
  if (kind === 'context') return contextNames(world);
  if (kind === 'event attribute') return EVENT_ATTRIBUTES;
  if (kind === null) return [];
  if (kind in STATUSES) return statuses(STATUSES[kind as keyof typeof STATUSES], word);
  const flags = flagsOf(before);
  // Whoever is about to sign in has nothing yet that says who asks.
  const settings =
    kind === 'issuer to sign in at' ? { ...loadServer(world, flags), credentials: NOBODY } : loadSettings(world, flags);
  const client = new Client(settings, { now: () => world.now() });
  const asking = new Asking(client, AbortSignal.timeout(PATIENCE_MS));
  if (kind === 'fingerprint') return keysOf === undefined ? [] : asking.fingerprints(keysOf);
  if (kind === 'revoked key') return asking.revokedKeys(before.includes('--server'));
  if (kind === 'key') return asking.keys(settings.credentials.user);
  if (kind === 'command') return asking.commandWords(command ?? [], ofNodes);
  if (kind !== 'parameter') return asking.candidates(kind as ListedKind, word);
  return runbook === undefined ? [] : asking.parameters(runbook, word);
}

function statuses({ all, several }: (typeof STATUSES)[keyof typeof STATUSES], word: string): readonly string[] {
  return several ? all.map((one) => beforeLast(word) + one) : all;
}

/** Of names with commas between them what is before the last one. */
function beforeLast(word: string): string {
  return word.slice(0, word.lastIndexOf(',') + 1);
}

/** What may come after some words. */
interface Expected {
  /** The only values that are taken. */
  readonly choices?: readonly string[];
  readonly kind: Kind | null;
  /** That which would be run. */
  readonly runbook?: string;
  /** Whose keys are meant. */
  readonly keysOf?: KeyOwner;
  /** The words before this one of a command of nodes. */
  readonly command?: readonly string[];
  /** A query of the nodes that are chosen for it. */
  readonly ofNodes?: string;
}

interface KeyOwner {
  readonly kind: string;
  readonly name: string;
}

/** Null: nothing is known of it. */
function expectedAfter(program: Command, typed: readonly string[]): Expected | null {
  const end = typed.indexOf('--');
  const words = end < 0 ? typed : typed.slice(0, end);
  let place = program;
  const path: string[] = [];
  const operands: string[] = [];
  const nodes: string[] = [];
  let run: string | undefined;
  let flag: Option | null = null;
  for (const word of words) {
    if (word.startsWith('-')) {
      const option = place.options.find(({ long, short }) => long === word || short === word);
      flag = option !== undefined && (option.required || option.optional) ? option : null;
      continue;
    }
    if (flag !== null) {
      if (flag.long === '--run') run = word;
      if (flag.long === '--node') nodes.push(`name:${word}`);
      if (!flag.variadic) flag = null;
      continue;
    }
    const child = operands.length === 0 ? place.commands.find((one) => one.name() === word) : undefined;
    if (child === undefined) operands.push(word);
    else {
      place = child;
      path.push(word);
    }
  }
  if (end >= 0) {
    const takesCommand = place.registeredArguments.some((argument) => isOnlyFirst(argument.name()));
    if (!takesCommand) return null;
    const ofNodes = operands.length > 0 ? operands.join(' ') : nodes.join(' OR ');
    return { kind: 'command', command: typed.slice(end + 1), ...(ofNodes !== '' && { ofNodes }) };
  }
  const runbook = path.join(' ') === 'runbook run' ? operands[0] : run;
  const next = flag ?? place.registeredArguments[operands.length] ?? lastVariadic(place, operands.length);
  if (next === undefined) return null;
  const kind = next instanceof Argument ? ofArgument(path, next.name()) : ofFlag(path, next.long ?? '');
  const [owner] = operands;
  return {
    kind,
    ...(path[1] === 'rm-key' && owner !== undefined && { keysOf: { kind: path[0] ?? '', name: owner } }),
    ...(next.argChoices !== undefined && { choices: next.argChoices }),
    ...(runbook !== undefined && { runbook }),
  };
}

function lastVariadic(place: Command, operands: number) {
  const last = place.registeredArguments.at(-1);
  return last?.variadic === true && operands > 0 && !isOnlyFirst(last.name()) ? last : undefined;
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

type Row = Readonly<Record<string, unknown>>;
type Fingerprinted = Pick<Key, 'fingerprint'>;

class Asking {
  readonly #client: Client;
  readonly #signal: AbortSignal;

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  candidates(kind: ListedKind, word: string): Promise<readonly string[]> {
    if (kind === 'node') return this.#nodes(word);
    if (kind === 'node column') return this.#columns(word);
    if (kind in EITHER) return this.#either(EITHER[kind as keyof typeof EITHER], word);
    if (kind === 'node query') return this.#nodeQuery(word);
    return kind in SELECTORS
      ? this.#selector(SELECTORS[kind as keyof typeof SELECTORS], word)
      : this.#names(LISTS[kind as keyof typeof LISTS]);
  }

  async #nodes(word: string): Promise<readonly string[]> {
    const query = PLAIN.test(word) ? { q: `name:${word}*`, limit: MOST } : { limit: MOST };
    return (await this.#rows(SELECTORS['node query'], query)).map((node) => String(node.node_name));
  }

  /** Of those lists that may be seen. */
  async #either(kinds: readonly ListedKind[], word: string): Promise<readonly string[]> {
    const lists = await Promise.allSettled(kinds.map((kind) => this.candidates(kind, word)));
    return unique(lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : [])));
  }

  async fingerprints({ kind, name }: KeyOwner): Promise<readonly string[]> {
    const path =
      kind === 'user'
        ? pathOf('users', name, 'keys')
        : this.#client.inOrg(kind === 'node' ? 'nodes' : 'services', name, 'keys');
    const keys = (await this.#client.json('GET', path, { signal: this.#signal })) as readonly Key[];
    return keys.map(({ fingerprint }) => fingerprint);
  }

  /** Of the organization, and of who asks: those of them that may be seen. */
  async keys(user: string | undefined): Promise<readonly string[]> {
    const own = user === undefined ? [] : [this.fingerprints({ kind: 'user', name: user })];
    const lists = await Promise.allSettled([...own, this.#organizationKeys()]);
    return unique(lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : [])));
  }

  #organizationKeys(): Promise<readonly string[]> {
    return this.#fingerprintsAt(this.#client.inOrg('keys'));
  }

  /** @param ofServer Those on its list, and not on that of the organization. */
  revokedKeys(ofServer: boolean): Promise<readonly string[]> {
    return this.#fingerprintsAt(ofServer ? pathOf('revoked_keys') : this.#client.inOrg('revoked_keys'));
  }

  async #fingerprintsAt(path: string): Promise<readonly string[]> {
    const request = { query: { limit: MOST }, signal: this.#signal };
    const { keys } = (await this.#client.json('GET', path, request)) as { readonly keys: readonly Fingerprinted[] };
    return keys.map(({ fingerprint }) => fingerprint);
  }

  /** Of names with commas between them the last one. */
  async #columns(word: string): Promise<readonly string[]> {
    const before = beforeLast(word);
    const selected = SELECTORS['node query'];
    const rows = await this.#rows(selected, { limit: SAMPLE });
    return unique([...NODE_COLUMNS, ...rows.flatMap(selected.others)]).map((name) => before + name);
  }

  async #names(list: Named): Promise<readonly string[]> {
    const rows = await this.#rows(list, { ...list.only, ...(list.newest === true && { limit: MOST }) });
    return rows.map((row) => String(row[list.named]));
  }

  /** The next words of commands that nodes say they allow, after these. @param q Those nodes; undefined: all */
  async commandWords(before: readonly string[], q: string | undefined): Promise<readonly string[]> {
    const path = this.#client.inOrg('pushy', 'commands');
    const request = { query: { q, limit: MOST }, signal: this.#signal };
    const { commands } = (await this.#client.json('GET', path, request)) as CommandCounts;
    const said = commands.filter(({ pattern }) => pattern === null).map(({ name }) => name.split(' '));
    const following = said.filter((words) => before.every((word, at) => words[at] === word));
    return unique(following.flatMap((words) => words[before.length] ?? []));
  }

  /** `se` is the beginning of a parameter, `service=ng` of its value. */
  async parameters(runbook: string, word: string): Promise<readonly string[]> {
    const path = this.#client.inOrg('runbooks', runbook);
    const { definition } = (await this.#client.json('GET', path, { signal: this.#signal })) as RunbookDetail;
    const parameters = (definition.parameters ?? {}) as Readonly<
      Record<string, { readonly choices?: readonly string[] }>
    >;
    const [name = '', ...value] = word.split('=');
    if (value.length === 0) return Object.keys(parameters).map((one) => `${one}=`);
    return (parameters[name]?.choices ?? []).map((choice) => `${name}=${choice}`);
  }

  /** A word alone is the name of a node. */
  async #nodeQuery(word: string): Promise<readonly string[]> {
    const conditions = await this.#selector(SELECTORS['node query'], word);
    return PLAIN.test(word) ? [...conditions, ...(await this.#nodes(word))] : conditions;
  }

  /** `ro` is the beginning of an attribute, `role:we` of a value. */
  async #selector(selected: Selected, word: string): Promise<readonly string[]> {
    const [, attribute, value = ''] = /^([\w.-]+):(.*)$/.exec(word) ?? [];
    if (attribute === undefined) {
      const rows = await this.#rows(selected, { limit: SAMPLE });
      return unique([...selected.own, ...rows.flatMap(selected.others)]).map((name) => `${name}:`);
    }
    if (!PLAIN.test(value)) return [];
    const rows = await this.#rows(selected, { [selected.where]: `${word}*`, limit: MOST });
    const values = rows.map((row) => selected.value(row, attribute)).filter((one) => one !== undefined && one !== null);
    return unique(values.map((one) => `${attribute}:${String(one)}`));
  }

  async #rows(
    { path, rows, ofServer }: Pick<Named, 'path' | 'rows' | 'ofServer'>,
    query: Readonly<Record<string, string | number>>,
  ): Promise<readonly Row[]> {
    const url = ofServer === true ? pathOf(...path) : this.#client.inOrg(...path);
    const answer = await this.#client.json('GET', url, { query, signal: this.#signal });
    return (rows === undefined ? answer : (answer as Row)[rows]) as readonly Row[];
  }
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}
