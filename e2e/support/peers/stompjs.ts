import { connect, type Socket } from 'node:net';
import { Client, type IFrame, type IStompSocket } from '@stomp/stompjs';
import { WebSocket } from 'ws';
import type { Happening, Order, Pairs, Peer } from './peer.js';

const RECONNECT_MS = 100;

/** `@stomp/stompjs`, over whatever socket it is given. */
export class StompJsPeer implements Peer {
  readonly happenings: Happening[] = [];
  readonly #client: Client;
  readonly #open: (port: number) => IStompSocket;
  readonly #subscriptions: Extract<Order, { order: 'subscribe' }>[] = [];

  constructor(open: (port: number) => IStompSocket) {
    this.#open = open;
    this.#client = new Client({
      reconnectDelay: RECONNECT_MS,
      onConnect: ({ headers }) => {
        // As the library wants it: programs subscribe again themselves.
        for (const each of this.#subscriptions) this.#subscribe(each);
        this.#tell({ event: 'connected', headers });
      },
      onStompError: ({ headers }) => this.#tell({ event: 'error', headers }),
      onUnhandledReceipt: ({ headers }) => this.#tell({ event: 'receipt', id: headers['receipt-id'] ?? '' }),
      onHeartbeatReceived: () => this.#tell({ event: 'beat' }),
      onHeartbeatLost: () => this.#tell({ event: 'silent' }),
      onWebSocketClose: () => this.#tell({ event: 'disconnected' }),
    });
  }

  obey(order: Order): void {
    const client = this.#client;
    switch (order.order) {
      case 'connect':
        client.configure({
          webSocketFactory: () => this.#open(order.port),
          connectHeaders: { login: order.login, passcode: order.passcode },
          heartbeatIncoming: order.heartBeatMs,
          heartbeatOutgoing: order.heartBeatMs,
        });
        client.activate();
        return;
      case 'subscribe':
        this.#subscriptions.push(order);
        this.#subscribe(order);
        return;
      case 'send':
        client.publish({ destination: '/topic/events', headers: plain(order.headers), body: order.body });
        return;
      case 'ack':
      case 'nack': {
        const { ack = '', subscription = '' } = order.message;
        client[order.order](ack, subscription);
        return;
      }
      case 'begin':
        client.begin(order.transaction);
        return;
      case 'commit':
      case 'abort':
        client[order.order](order.transaction);
        return;
      case 'disconnect':
        void client.deactivate();
    }
  }

  stop(): Promise<void> {
    return this.#client.deactivate({ force: true });
  }

  #subscribe({ id, ack, headers }: Extract<Order, { order: 'subscribe' }>): void {
    const told = (message: IFrame) => {
      this.#tell({ event: 'message', headers: message.headers, body: message.body });
    };
    this.#client.subscribe('/topic/events', told, { ...plain(headers), id, ack });
  }

  #tell(happening: Happening): void {
    this.happenings.push(happening);
  }
}

function plain(headers: Pairs): Record<string, string> {
  return Object.fromEntries(headers);
}

export function webSocketTo(url: string): IStompSocket {
  return new WebSocket(url, ['v12.stomp', 'v11.stomp', 'v10.stomp']) as unknown as IStompSocket;
}

/** The library knows WebSockets only; to it this is one. */
export class TcpSocket implements IStompSocket {
  readonly url: string;
  readyState = 0;
  onopen: IStompSocket['onopen'];
  onclose: IStompSocket['onclose'];
  onerror: IStompSocket['onerror'];
  onmessage: IStompSocket['onmessage'];
  readonly #socket: Socket;

  constructor(port: number) {
    this.url = `tcp://127.0.0.1:${port}`;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('connect', () => {
      this.readyState = 1;
      this.onopen?.();
    });
    this.#socket.on('data', (bytes) => {
      this.onmessage?.({ data: new Uint8Array(bytes).buffer });
    });
    this.#socket.on('error', (error) => this.onerror?.(error));
    this.#socket.on('close', () => {
      this.readyState = 3;
      this.onclose?.({ code: 1000, reason: '', wasClean: true });
    });
  }

  send(data: string | ArrayBufferLike | Blob | ArrayBufferView): void {
    if (typeof data === 'string') this.#socket.write(data);
    else if (ArrayBuffer.isView(data))
      this.#socket.write(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    else throw new Error('neither text nor bytes');
  }

  close(): void {
    this.readyState = 2;
    this.#socket.end();
  }

  terminate(): void {
    this.#socket.destroy();
  }
}
