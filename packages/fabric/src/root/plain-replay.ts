import type { Clock } from '@muster/base';
import type { Replay, ReplayRequest } from '../session/broker.js';
import { LogFollower, type LogFollowerPorts } from './log-follower.js';
import type { Cursors } from './ports.js';
import { failReplay, SubscribeReceipt } from './replay-answers.js';
import { startPosition } from './start-position.js';

export interface ReplayPorts extends Omit<LogFollowerPorts, 'hub'> {
  readonly cursors: Cursors;
  readonly clock: Clock;
  hub(org: string): LogFollowerPorts['hub'];
}

/** The replay of a subscription with the header `from` and no name: nothing about it is kept. */
export class PlainReplay implements Replay {
  readonly #request: ReplayRequest;
  readonly #subscribeReceipt: SubscribeReceipt;
  #follower: LogFollower | null = null;
  #ended = false;

  constructor(request: ReplayRequest, ports: ReplayPorts) {
    this.#request = request;
    this.#subscribeReceipt = new SubscribeReceipt(request);
    this.#start(ports).catch((error: unknown) => failReplay(request, error, ports.log, this.#subscribeReceipt.take()));
  }

  ack(_position: number, _cumulative: boolean, receipt: string | null): void {
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  nack(position: number, cumulative: boolean, receipt: string | null): void {
    this.ack(position, cumulative, receipt);
  }

  resume(): void {
    this.#follower?.advance();
  }

  takeBack(after: number, receipt: string | null): void {
    this.#follower?.rewind(after);
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  end(_forget: boolean, receipt: string | null): void {
    this.#ended = true;
    this.#follower?.end();
    this.#subscribeReceipt.send();
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  async #start(ports: ReplayPorts): Promise<void> {
    const { from, org } = this.#request;
    const through = await startPosition(from, ports.events, ports.clock);
    if (this.#ended) return;
    const reportsPruned = from?.kind === 'position';
    this.#follower = new LogFollower(this.#request, through, reportsPruned, null, { ...ports, hub: ports.hub(org) });
    this.#subscribeReceipt.send();
    this.#follower.advance();
  }
}
