import { MusterError } from '../errors.js';
import type { Replay, ReplayRequest } from '../session/broker.js';
import { CursorSaver, keyOf } from './durable/cursor-saver.js';
import { DurableReplay } from './durable/durable-replay.js';
import { PlainReplay, type ReplayPorts } from './plain-replay.js';
import type { CursorKey } from './ports.js';

/** All replays of the root: subscriptions that begin in the past, and durable ones. */
export class Replays {
  readonly #ports: ReplayPorts;
  readonly #saver: CursorSaver;
  /** The durable ones whose client is connected, by `keyOf`. */
  readonly #followed = new Map<string, DurableReplay>();
  /** Durable subscriptions that are being deleted: whoever subscribes to one now waits for that, and begins anew. */
  readonly #forgetting = new Map<string, Promise<boolean>>();

  constructor(ports: ReplayPorts) {
    this.#ports = ports;
    this.#saver = new CursorSaver(ports.cursors, ports.clock, ports.log);
  }

  start(request: ReplayRequest): Replay {
    if (request.durable === null) return new PlainReplay(request, this.#ports);
    const { org, principal, kind, durable: name } = request;
    const key = { org, principal, kind, name };
    const text = keyOf(key);
    // The newest connection gets it: an older one may be dead without anybody having noticed.
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
