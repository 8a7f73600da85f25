import { type Clock, MusterError } from '@muster/wire';
import { Durable } from '../durable/machine.js';
import { CursorSaver, keyOf, type Saved } from '../durable/saver.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { FabricLog } from '../session/context.js';
import type { From, Replay, ReplayRequest } from '../session/ports.js';
import { Feed, type FeedPorts } from './feed.js';
import type { Cursor, CursorKey, Cursors, EventLog } from './ports.js';

export interface ReplaysPorts extends Omit<FeedPorts, 'hub'> {
  readonly cursors: Cursors;
  readonly clock: Clock;
  hub(org: string): FeedPorts['hub'];
}

/** Subscriptions that begin in the past, and those that go on where they were left. */
export class Replays {
  readonly #ports: ReplaysPorts;
  readonly #saver: CursorSaver;
  /** The durable ones that are being followed. */
  readonly #followed = new Map<string, DurableReplay>();
  /** Those that are being forgotten: who subscribes to one now begins it anew afterwards. */
  readonly #forgetting = new Map<string, Promise<boolean>>();

  constructor(ports: ReplaysPorts) {
    this.#ports = ports;
    this.#saver = new CursorSaver(ports.cursors, ports.clock, ports.log);
  }

  start(request: ReplayRequest): Replay {
    if (request.durable === null) return new PlainReplay(request, this.#ports);
    const { org, principal, kind, durable: name } = request;
    const key = { org, principal, kind, name };
    const text = keyOf(key);
    // The newest connection has it: of an older one nobody may have noticed that it is dead.
    this.#followed.get(text)?.cut(new MusterError('event_durable_taken', { name: key.name }));
    const replay = new DurableReplay(request, key, {
      ...this.#ports,
      saver: this.#saver,
      forget: () => this.#forget(key),
      forgotten: async () => void (await this.#forgetting.get(text)),
      over: () => {
        if (this.#followed.get(text) === replay) this.#followed.delete(text);
      },
    });
    this.#followed.set(text, replay);
    return replay;
  }

  /**
   * Ends a durable subscription for good; who follows it is told. Resolves with whether there was one.
   * Rejects with `store_unavailable`.
   */
  forget(key: CursorKey): Promise<boolean> {
    this.#followed.get(keyOf(key))?.cut(new MusterError('event_durable_deleted', { name: key.name }));
    return this.#forget(key);
  }

  /** Resolves when all acknowledgements are saved. Rejects with `store_unavailable`; it is not tried again then. */
  stop(): Promise<void> {
    return this.#saver.stop();
  }

  #forget(key: CursorKey): Promise<boolean> {
    const text = keyOf(key);
    const forgotten = this.#delete(key).finally(() => {
      if (this.#forgetting.get(text) === forgotten) this.#forgetting.delete(text);
    });
    this.#forgetting.set(text, forgotten);
    return forgotten;
  }

  async #delete(key: CursorKey): Promise<boolean> {
    this.#saver.forget(key);
    // A save that is under way would bring it back.
    await this.#saver.settle();
    return this.#ports.cursors.delete(key);
  }
}

/** What one durable subscription needs. */
interface DurablePorts extends ReplaysPorts {
  readonly saver: CursorSaver;
  /** What is kept of it. */
  forget(): Promise<boolean>;
  /** Resolves when nothing is being forgotten of it. */
  forgotten(): Promise<void>;
  over(): void;
}

/** With `from` alone. */
class PlainReplay implements Replay {
  readonly #request: ReplayRequest;
  readonly #begun: Begun;
  #feed: Feed | null = null;
  #ended = false;

  constructor(request: ReplayRequest, ports: ReplaysPorts) {
    this.#request = request;
    this.#begun = new Begun(request);
    this.#start(ports).catch((error: unknown) => failed(request, error, ports.log, this.#begun.take()));
  }

  ack(_position: number, _cumulative: boolean, receipt: string | null): void {
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  nack(position: number, cumulative: boolean, receipt: string | null): void {
    this.ack(position, cumulative, receipt);
  }

  room(): void {
    this.#feed?.advance();
  }

  end(_forget: boolean, receipt: string | null): void {
    this.#ended = true;
    this.#feed?.end();
    this.#begun.answer();
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  async #start(ports: ReplaysPorts): Promise<void> {
    const { from, org } = this.#request;
    const through = await start(from, ports.events, ports.clock);
    if (this.#ended) return;
    const mindsGaps = from?.kind === 'position';
    this.#feed = new Feed(this.#request, through, mindsGaps, null, { ...ports, hub: ports.hub(org) });
    this.#begun.answer();
    this.#feed.advance();
  }
}

/** Keeps how far its client is; the machine is `durable/machine.ts`. */
class DurableReplay implements Replay {
  readonly #key: CursorKey;
  readonly #request: ReplayRequest;
  readonly #ports: DurablePorts;
  readonly #begun: Begun;
  #following: Following | null = null;
  #ended = false;

  constructor(request: ReplayRequest, key: CursorKey, ports: DurablePorts) {
    this.#key = key;
    this.#request = request;
    this.#ports = ports;
    this.#begun = new Begun(request);
    this.#start().catch((error: unknown) => failed(request, error, ports.log, this.#begun.take()));
  }

  /** The client is told why. */
  cut(error: MusterError): void {
    this.#request.subscriber.fail(error, this.#begun.take());
    this.end(false, null);
  }

  ack(position: number, cumulative: boolean, receipt: string | null): void {
    this.#following?.durable.ack(position, cumulative);
    this.#saved(receipt);
  }

  nack(position: number, cumulative: boolean, receipt: string | null): void {
    const givenUp = this.#following?.durable.nack(position, cumulative) ?? [];
    if (givenUp.length > 0) {
      this.#ports.metrics.givenUp += givenUp.length;
      this.#ports.log.warn(
        { ...this.#key, positions: givenUp },
        'a durable subscription refused events as often as it may',
      );
      this.#request.subscriber.missed(givenUp.length, `refused ${LIMITS.deliveries} times`);
    }
    this.#saved(receipt);
  }

  room(): void {
    this.#following?.feed.advance();
  }

  end(forget: boolean, receipt: string | null): void {
    if (!this.#ended) {
      this.#ended = true;
      this.#following?.feed.end();
      this.#ports.over();
      if (!forget && this.#following !== null) this.#ports.saver.note(this.#following);
    }
    this.#begun.answer();
    if (forget) this.#forget(receipt).catch((error: unknown) => failed(this.#request, error, this.#ports.log, receipt));
  }

  async #start(): Promise<void> {
    const { clock, cursors, events, forgotten, hub, saver } = this.#ports;
    const { from } = this.#request;
    await forgotten();
    // What another connection has acknowledged may not be saved yet.
    await saver.settle();
    const found = await cursors.load(this.#key);
    if (found === null) await this.#checkCount();
    const through = found === null ? await start(from, events, clock) : Math.min(found.through, events.last());
    if (this.#ended) return;
    const durable = new Durable(through, found?.acknowledged ?? [], LIMITS);
    const mindsGaps = found !== null || from?.kind === 'position';
    const feed = new Feed(this.#request, through, mindsGaps, durable, { ...this.#ports, hub: hub(this.#key.org) });
    this.#following = new Following(this.#key, this.#request.selectorText, durable, feed, clock);
    await saver.save(this.#following);
    if (this.#ended) return;
    this.#begun.answer();
    feed.advance();
  }

  async #checkCount(): Promise<void> {
    const limit = FABRIC_LIMITS.durables;
    const { length } = await this.#ports.cursors.list(this.#key.org);
    if (length < limit) return;
    throw new MusterError('stomp_too_many', { command: 'SUBSCRIBE', what: 'durable subscriptions', limit });
  }

  async #forget(receipt: string | null): Promise<void> {
    await this.#ports.forget();
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  /** An acknowledgement with a receipt is one that is saved when the receipt comes. */
  #saved(receipt: string | null): void {
    if (this.#following === null || this.#ended) {
      // Of a subscription that has ended it does not matter any more.
      if (receipt !== null) this.#request.subscriber.receipt(receipt);
      return;
    }
    this.#following.feed.advance();
    if (receipt === null) return this.#ports.saver.note(this.#following);
    this.#ports.saver.save(this.#following).then(
      () => this.#request.subscriber.receipt(receipt),
      (error: unknown) => failed(this.#request, error, this.#ports.log, receipt),
    );
  }
}

/** The answer to SUBSCRIBE: once, and also when the subscription ends before it has begun. Relays wait for each. */
class Begun {
  readonly #request: ReplayRequest;
  #answered = false;

  constructor(request: ReplayRequest) {
    this.#request = request;
  }

  answer(): void {
    const receipt = this.take();
    if (receipt !== null) this.#request.subscriber.receipt(receipt);
  }

  /** The receipt that is awaited, for an answer of another kind. */
  take(): string | null {
    if (this.#answered) return null;
    this.#answered = true;
    return this.#request.receipt;
  }
}

/** A durable subscription that is being followed. */
class Following implements Saved {
  readonly key: CursorKey;
  readonly durable: Durable;
  readonly feed: Feed;
  readonly #selector: string;
  readonly #clock: Clock;

  constructor(key: CursorKey, selector: string, durable: Durable, feed: Feed, clock: Clock) {
    this.key = key;
    this.durable = durable;
    this.feed = feed;
    this.#selector = selector;
    this.#clock = clock;
  }

  cursor(): Cursor {
    this.durable.readTo(this.feed.through);
    return { ...this.key, ...this.durable.progress(), selector: this.#selector, savedMs: this.#clock.now() };
  }
}

const LIMITS = { window: FABRIC_LIMITS.window, deliveries: FABRIC_LIMITS.redeliveries };

/** Up to where a subscription is not interested. */
async function start(from: From | null, events: EventLog, clock: Clock): Promise<number> {
  switch (from?.kind) {
    case undefined:
      return events.last();
    case 'first':
      return 0;
    case 'position':
      return Math.min(from.position, events.last());
    case 'time':
      return events.positionBefore(from.atMs);
    case 'ago':
      return events.positionBefore(clock.now() - from.ms);
  }
}

function failed(request: ReplayRequest, error: unknown, log: FabricLog, receipt: string | null): void {
  const told = error instanceof MusterError ? error : new MusterError('internal', {}, { cause: error });
  if (told !== error) log.error({ err: error, org: request.org }, 'a replay failed');
  request.subscriber.fail(told, receipt);
}
