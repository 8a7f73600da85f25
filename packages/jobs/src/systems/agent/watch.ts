import type { ClientHttp2Stream } from 'node:http2';
import type { Clock, Timer } from '@muster/base';
import type { Connection } from '../types.js';
import type { Asking } from './ask.js';
import { AGENT_LIMITS, PATHS } from './protocol.js';

/** Watches directories of a node. Beyond so many at once nothing is told: who asks looks now and then all the same. */
export function agentWatch(asking: Asking, clock: Clock): NonNullable<Connection['watch']> {
  let watched = 0;
  return (directory, changed) => {
    if (watched >= AGENT_LIMITS.watches) return () => undefined;
    watched += 1;
    const watch = new Watch(asking, clock, directory, changed);
    let on = true;
    return () => {
      if (!on) return;
      on = false;
      watched -= 1;
      watch.stop();
    };
  };
}

/** One directory, for as long as it is wanted: also after the connection broke, and was made again. */
class Watch {
  readonly #asking: Asking;
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #changed: () => void;
  #stream: ClientHttp2Stream | null = null;
  #again: Timer | null = null;
  #pauseMs: number = AGENT_LIMITS.watchAgainMs;
  #broke = false;
  #stopped = false;

  constructor(asking: Asking, clock: Clock, directory: string, changed: () => void) {
    this.#asking = asking;
    this.#clock = clock;
    this.#directory = directory;
    this.#changed = changed;
    void this.#begin();
  }

  stop(): void {
    this.#stopped = true;
    this.#again?.cancel();
    this.#stream?.close();
  }

  async #begin(): Promise<void> {
    try {
      const stream = await this.#asking.link.request(PATHS.watch);
      this.#stream = stream;
      let refused = false;
      stream.once('response', (head) => {
        refused = head[':status'] !== 200;
        this.#pauseMs = AGENT_LIMITS.watchAgainMs;
        // Nobody knows what happened meanwhile.
        if (this.#broke) this.#changed();
      });
      stream.on('data', () => this.#changed());
      // A directory that is gone is not watched for.
      stream.once('close', () => {
        if (!refused) this.#later();
      });
      if (this.#stopped) stream.close();
      else stream.end(JSON.stringify({ path: this.#directory }));
    } catch {
      // Who uses the system is told by what else is asked of it.
      this.#later();
    }
  }

  #later(): void {
    if (this.#stopped) return;
    this.#broke = true;
    this.#again = this.#clock.after(this.#pauseMs, () => void this.#begin());
    this.#pauseMs = Math.min(this.#pauseMs * 2, AGENT_LIMITS.watchAgainLongestMs);
  }
}
