import type { Store } from '@muster/store';
import { targets } from '../routing.js';
import { type BindingRow, bindingsOf, exchangeRow, type QueueRow, queueRow } from './repository.js';

type Known = { readonly row: Awaited<ReturnType<typeof exchangeRow>>; readonly bindings: readonly BindingRow[] };

/** Alternates of alternates. */
const MOST_HOPS = 4;

/**
 * Finds the queues of a message. Remembers what is declared; where other processes share the database, topic exchanges are
 * looked up each time (bindings come and go with jobs), and so is what seems to lead nowhere.
 */
export class Router {
  readonly #store: Store;
  readonly #alone: boolean;
  readonly #exchanges = new Map<string, Known>();
  readonly #queues = new Map<string, QueueRow>();
  /** Of each exchange what is read now, and what is read next for all who ask meanwhile: what is read now may not have what they know of. */
  readonly #reads = new Map<string, { readonly now: Promise<Known>; next: Promise<Known> | null }>();
  #forgotten = 0;

  constructor(store: Store, alone: boolean) {
    this.#store = store;
    this.#alone = alone;
  }

  /** Names of queues: of the exchange, or of its alternate; none when nobody takes it. */
  async route(exchange: string, key: string): Promise<readonly string[]> {
    if (exchange === '') return (await this.queue(key)) === undefined ? [] : [key];
    let name: string | null = exchange;
    for (let hop = 0; name !== null && hop < MOST_HOPS; hop++) {
      const { row, found } = await this.#targets(name, key);
      if (found.length > 0) return found;
      name = row?.alternate ?? null;
    }
    return [];
  }

  async queue(name: string): Promise<QueueRow | undefined> {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const row = await queueRow(this.#store, name);
    if (row !== undefined) this.#queues.set(name, row);
    return row;
  }

  async exchange(name: string): Promise<Known['row']> {
    return (await this.#known(name)).row;
  }

  /** Something was declared or deleted, here or elsewhere. */
  forget(): void {
    this.#forgotten++;
    this.#exchanges.clear();
    this.#queues.clear();
  }

  forgetExchange(name: string): void {
    this.#forgotten++;
    this.#exchanges.delete(name);
  }

  async #targets(name: string, key: string) {
    const remembered = this.#remembered(name);
    const found = remembered === undefined ? [] : leadsTo(remembered, key);
    if (remembered !== undefined && (this.#alone || found.length > 0)) return { row: remembered.row, found };
    const read = await this.#read(name);
    return { row: read.row, found: leadsTo(read, key) };
  }

  async #known(name: string): Promise<Known> {
    return this.#remembered(name) ?? this.#read(name);
  }

  #remembered(name: string): Known | undefined {
    const remembered = this.#exchanges.get(name);
    return this.#alone || remembered?.row?.type !== 'topic' ? remembered : undefined;
  }

  /** A thousand messages at one time are not a thousand reads, which would wait for connections. */
  #read(name: string): Promise<Known> {
    const reads = this.#reads.get(name);
    if (reads !== undefined) {
      const after = () => this.#read(name);
      reads.next ??= reads.now.then(after, after);
      return reads.next;
    }
    const now = this.#look(name).finally(() => this.#reads.delete(name));
    this.#reads.set(name, { now, next: null });
    return now;
  }

  async #look(name: string): Promise<Known> {
    const forgotten = this.#forgotten;
    const [row, bindings] = await Promise.all([exchangeRow(this.#store, name), bindingsOf(this.#store, name)]);
    const known = { row, bindings };
    // What was declared meanwhile may not be in it.
    if (row !== undefined && forgotten === this.#forgotten) this.#exchanges.set(name, known);
    return known;
  }
}

function leadsTo({ row, bindings }: Known, key: string): readonly string[] {
  return row === undefined ? [] : targets(row, bindings, key);
}
