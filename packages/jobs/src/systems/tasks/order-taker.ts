import {
  ANSWERS_EXCHANGE,
  type Broker,
  type Consumer,
  type Delivery,
  TASK_ORDERS_QUEUE,
  taskOrdersTopology,
} from '@muster/broker';
import type { Recorder } from '@muster/platform/log';
import { MusterError } from '../../errors.js';
import { makeStand } from '../../standing.js';
import { answerOf, readOrder, type TaskAnswer, type TaskOrder } from './orders.js';
import type { TaskRunner } from './types.js';

export interface OrderTakerDeps {
  readonly broker: Broker;
  readonly runner: Pick<TaskRunner, 'add' | 'cancel'>;
  readonly recorder: Pick<Recorder, 'announce'>;
  readonly log: { warn(details: object, message: string): void };
}

/** Orders under way at one time. */
const SLOTS = 32;

/** The server's end: adds and cancels tasks for workers in other processes, and answers them. */
export class OrderTaker {
  readonly #deps: OrderTakerDeps;
  #consumer: Consumer | undefined;

  constructor(deps: OrderTakerDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const { broker } = this.#deps;
    await makeStand(broker, taskOrdersTopology());
    this.#consumer = broker.consume(TASK_ORDERS_QUEUE, { slots: SLOTS }, (delivery) => this.#take(delivery));
  }

  async stop(): Promise<void> {
    await this.#consumer?.stop();
  }

  async #take(delivery: Delivery): Promise<void> {
    const { log, recorder } = this.#deps;
    const order = readOrder(delivery.body);
    if (order === null) {
      log.warn({ id: delivery.id }, 'a message among the orders for tasks is none');
      await delivery.reject();
      return;
    }
    // Whoever has a task here wants to hear of it.
    recorder.announce();
    try {
      await this.#answer(delivery.id, order, await this.#carryOut(order));
    } catch (err) {
      // Whoever asked asks again when it has the broker again.
      log.warn({ err, order: order.msgType }, 'an order for tasks could not be answered');
    }
    await delivery.ack();
  }

  async #carryOut(order: TaskOrder): Promise<TaskAnswer> {
    const { runner } = this.#deps;
    try {
      if (order.msgType === 'TASK_ADD') return { task: await runner.add(order) };
      await runner.cancel(order.orgId, order.task);
      return { task: order.task };
    } catch (error) {
      return answerOf(error, order.msgType === 'TASK_ADD' ? order.system : order.task);
    }
  }

  async #answer(id: string, { answerTo }: TaskOrder, answer: TaskAnswer): Promise<void> {
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
