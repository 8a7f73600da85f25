import { systemClock } from '@muster/base';
import { type App, type EventStreams, HTTP_LIMITS, listen } from '@muster/platform/http';
import type { Layer } from '@muster/platform/layers';

export interface HttpLayerDeps {
  /** HOST:PORT */
  readonly listen: string;
  readonly tls: boolean;
  readonly streams: EventStreams;
  /** Called before it listens. */
  readonly needed?: () => Promise<void>;
  /** Stopped while the last requests are answered, as some of these wait for what they do. */
  readonly alongside: readonly Layer[];
}

/** HTTP listens last and closes first. */
export class HttpLayer implements Layer {
  readonly #deps: HttpLayerDeps;
  /** To be set before the start, when everything that its routes show is loaded. */
  app: App | null = null;
  #url = '';

  constructor(deps: HttpLayerDeps) {
    this.#deps = deps;
  }

  /** Where it listens, once it does. */
  get url(): string {
    return this.#url;
  }

  /** @throws MusterError `address_in_use`. */
  async start(): Promise<void> {
    if (this.app === null) throw new Error('there is nothing to serve');
    await this.#deps.needed?.();
    this.#url = await listen(this.app, this.#deps.listen, this.#deps.tls);
  }

  /**
   * Streams never end by themselves, so they go first; then whoever is being answered has a while to hear the rest, also
   * when one of the others fails.
   * @throws AggregateError of what failed.
   */
  async stop(): Promise<void> {
    const { streams, alongside } = this.#deps;
    const { app } = this;
    if (app === null) return;
    streams.shutdown();
    const deadline = systemClock.after(HTTP_LIMITS.drainMs, () => app.server.closeAllConnections());
    const stopped = await Promise.allSettled([app.close(), ...alongside.map((layer) => layer.stop?.())]);
    deadline.cancel();
    const failures = stopped.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'HTTP did not stop cleanly');
  }
}

/** Stopped one after the other. */
export function inTurn(...layers: readonly Layer[]): Layer {
  return {
    async stop() {
      for (const layer of layers) await layer.stop?.();
    },
  };
}
