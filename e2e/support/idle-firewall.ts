import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A path that forgets connections over which nothing has passed for a while, as firewalls and address translators do:
 * from then on what either end sends is swallowed, and neither is told.
 */
export class IdleFirewall {
  /** Port on 127.0.0.1 that leads to the target. */
  readonly port: number;
  /** Connections that were forgotten for being idle. */
  forgotten = 0;
  readonly #server: Server;
  readonly #idleMs: number;
  readonly #sockets = new Set<Socket>();
  readonly #forget = new Set<() => void>();

  private constructor(server: Server, target: number, idleMs: number) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#idleMs = idleMs;
    server.on('connection', (near) => this.#accept(near, target));
  }

  static async open(target: number, idleMs: number): Promise<IdleFirewall> {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new IdleFirewall(server, target, idleMs);
  }

  /** Forgets all connections of now; new ones pass. */
  restart(): void {
    for (const forget of this.#forget) forget();
    this.#forget.clear();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(near: Socket, target: number): void {
    const far = connect({ port: target, host: '127.0.0.1', noDelay: true });
    let known = true;
    const forget = (): void => {
      known = false;
    };
    this.#forget.add(forget);
    const idle = setTimeout(() => {
      forget();
      this.forgotten += 1;
    }, this.#idleMs);
    const pass = (from: Socket, to: Socket): void => {
      this.#sockets.add(from);
      from.on('data', (bytes: Buffer) => {
        if (!known) return;
        idle.refresh();
        to.write(bytes);
      });
      // An end is forgotten as well: the other side hears nothing of it.
      from.on('close', () => {
        this.#sockets.delete(from);
        clearTimeout(idle);
        if (known) to.destroy();
      });
      from.on('error', () => from.destroy());
    };
    pass(near, far);
    pass(far, near);
  }
}
