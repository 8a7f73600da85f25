import { randomUUID } from 'node:crypto';
import type { Clock } from '@muster/base';
import {
  answersTopic,
  type Broker,
  type Incoming,
  ORDERS_QUEUE,
  ordersTopology,
  type Subscription,
} from '@muster/broker';
import { MusterError } from '../../errors.js';
import { makeStand } from '../../standing.js';
import { SystemTrouble } from '../types.js';
import { type Answer, aboutOf, type Done, doneOf, type NewOrder, passingTrouble, readAnswer } from './orders.js';

export interface AskingDeps {
  readonly broker: Broker;
  readonly clock: Clock;
}

/** A server that is restarted is back before. */
const ANSWER_MS = 60_000;

interface Asked {
  readonly order: NewOrder;
  readonly answered: (answer: Answer) => void;
  readonly refused: (error: unknown) => void;
}

/** Orders to the server, of a process beside it on the same broker: each until it is answered or has waited for too long. */
export class Asking {
  readonly #deps: AskingDeps;
  readonly #asked = new Map<string, Asked>();
  #answers: Subscription | undefined;
  /** Answers reach us. */
  #heard = false;

  constructor(deps: AskingDeps) {
    this.#deps = deps;
  }

  /** @throws Failed, SystemTrouble */
  async ask(order: NewOrder): Promise<Done> {
    const { broker, clock } = this.#deps;
    const id = randomUUID();
    const answer = new Promise<Answer>((answered, refused) => {
      this.#asked.set(id, { order, answered, refused });
    });
    // Waited for below; it may be refused before.
    answer.catch(() => undefined);
    const late = clock.after(ANSWER_MS, () => {
      const text = `no server has answered within ${ANSWER_MS / 1000} s: is muster server up?`;
      this.#asked.get(id)?.refused(new SystemTrouble(aboutOf(order), passingTrouble(order), text));
    });
    try {
      if (this.#answers === undefined) {
        await makeStand(broker, ordersTopology());
        this.#answers ??= broker.subscribe(answersTopic(broker.holder), (message) => this.#hear(message));
      } else if (this.#heard) this.#send(id);
      return doneOf(await answer);
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
    broker.publish({ exchange: '', key: ORDERS_QUEUE, id, body }).catch((error: unknown) => {
      // It is asked again when the broker is back.
      if (!(error instanceof MusterError) || error.code !== 'broker_unavailable') asked.refused(error);
    });
  }
}
