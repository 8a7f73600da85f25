import type { Clock } from '@muster/base';
import { MusterError } from '../../errors.js';
import { FABRIC_LIMITS } from '../../limits.js';
import type { Replay, ReplayRequest } from '../../session/broker.js';
import { LogFollower } from '../log-follower.js';
import type { ReplayPorts } from '../plain-replay.js';
import type { Cursor, CursorKey } from '../ports.js';
import { failReplay, SubscribeReceipt } from '../replay-answers.js';
import { startPosition } from '../start-position.js';
import type { CursorSaver, Saved } from './cursor-saver.js';
import { Durable } from './machine.js';

const LIMITS = { prefetch: FABRIC_LIMITS.prefetch, deliveries: FABRIC_LIMITS.redeliveries };

/** What a durable replay needs besides. */
export interface DurableReplayPorts extends ReplayPorts {
  readonly saver: CursorSaver;
  /** Deletes what is stored of the subscription. */
  forget(): Promise<boolean>;
  /** Resolves when no deletion of it is under way. */
  forgotten(): Promise<void>;
  over(): void;
}

/**
 * The replay of a durable subscription: saves how far its client has acknowledged. What was delivered, refused and
 * acknowledged is kept by `Durable` in `machine.ts`.
 */
export class DurableReplay implements Replay {
  readonly #key: CursorKey;
  readonly #request: ReplayRequest;
  readonly #ports: DurableReplayPorts;
  readonly #subscribeReceipt: SubscribeReceipt;
  #active: ActiveDurable | null = null;
  #ended = false;

  constructor(request: ReplayRequest, key: CursorKey, ports: DurableReplayPorts) {
    this.#key = key;
    this.#request = request;
    this.#ports = ports;
    this.#subscribeReceipt = new SubscribeReceipt(request);
    this.#start().catch((error: unknown) => failReplay(request, error, ports.log, this.#subscribeReceipt.take()));
  }

  /** Ends it; the client is told why. */
  cut(error: MusterError): void {
    this.#request.subscriber.fail(error, this.#subscribeReceipt.take());
    this.end(false, null);
  }

  ack(position: number, cumulative: boolean, receipt: string | null): void {
    this.#active?.durable.ack(position, cumulative);
    this.#acknowledged(receipt);
  }

  nack(position: number, cumulative: boolean, receipt: string | null): void {
    const givenUp = this.#active?.durable.nack(position, cumulative) ?? [];
    if (givenUp.length > 0) {
      this.#ports.metrics.givenUp += givenUp.length;
      this.#ports.log.warn(
        { ...this.#key, positions: givenUp },
        'a durable subscription refused events as often as it may',
      );
      this.#request.subscriber.missed(givenUp.length, `refused ${LIMITS.deliveries} times`);
    }
    this.#acknowledged(receipt);
  }

  resume(): void {
    this.#active?.follower.advance();
  }

  takeBack(after: number, receipt: string | null): void {
    this.#active?.follower.rewind(after);
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  end(forget: boolean, receipt: string | null): void {
    if (!this.#ended) {
      this.#ended = true;
      this.#active?.follower.end();
      this.#ports.over();
      if (!forget && this.#active !== null) this.#ports.saver.note(this.#active);
    }
    this.#subscribeReceipt.send();
    if (forget)
      this.#forget(receipt).catch((error: unknown) => failReplay(this.#request, error, this.#ports.log, receipt));
  }

  async #start(): Promise<void> {
    const { clock, cursors, events, forgotten, hub, saver } = this.#ports;
    const { from } = this.#request;
    await forgotten();
    // What the client has acknowledged on its last connection may not be saved yet.
    await saver.settle();
    const found = await cursors.load(this.#key);
    if (found === null) await this.#checkCount();
    const through = found === null ? await startPosition(from, events, clock) : Math.min(found.through, events.last());
    if (this.#ended) return;
    const durable = new Durable(through, found?.acknowledged ?? [], LIMITS);
    const reportsPruned = found !== null || from?.kind === 'position';
    const follower = new LogFollower(this.#request, through, reportsPruned, durable, {
      ...this.#ports,
      hub: hub(this.#key.org),
    });
    const active = new ActiveDurable(this.#key, this.#request.selectorText, durable, follower, clock);
    // Only what is stored is served: until then nobody may make the follower go on.
    await saver.save(active);
    if (this.#ended) return;
    this.#active = active;
    this.#subscribeReceipt.send();
    follower.advance();
  }

  async #checkCount(): Promise<void> {
    const limit = FABRIC_LIMITS.durableSubscriptions;
    const { length } = await this.#ports.cursors.list(this.#key.org);
    if (length < limit) return;
    throw new MusterError('stomp_too_many', { command: 'SUBSCRIBE', what: 'durable subscriptions', limit });
  }

  async #forget(receipt: string | null): Promise<void> {
    await this.#ports.forget();
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  /** Saves the acknowledgement. Its receipt, if one was asked for, is sent when it is durable. */
  #acknowledged(receipt: string | null): void {
    if (this.#active === null || this.#ended) {
      // The subscription has not begun or has ended: there is nothing to save.
      if (receipt !== null) this.#request.subscriber.receipt(receipt);
      return;
    }
    this.#active.follower.advance();
    if (receipt === null) return this.#ports.saver.note(this.#active);
    this.#ports.saver.save(this.#active).then(
      () => this.#request.subscriber.receipt(receipt),
      (error: unknown) => failReplay(this.#request, error, this.#ports.log, receipt),
    );
  }
}

/** A durable subscription whose client is connected: its acknowledgements and the reading of the log. */
class ActiveDurable implements Saved {
  readonly key: CursorKey;
  readonly durable: Durable;
  readonly follower: LogFollower;
  readonly #selector: string;
  readonly #clock: Clock;

  constructor(key: CursorKey, selector: string, durable: Durable, follower: LogFollower, clock: Clock) {
    this.key = key;
    this.durable = durable;
    this.follower = follower;
    this.#selector = selector;
    this.#clock = clock;
  }

  cursor(): Cursor {
    this.durable.readTo(this.follower.through);
    return { ...this.key, ...this.durable.progress(), selector: this.#selector, savedMs: this.#clock.now() };
  }
}
