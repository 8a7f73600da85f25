import type { NodeConfiguration } from '@muster/wire';
import type { CommandSocket, ReceivingSocket, SocketEvent, Sockets } from '../../src/link/sockets.js';

/** Receives nothing until it is closed. */
class SilentSocket implements ReceivingSocket {
  closed = false;
  #close: () => void = () => undefined;
  readonly #closing = new Promise<void>((resolve) => {
    this.#close = resolve;
  });

  close(): void {
    this.closed = true;
    this.#close();
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly Buffer[]> {
    return { next: () => this.#closing.then(() => ({ done: true, value: undefined })) };
  }
}

/** A command socket whose connection fares as the test tells it. */
export class FakeChannel extends SilentSocket implements CommandSocket {
  linger = 0;
  readonly tell: (event: SocketEvent) => void;
  readonly sent: (readonly Uint8Array[])[] = [];

  constructor(tell: (event: SocketEvent) => void) {
    super();
    this.tell = tell;
  }

  async send(frames: readonly Uint8Array[]): Promise<void> {
    this.sent.push(frames);
  }
}

/** A network on which nothing arrives. */
export class FakeSockets implements Sockets {
  /** Every command socket ever opened, newest last. */
  readonly channels: FakeChannel[] = [];

  curveKeys() {
    return { publicKey: 'public', secretKey: 'secret' };
  }

  subscribe(): ReceivingSocket {
    return new SilentSocket();
  }

  deal(_configuration: NodeConfiguration, _curve: unknown, tell: (event: SocketEvent) => void): CommandSocket {
    const channel = new FakeChannel(tell);
    this.channels.push(channel);
    return channel;
  }

  /** Those not closed: never more than one. */
  get open(): readonly FakeChannel[] {
    return this.channels.filter(({ closed }) => !closed);
  }
}
