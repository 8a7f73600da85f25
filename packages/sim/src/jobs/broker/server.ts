import type { Binding, Death, Exchange, Headers, Topology } from '@muster/broker';
import type { Random } from '../../kernel/random.js';

/** A message as the broker keeps it. */
export interface Kept {
  readonly id: string;
  readonly exchange: string;
  readonly key: string;
  readonly body: Buffer;
  readonly headers: Headers;
  /** Where it goes back to. */
  readonly queue: string;
  readonly serial: number;
  readonly death: Death | null;
  /** In the queue of holds of a process: another delivery of it stands for it there. */
  readonly handedOver: boolean;
  redelivered: boolean;
}

export type Published = Pick<Kept, 'id' | 'exchange' | 'key' | 'body' | 'headers'>;

/** A connection of a process. What is delivered over it and not settled goes back when it ends. */
export interface Connection {
  readonly holder: string;
  readonly unsettled: Set<Kept>;
  /** What was handed over to its process for a queue: false when nobody there takes such. */
  returned(message: Kept): boolean;
}

/** Takes messages of one queue over a connection. */
export interface Taker {
  readonly connection: Connection;
  room(): number;
  deliver(message: Kept): void;
}

interface KeptQueue {
  readonly deadLetter: string | null;
  /** It goes with its connection; null: it stays. */
  readonly connection: Connection | null;
  ready: Kept[];
  readonly takers: Set<Taker>;
}

/** RabbitMQ as far as jobs see it: durable, confirmed, delivered at least once. */
export class BrokerServer {
  up = true;
  /** False: it takes no messages, as with a full disk. */
  taking = true;
  readonly #random: Random;
  readonly #gone: (message: Kept) => void;
  readonly #connections = new Set<Connection>();
  readonly #exchanges = new Map<string, Exchange>();
  readonly #queues = new Map<string, KeptQueue>();
  #bindings: Binding[] = [];
  #serial = 0;

  /** @param gone Told of a message that was acknowledged. */
  constructor(random: Random, gone: (message: Kept) => void) {
    this.#random = random;
    this.#gone = gone;
  }

  connect(connection: Connection): void {
    this.#connections.add(connection);
  }

  /** In the order in which they were published, before what came since. */
  disconnect(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    for (const [name, queue] of this.#queues) {
      for (const taker of queue.takers) if (taker.connection === connection) queue.takers.delete(taker);
      if (queue.connection === connection) this.#drop(name);
    }
    for (const message of [...connection.unsettled].reverse()) this.#back(message);
    connection.unsettled.clear();
  }

  declare({ exchanges, queues, bindings }: Topology): void {
    for (const exchange of exchanges) this.#exchanges.set(exchange.name, exchange);
    for (const { name, deadLetter = null } of queues) this.#make(name, deadLetter, null);
    for (const binding of bindings) this.#bind(binding);
  }

  /** A queue that goes with the connection. */
  listen(connection: Connection, name: string, bindings: readonly Binding[]): void {
    this.#make(name, null, connection);
    for (const binding of bindings) this.#bind(binding);
  }

  remove(name: string): void {
    this.#drop(name);
  }

  /** False: nobody takes such. */
  publish(message: Published): boolean {
    const names = this.#route(message.exchange, message.key);
    for (const name of names) this.#keep(name, message, null);
    return names.length > 0;
  }

  take(queue: string, taker: Taker): void {
    this.#queues.get(queue)?.takers.add(taker);
    this.dispatch(queue);
  }

  leave(queue: string, taker: Taker): void {
    this.#queues.get(queue)?.takers.delete(taker);
  }

  /** Hands out what waits, as far as there is room. */
  dispatch(name: string): void {
    const queue = this.#queues.get(name);
    if (queue === undefined || !this.up) return;
    for (;;) {
      const taker = this.#random.some([...queue.takers].filter((one) => one.room() > 0));
      const message = taker === undefined ? undefined : queue.ready.shift();
      if (taker === undefined || message === undefined) return;
      taker.connection.unsettled.add(message);
      taker.deliver(message);
    }
  }

  ack(connection: Connection, message: Kept): void {
    if (connection.unsettled.delete(message)) this.#gone(message);
  }

  requeue(connection: Connection, message: Kept): void {
    if (!connection.unsettled.delete(message)) return;
    this.#back(message);
  }

  reject(connection: Connection, message: Kept): void {
    if (!connection.unsettled.has(message)) return;
    const exchange = this.#queues.get(message.queue)?.deadLetter ?? null;
    const death = { queue: message.queue, reason: 'rejected' };
    if (exchange !== null) for (const name of this.#route(exchange, message.key)) this.#keep(name, message, death);
    this.ack(connection, message);
  }

  /** A copy for whoever has another delivery of it. False: that process cannot be reached. */
  handOver(holder: string, message: Kept): boolean {
    const connection = [...this.#connections].find((one) => one.holder === holder);
    if (connection === undefined) return false;
    const copy: Kept = { ...message, serial: ++this.#serial, handedOver: true };
    connection.unsettled.add(copy);
    if (connection.returned(copy)) return true;
    connection.unsettled.delete(copy);
    return false;
  }

  /** What waits in a queue, and what of it is in somebody's hands. */
  messages(queue: string): Kept[] {
    const held = [...this.#connections].flatMap(({ unsettled }) => [...unsettled]).filter((one) => one.queue === queue);
    return [...(this.#queues.get(queue)?.ready ?? []), ...held];
  }

  depth(name: string): { readonly ready: number; readonly held: number } | null {
    const queue = this.#queues.get(name);
    if (queue === undefined) return null;
    const { length: ready } = queue.ready;
    return { ready, held: this.messages(name).length - ready };
  }

  #keep(name: string, { id, exchange, key, body, headers }: Published, death: Death | null): void {
    const queue = this.#queues.get(name);
    if (queue === undefined) return;
    const serial = ++this.#serial;
    const message = { id, exchange, key, body, headers, queue: name, serial, death, handedOver: false };
    queue.ready.push({ ...message, redelivered: false });
    this.dispatch(name);
  }

  #back(message: Kept): void {
    const queue = this.#queues.get(message.queue);
    if (queue === undefined) return;
    queue.ready.unshift({ ...message, redelivered: true, handedOver: false });
    this.dispatch(message.queue);
  }

  #make(name: string, deadLetter: string | null, connection: Connection | null): void {
    if (!this.#queues.has(name)) this.#queues.set(name, { deadLetter, connection, ready: [], takers: new Set() });
  }

  #drop(name: string): void {
    this.#queues.delete(name);
    this.#bindings = this.#bindings.filter(({ queue }) => queue !== name);
  }

  #bind(binding: Binding): void {
    const { exchange, queue, key } = binding;
    const known = this.#bindings.some((one) => one.exchange === exchange && one.queue === queue && one.key === key);
    if (!known) this.#bindings.push(binding);
  }

  #route(name: string, key: string): readonly string[] {
    if (name === '') return this.#queues.has(key) ? [key] : [];
    const exchange = this.#exchanges.get(name);
    if (exchange === undefined) return [];
    const found = this.#bindings.filter((one) => one.exchange === name && takes(exchange, one.key, key));
    const queues = [...new Set(found.map(({ queue }) => queue))];
    return queues.length === 0 && exchange.alternate !== undefined ? this.#route(exchange.alternate, key) : queues;
  }
}

/** Patterns of jobs end with `.#` or have none. */
function takes({ type }: Exchange, pattern: string, key: string): boolean {
  if (type === 'fanout' || pattern === key) return true;
  return type === 'topic' && pattern.endsWith('.#') && `${key}.`.startsWith(pattern.slice(0, -1));
}
