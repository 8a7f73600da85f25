import { systemClock } from '@muster/base';
import type { ServerConfig } from '@muster/platform/config';
import { type App, type EventStreams, HTTP_LIMITS, listen } from '@muster/platform/http';
import type { Layer } from '@muster/platform/layers';

export interface HttpLayerDeps {
  readonly config: Pick<ServerConfig, 'http'>;
  readonly tls: boolean;
  readonly streams: EventStreams;
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
    this.#url = await listen(this.app, this.#deps.config.http.listen, this.#deps.tls);
  }

  /** Streams never end by themselves, so they go first; then whoever is being answered has a while to hear the rest. */
  async stop(): Promise<void> {
    const { streams, alongside } = this.#deps;
    const { app } = this;
    if (app === null) return;
    streams.shutdown();
    const deadline = systemClock.after(HTTP_LIMITS.drainMs, () => app.server.closeAllConnections());
    try {
      await Promise.all([app.close(), ...alongside.map((layer) => layer.stop?.())]);
    } finally {
      deadline.cancel();
    }
  }
}
