import type { ConsumeOptions, Consumer, Handler } from '@muster/broker';
import type { Process } from '../../kernel/timeline.js';
import { type Attachment, type Place, SimulatedDelivery } from './delivery.js';
import type { BrokerServer, Connection, Taker } from './server.js';

const ORPHAN_MS = 5_000;

/** The process's way to the broker. */
export interface Way {
  readonly process: Process;
  readonly world: { readonly server: BrokerServer; readonly failed: (error: unknown) => void };
  isOpen(connection: Connection): boolean;
  tell(connection: Connection, work: () => void): void;
  later(work: () => void): void;
  ask<T>(work: () => T): Promise<T>;
}

/** Takes messages of one queue, and keeps what it has through a loss of the connection. */
export class SimulatedConsumer implements Consumer {
  readonly queue: string;
  readonly #broker: Way;
  readonly #handler: Handler;
  readonly #most: number;
  readonly #ended: () => void;
  readonly #held = new Map<string, SimulatedDelivery>();
  /** Settled without the broker knowing: when they come again they are done with. */
  readonly #done = new Set<string>();
  #slots: number;
  /** On their way here. */
  #coming = 0;
  #taker: Taker | null = null;
  #stopped = false;
  readonly #place: Place;

  constructor(broker: Way, queue: string, { slots }: ConsumeOptions, handler: Handler, ended: () => void) {
    this.queue = queue;
    this.#broker = broker;
    this.#handler = handler;
    this.#most = slots;
    this.#slots = slots;
    this.#ended = ended;
    const { server } = broker.world;
    this.#place = {
      isOpen: (connection) => broker.isOpen(connection),
      tell: ({ connection, message }, what) => broker.tell(connection, () => server[what](connection, message)),
      over: (delivery, gone) => {
        if (this.#held.get(delivery.id) === delivery) this.#held.delete(delivery.id);
        if (gone) this.#done.add(delivery.id);
        this.#more();
      },
      handOver: (message, holder) => broker.ask(() => server.handOver(holder, message)).catch(() => false),
    };
  }

  get held(): number {
    return this.#held.size;
  }

  setSlots(slots: number): void {
    if (!(slots >= 0 && slots <= this.#most)) throw new RangeError(`slots are 0 to ${this.#most}`);
    this.#slots = slots;
    this.#more();
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    if (this.#taker !== null) this.#broker.world.server.leave(this.queue, this.#taker);
    for (const delivery of this.#held.values()) delivery.giveBack();
    this.#held.clear();
    this.#ended();
  }

  /** There is a connection. */
  begin(connection: Connection): void {
    this.#coming = 0;
    this.#broker.tell(connection, () => {
      if (this.#stopped) return;
      const taker: Taker = {
        connection,
        room: () => (this.#taker === taker ? this.#slots - this.#held.size - this.#coming : 0),
        deliver: (message) => {
          this.#coming += 1;
          this.#broker.later(() => this.#take({ connection, message }));
        },
      };
      this.#taker = taker;
      this.#broker.world.server.take(this.queue, taker);
    });
  }

  /** Another process has handed it over: it is of a delivery here, or goes back after a while. */
  returned(attachment: Attachment): void {
    if (this.#attached(attachment)) return;
    const { connection, message } = attachment;
    this.#broker.process.clock.after(ORPHAN_MS, () => {
      if (!this.#attached(attachment))
        this.#broker.tell(connection, () => this.#broker.world.server.requeue(connection, message));
    });
  }

  #take(attachment: Attachment): void {
    const { connection, message } = attachment;
    if (!this.#broker.isOpen(connection)) return;
    this.#coming -= 1;
    if (this.#stopped) return this.#place.tell(attachment, 'requeue');
    if (this.#attached(attachment)) return this.#more();
    const delivery = new SimulatedDelivery(message, this.#place);
    delivery.attach(attachment);
    this.#held.set(message.id, delivery);
    const failed = (error: unknown): void => {
      this.#broker.world.failed(error);
      void delivery.reject();
    };
    try {
      Promise.resolve(this.#handler(delivery)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #attached(attachment: Attachment): boolean {
    const { id } = attachment.message;
    if (this.#done.delete(id)) {
      this.#place.tell(attachment, 'ack');
      return true;
    }
    const held = this.#held.get(id);
    held?.attach(attachment);
    return held !== undefined;
  }

  #more(): void {
    const connection = this.#taker?.connection;
    if (connection !== undefined) this.#broker.tell(connection, () => this.#broker.world.server.dispatch(this.queue));
  }
}
