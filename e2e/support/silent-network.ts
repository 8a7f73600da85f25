import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

/**
 * A stretch of network that can be cut without either end being told, as a pulled cable or a dropping firewall does it:
 * nothing arrives, nothing is refused, no connection is closed, and new ones are taken up by nobody. When it is healed,
 * what was in flight arrives late, as TCP repeats it; `reset` instead breaks every connection at once.
 */
export class SilentNetwork {
  /** Port on 127.0.0.1 that leads to the target. */
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #waiting: Socket[] = [];
  #target: number | null = null;
  #cut = false;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (near) => this.#accept(near));
  }

  static async open(): Promise<SilentNetwork> {
    // As the server's own sockets: thousands may connect at once.
    const server = createServer({ pauseOnConnect: true }).listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
    await once(server, 'listening');
    return new SilentNetwork(server);
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Where it leads; known once the server has chosen its ports. */
  leadTo(port: number): void {
    this.#target = port;
  }

  cut(): void {
    this.#cut = true;
    for (const { near, far } of this.#pairs) {
      for (const socket of [near, far]) socket.pause();
    }
  }

  /** What clients say does not arrive any more; they still hear everything. */
  deafen(): void {
    for (const { near } of this.#pairs) near.pause();
  }

  heal(): void {
    this.#cut = false;
    for (const { near, far } of this.#pairs) {
      for (const socket of [near, far]) socket.resume();
    }
    for (const near of this.#waiting.splice(0)) this.#accept(near);
  }

  /** Breaks every connection, as a rebooted switch or a failed-over load balancer does it. */
  reset(): void {
    for (const { near, far } of this.#pairs) {
      for (const socket of [near, far]) socket.resetAndDestroy();
    }
    for (const near of this.#waiting.splice(0)) near.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.reset();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(near: Socket): void {
    near.on('error', () => undefined);
    if (this.#cut) {
      this.#waiting.push(near);
      return;
    }
    if (this.#target === null || near.destroyed) {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ port: this.#target, host: '127.0.0.1', noDelay: true });
    near.setNoDelay(true);
    const pair = { near, far };
    this.#pairs.add(pair);
    const over = (): void => {
      this.#pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    far.on('error', over);
    near.on('close', over);
    far.on('close', over);
    // Not `pipe`: it would resume what a cut has paused.
    this.#forward(near, far);
    this.#forward(far, near);
    near.resume();
  }

  #forward(from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      if (to.write(chunk)) return;
      from.pause();
      to.once('drain', () => {
        if (!this.#cut) from.resume();
      });
    });
    from.on('end', () => to.end());
  }
}
