import { randomUUID } from 'node:crypto';
import type { Clock } from '@muster/base';
import {
  answersTopic,
  type Broker,
  type Incoming,
  type Subscription,
  TASK_ORDERS_QUEUE,
  taskOrdersTopology,
} from '@muster/broker';
import type { Recorder } from '@muster/platform/log';
import { MusterError } from '../../errors.js';
import { makeStand } from '../../standing.js';
import { SystemTrouble } from '../types.js';
import { type FollowingDeps, followTasks } from './following.js';
import { readAnswer, type TaskAnswer, type TaskOrder, taskOf } from './orders.js';
import type { TaskRunner } from './types.js';

export interface AskingRunnerDeps extends FollowingDeps {
  readonly broker: Broker;
  readonly recorder: Pick<Recorder, 'onStored' | 'follow'>;
  readonly clock: Clock;
}

/** What an order says of itself; who is to be answered is the same for all. */
type Order<T extends TaskOrder = TaskOrder> = T extends TaskOrder ? Omit<T, 'answerTo'> : never;

/** A server that is restarted is back before. */
const ANSWER_MS = 60_000;

/** Queues and tasks of a server, for a worker in another process on the same database and broker. */
export function createAskingRunner(deps: AskingRunnerDeps): TaskRunner & { stop(): Promise<void> } {
  const { recorder } = deps;
  const asking = new Asking(deps);
  const following = followTasks(deps);
  return {
    async stop() {
      following.stop();
      await asking.stop();
    },
    add: (task) => asking.ask(task.system, { msgType: 'TASK_ADD', ...task }),
    standing: following.standing,
    async cancel(orgId, task) {
      await asking.ask(task, { msgType: 'TASK_CANCEL', orgId, task });
    },
    follow(task, changed) {
      // What others store is read from the first time on that somebody wants to hear of it.
      recorder.follow();
      return following.follow(task, changed);
    },
  };
}

interface Asked {
  readonly order: Order;
  readonly answered: (answer: TaskAnswer) => void;
  readonly refused: (error: unknown) => void;
}

/** Orders to the server, each until it is answered or has waited for too long. */
class Asking {
  readonly #deps: Pick<AskingRunnerDeps, 'broker' | 'clock'>;
  readonly #asked = new Map<string, Asked>();
  #answers: Subscription | undefined;
  /** Answers reach us. */
  #heard = false;

  constructor(deps: Pick<AskingRunnerDeps, 'broker' | 'clock'>) {
    this.#deps = deps;
  }

  /** @param about What it is for, in the error. @throws Failed, SystemTrouble */
  async ask(about: string, order: Order): Promise<string> {
    const { broker, clock } = this.#deps;
    const id = randomUUID();
    const answer = new Promise<TaskAnswer>((answered, refused) => {
      this.#asked.set(id, { order, answered, refused });
    });
    // Waited for below; it may be refused before.
    answer.catch(() => undefined);
    const late = clock.after(ANSWER_MS, () => {
      const text = `no server has answered within ${ANSWER_MS / 1000} s: is muster server up?`;
      this.#asked.get(id)?.refused(new SystemTrouble(about, 'SCHEDULER_BUSY', text));
    });
    try {
      if (this.#answers === undefined) {
        await makeStand(broker, taskOrdersTopology());
        this.#answers ??= broker.subscribe(answersTopic(broker.holder), (message) => this.#hear(message));
      } else if (this.#heard) this.#send(id);
      return taskOf(await answer);
    } finally {
      late.cancel();
      this.#asked.delete(id);
    }
  }

  async stop(): Promise<void> {
    await this.#answers?.stop();
  }

  #hear(message: Incoming | null): void {
    if (message === null) {
      // At first, and whenever answers may have been missed: what was asked is asked again.
      this.#heard = true;
      for (const id of this.#asked.keys()) this.#send(id);
      return;
    }
    const answer = readAnswer(message.body);
    if (answer !== null) this.#asked.get(message.headers.order ?? '')?.answered(answer);
  }

  #send(id: string): void {
    const { broker } = this.#deps;
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    const body = JSON.stringify({ ...asked.order, answerTo: broker.holder });
    broker.publish({ exchange: '', key: TASK_ORDERS_QUEUE, id, body }).catch((error: unknown) => {
      // It is asked again when the broker is back.
      if (!(error instanceof MusterError) || error.code !== 'broker_unavailable') asked.refused(error);
    });
  }
}
