import type { StoreLog } from '../types.js';
import { type Hear, Listeners } from './listeners.js';
import type { Hints } from './types.js';

/** For databases that one process has for itself. Hints arrive in another turn of the event loop, as they do elsewhere. */
export class LocalHints implements Hints {
  readonly #listeners: Listeners;

  constructor(log: StoreLog) {
    this.#listeners = new Listeners(log);
  }

  send(topic: string, text: string): void {
    setImmediate(() => this.#listeners.tell(topic, text));
  }

  async close(): Promise<void> {}

  listen(topic: string, hear: Hear): () => void {
    return this.#listeners.add(topic, hear, true);
  }
}
