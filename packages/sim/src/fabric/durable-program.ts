import type { Client, EventMessage, Subscription } from '@muster/fabric/client';
import type { Random } from '../kernel/random.js';
import type { Process } from '../kernel/timeline.js';
import type { Trace } from '../kernel/trace.js';
import type { DurableReader } from './durable-reader.js';

export interface DurableProgramPorts {
  readonly client: Client;
  readonly process: Process;
  readonly random: Random;
  readonly trace: Trace;
  /** Of its connections, the present one. */
  connection(): number;
  /** The faults go on: only then does it refuse, and take its time. */
  troubled(): boolean;
  expect(error: unknown): void;
  /** The server has ended it. */
  over(program: DurableProgram): void;
}

/** What one life of a program does with a durable subscription: it takes events, and settles them sooner or later. */
export class DurableProgram {
  readonly reader: DurableReader;
  ready = false;
  readonly #subscription: Subscription;
  readonly #ports: DurableProgramPorts;
  /** Came, and is not answered. */
  readonly #held = new Map<EventMessage, number>();
  #left = false;

  constructor(reader: DurableReader, ports: DurableProgramPorts) {
    this.reader = reader;
    this.#ports = ports;
    const { selector, from, name, ack } = reader.plan;
    ports.trace.say(() => `${reader.name} subscribes: ${selector.text || 'everything'}, from ${from ?? 'now'}, ${ack}`);
    reader.registered();
    this.#subscription = ports.client.subscribe({
      durable: name,
      ack,
      ...(selector.text !== '' && { selector: selector.text }),
      ...(from !== null && { from }),
    });
    this.#follow().catch((error: unknown) => {
      ports.over(this);
      ports.expect(error);
    });
  }

  /** Nothing waits for an answer of the program. */
  get idle(): boolean {
    return this.#held.size === 0;
  }

  /** A new connection: what was not settled comes again. */
  connected(): void {
    this.#held.clear();
    this.reader.registered();
  }

  /** Ends it. Answers whether nothing is kept of it for certain. */
  async leave(forget: boolean): Promise<boolean> {
    const { expect, trace } = this.#ports;
    this.#left = true;
    this.#held.clear();
    trace.say(() => `${this.reader.name} ${forget ? 'is forgotten' : 'unsubscribes'}`);
    try {
      await this.#subscription.unsubscribe({ forget });
    } catch (error) {
      expect(error);
      return false;
    }
    return forget;
  }

  /** Whatever it holds is acknowledged. */
  settle(): void {
    for (const message of [...this.#held.keys()]) this.#answer(message, true);
  }

  async #follow(): Promise<void> {
    const { expect, process, trace } = this.#ports;
    const { reader } = this;
    this.#subscription.ready.then(
      () => {
        this.ready = true;
      },
      // The iteration says it as well.
      () => undefined,
    );
    for await (const message of this.#subscription) {
      if (!process.alive || this.#left) return;
      if (message.isMarker) {
        reader.missed(Number(message.get('dropped')), message.get('reason') ?? '');
        continue;
      }
      const { position, redelivered } = message;
      trace.say(() => `${reader.name} gets ${position}, event ${message.get('n')}${redelivered ? ', again' : ''}`);
      reader.take(position, Number(message.get('n')), message.org, redelivered);
      this.#held.set(message, this.#ports.connection());
      this.#consider(message);
    }
    if (!this.#left) expect(new Error('a durable subscription ended by itself'));
  }

  #consider(message: EventMessage): void {
    const { process, random, troubled } = this.#ports;
    const { plan } = this.reader;
    const refuses = troubled() && (Number(message.get('n')) % POISON === 0 || random.chance(plan.refuses));
    const delayMs = troubled() ? random.around(plan.holdMs) : 0;
    process.clock.after(delayMs, () => this.#answer(message, !refuses));
  }

  #answer(message: EventMessage, good: boolean): void {
    const { connection, expect, process, trace } = this.#ports;
    const { position } = message;
    const { reader } = this;
    // Of an older connection: it comes again.
    if (position === null || this.#left || this.#held.get(message) !== connection()) return;
    this.#held.delete(message);
    if (!process.alive || this.#ports.client.status.state !== 'connected') return;
    trace.say(() => `${reader.name} ${good ? 'acknowledges' : 'refuses'} ${position}`);
    const settled = good ? reader.acknowledge(position) : reader.refuse(position);
    const confirmed = (): void => {
      if (!process.alive || this.#left) return;
      trace.say(() => `${reader.name}: the answer for ${position} is saved`);
      reader.confirmed(settled);
      // What came before the confirmation is read by then.
      process.clock.after(0, () => {
        if (!this.#left) reader.final(settled);
      });
    };
    const unconfirmed = (error: unknown): void => {
      if (process.alive) reader.unconfirmed();
      expect(error);
    };
    (good ? message.ack() : message.nack()).then(confirmed, unconfirmed);
  }
}

/** Every so many events are refused as long as that is allowed. */
const POISON = 7;
