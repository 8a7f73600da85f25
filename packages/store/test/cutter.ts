import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to PostgreSQL that breaks or freezes, at once or right before or after a certain query. */
export interface Cutter {
  readonly url: string;
  readonly cuts: number;
  cutBefore(query: string): void;
  cutAfter(query: string): void;
  /** Connections stay and new ones are taken up, but nothing gets through. */
  freeze(): void;
  /** Freezes when the query is with the server and its answer is not back. */
  freezeAfter(query: string): void;
  /** What was held up arrives late. */
  thaw(): void;
  close(): Promise<void>;
}

/** Whether a simple query, which is 'Q', length, text and NUL, is among what is sent at once. */
function asks(data: Buffer, query: string): boolean {
  const text = Buffer.from(`${query}\0`);
  const head = Buffer.from([0x51, 0, 0, 0, text.length + 4]);
  return data.includes(Buffer.concat([head, text]));
}

export async function cutter(target: string): Promise<Cutter> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let plan: { readonly query: string; readonly when: 'before' | 'after' | 'freeze' } | null = null;
  let cuts = 0;
  let frozen = false;
  const freeze = (): void => {
    frozen = true;
    for (const socket of sockets) socket.pause();
  };

  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    let answerLost = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        // An orderly end: what the server has been told already is carried out.
        far.end();
      });
    }
    const cut = (): void => {
      if (!near.destroyed) cuts++;
      near.destroy();
    };
    near.on('data', (data: Buffer) => {
      if (plan !== null && asks(data, plan.query)) {
        const { when } = plan;
        plan = null;
        if (when === 'before') return cut();
        if (when === 'freeze') freeze();
        else answerLost = true;
      }
      far.write(data);
    });
    far.on('data', (data) => {
      if (answerLost) cut();
      else near.write(data);
    });
    if (frozen) for (const socket of [near, far]) socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    get cuts() {
      return cuts;
    },
    cutBefore: (query) => {
      plan = { query, when: 'before' };
    },
    cutAfter: (query) => {
      plan = { query, when: 'after' };
    },
    freeze,
    freezeAfter: (query) => {
      plan = { query, when: 'freeze' };
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
