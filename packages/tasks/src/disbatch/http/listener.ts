import { systemClock } from '@muster/base';
import { type App, HTTP_LIMITS, listen } from '@muster/platform/http';
import type { Layer } from '@muster/platform/layers';

/** The command interface's own listener, as long as the server runs. */
export class DisbatchListener implements Layer {
  readonly #address: string;
  readonly #tls: boolean;
  readonly #create: () => Promise<App>;
  #app: App | null = null;
  #url = '';

  constructor(address: string, tls: boolean, create: () => Promise<App>) {
    this.#address = address;
    this.#tls = tls;
    this.#create = create;
  }

  /** Where it listens, once it does. */
  get url(): string {
    return this.#url;
  }

  /** @throws MusterError `address_in_use`. */
  async start(): Promise<void> {
    this.#app = await this.#create();
    this.#url = await listen(this.#app, this.#address, this.#tls);
  }

  /** Whoever is being answered has a while to hear the rest. */
  async stop(): Promise<void> {
    const app = this.#app;
    if (app === null) return;
    const deadline = systemClock.after(HTTP_LIMITS.drainMs, () => app.server.closeAllConnections());
    await app.close();
    deadline.cancel();
  }
}
