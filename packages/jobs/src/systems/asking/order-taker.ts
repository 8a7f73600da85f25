import {
  ANSWERS_EXCHANGE,
  type Broker,
  type Consumer,
  type Delivery,
  ORDERS_QUEUE,
  ordersTopology,
} from '@muster/broker';
import type { Recorder } from '@muster/platform/log';
import { MusterError } from '../../errors.js';
import { makeStand } from '../../standing.js';
import type { WorkerConnections } from '../agent/worker-connections.js';
import type { TaskRunner } from '../tasks/types.js';
import { type Answer, answerOf, type Order, readOrder, systemOf } from './orders.js';

export interface OrderTakerDeps {
  readonly broker: Broker;
  readonly runner: Pick<TaskRunner, 'add' | 'cancel'>;
  readonly connections: Pick<WorkerConnections, 'open'>;
  readonly recorder: Pick<Recorder, 'announce'>;
  readonly log: { warn(details: object, message: string): void };
}

/** Orders under way at one time. One for a node that is away takes as long as the node is waited for. */
const SLOTS = 256;

/** The server's end: does for workers and readers in other processes what only the server can, and answers them. */
export class OrderTaker {
  readonly #deps: OrderTakerDeps;
  #consumer: Consumer | undefined;

  constructor(deps: OrderTakerDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const { broker } = this.#deps;
    await makeStand(broker, ordersTopology());
    this.#consumer = broker.consume(ORDERS_QUEUE, { slots: SLOTS }, (delivery) => this.#take(delivery));
  }

  async stop(): Promise<void> {
    await this.#consumer?.stop();
  }

  async #take(delivery: Delivery): Promise<void> {
    const { log, recorder } = this.#deps;
    const order = readOrder(delivery.body);
    if (order === null) {
      log.warn({ id: delivery.id }, 'a message among the orders of workers is none');
      await delivery.reject();
      return;
    }
    // Whoever has a task here wants to hear of it.
    recorder.announce();
    try {
      await this.#answer(delivery.id, order, await this.#carryOut(order));
    } catch (err) {
      // Whoever asked asks again when it has the broker again.
      log.warn({ err, order: order.msgType }, 'an order of a worker could not be answered');
    }
    await delivery.ack();
  }

  async #carryOut(order: Order): Promise<Answer> {
    const { runner, connections } = this.#deps;
    try {
      switch (order.msgType) {
        case 'TASK_ADD':
          return { task: await runner.add(order) };
        case 'TASK_CANCEL':
          await runner.cancel(order.orgId, order.task);
          return { task: order.task };
        case 'SYSTEM_OPEN':
          return { way: await connections.open(systemOf(order)) };
      }
    } catch (error) {
      return answerOf(error, order);
    }
  }

  async #answer(id: string, { answerTo }: Order, answer: Answer): Promise<void> {
    const headers = { order: id };
    try {
      await this.#deps.broker.publish({
        exchange: ANSWERS_EXCHANGE,
        key: answerTo,
        headers,
        body: JSON.stringify(answer),
      });
    } catch (error) {
      // It is gone.
      if (!(error instanceof MusterError) || error.code !== 'message_unroutable') throw error;
    }
  }
}
