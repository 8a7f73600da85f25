import {
  type Accept,
  type Channel,
  type ChannelHandlers,
  type ConnectOptions,
  connectChannel,
  type Listener,
  type ListenOptions,
  listenForChannels,
} from '@muster/fabric';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../../platform/test/support/tls.js';

export { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY };

/** One end of a connection, with all that happened to it. */
export class End {
  readonly received: Buffer[] = [];
  drains = 0;
  closes: (Error | null)[] = [];
  channel: Channel | null = null;
  #waiting: (() => void)[] = [];

  readonly handlers: ChannelHandlers = {
    data: (bytes) => {
      this.received.push(Buffer.from(bytes));
      this.#wake();
    },
    drained: () => {
      this.drains++;
      this.#wake();
    },
    closed: (error) => {
      this.closes.push(error);
      this.#wake();
    },
  };

  get open(): Channel {
    if (this.channel === null) throw new Error('not connected');
    return this.channel;
  }

  get bytes(): number {
    return this.received.reduce((sum, each) => sum + each.length, 0);
  }

  get text(): string {
    return Buffer.concat(this.received).toString();
  }

  /** Until that holds; looked at whenever something happens. */
  async until(holds: (end: End) => boolean): Promise<void> {
    while (!holds(this)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export const closed = (end: End): boolean => end.closes.length > 0;

export type Scheme = 'stomp' | 'stomp+tls' | 'ws' | 'wss';
export const SCHEMES: readonly Scheme[] = ['stomp', 'stomp+tls', 'ws', 'wss'];

/** Everything that a test opened, to be closed after it. */
export class World {
  #undo: (() => unknown)[] = [];

  defer(undo: () => unknown): void {
    this.#undo.push(undo);
  }

  async end(): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) await undo();
  }

  async listen(url: string, accept: Accept, options: ListenOptions = {}): Promise<Listener> {
    const own: Accept = (channel) => {
      this.defer(() => channel.destroy());
      return accept(channel);
    };
    const tls = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY };
    const listener = await listenForChannels(url, { tls, ...options }, own);
    this.defer(() => listener.close());
    return listener;
  }

  async connect(url: string, end = new End(), options: ConnectOptions = {}): Promise<End> {
    end.channel = await connectChannel(url, { tls: { ca: TEST_CERTIFICATE }, ...options }, end.handlers);
    this.defer(() => end.channel?.destroy());
    return end;
  }

  /** Both ends of one connection. */
  async pair(scheme: Scheme, options: ListenOptions & ConnectOptions = {}): Promise<{ client: End; server: End }> {
    const server = new End();
    const { tls: _, ...both } = options;
    let accepted = () => {};
    const here = new Promise<void>((resolve) => {
      accepted = resolve;
    });
    const accept: Accept = (channel) => {
      server.channel = channel;
      accepted();
      return server.handlers;
    };
    const { url } = await this.listen(`${scheme}://localhost:0`, accept, both);
    const client = await this.connect(url, new End(), both);
    await here;
    return { client, server };
  }
}
