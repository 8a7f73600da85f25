import { LIMITS, type NodeConfiguration } from '@muster/wire';
import { curveKeyPair, Dealer, Subscriber } from 'zeromq';
import { RECEIVE_BYTES, RECONNECT_FIRST_MS, RECONNECT_LONGEST_MS, SEND_HIGH_WATER, SEND_MS } from '../limits.js';

export interface CurveKeys {
  readonly publicKey: string;
  readonly secretKey: string;
}

/** Delivers what arrives, message by message, until it is closed. */
export interface ReceivingSocket extends AsyncIterable<readonly Buffer[]> {
  readonly closed: boolean;
  close(): void;
}

export interface CommandSocket extends ReceivingSocket {
  /** One at a time. Rejects when the socket does not take it within SEND_MS, or was closed. */
  send(frames: readonly Uint8Array[]): Promise<void>;
  /** How long what was sent last may take to leave once the socket is closed, in milliseconds. */
  linger: number;
}

/** What becomes of the connection under a command socket, which is made anew whenever it breaks. */
export type SocketEvent =
  | 'connected'
  | 'disconnected'
  /** The server said that it does not admit this key. */
  | 'refused'
  /** The server hung up in the middle of the handshake: it has new keys, or was too busy. */
  | 'rejected';

/** The network as the agent sees it. ZeroMQ in production, memory in the simulator. */
export interface Sockets {
  curveKeys(): CurveKeys;
  /** The server's heartbeats (sheet §3.1). */
  subscribe(configuration: NodeConfiguration): ReceivingSocket;
  /** Everything else. `tell` is called as things happen, never before this returns. */
  deal(configuration: NodeConfiguration, curve: CurveKeys, tell: (event: SocketEvent) => void): CommandSocket;
}

export const zeromqSockets: Sockets = {
  curveKeys: () => curveKeyPair(),

  subscribe(configuration) {
    const subscriber = new Subscriber({ linger: 0, maxMessageSize: LIMITS.bodyBytes });
    subscriber.subscribe();
    subscriber.connect(configuration.push_jobs.heartbeat.out_addr);
    return subscriber;
  },

  deal(configuration, curve, tell) {
    const dealer = new Dealer({
      linger: 0,
      sendHighWaterMark: SEND_HIGH_WATER,
      receiveHighWaterMark: 0,
      sendTimeout: SEND_MS,
      reconnectInterval: RECONNECT_FIRST_MS,
      reconnectMaxInterval: RECONNECT_LONGEST_MS,
      maxMessageSize: Math.max(RECEIVE_BYTES, LIMITS.serverBodyBytes),
      ...heartbeats(configuration.push_jobs.heartbeat.interval),
      ...(configuration.curve_public_key === undefined
        ? {}
        : {
            curveServerKey: configuration.curve_public_key,
            curvePublicKey: curve.publicKey,
            curveSecretKey: curve.secretKey,
          }),
    });
    dealer.events.on('handshake', () => tell('connected'));
    dealer.events.on('disconnect', () => tell('disconnected'));
    dealer.events.on('handshake:error:auth', () => tell('refused'));
    dealer.events.on('handshake:error:protocol', () => tell('refused'));
    dealer.events.on('handshake:error:other', () => tell('rejected'));
    dealer.connect(configuration.push_jobs.heartbeat.command_addr);
    return {
      send: (frames) => dealer.send([...frames]),
      get linger() {
        return dealer.linger;
      },
      set linger(ms) {
        dealer.linger = ms;
      },
      get closed() {
        return dealer.closed;
      },
      close: () => dealer.close(),
      [Symbol.asyncIterator]: () => dealer[Symbol.asyncIterator](),
    };
  },
};

/** ZeroMQ's own pings notice a dead connection that TCP would keep for hours. */
function heartbeats(intervalSeconds: number) {
  const interval = Math.min(Math.max(Math.round(intervalSeconds * 1000), 100), 60_000);
  return { heartbeatInterval: interval, heartbeatTimeout: interval * 3, heartbeatTimeToLive: interval * 3 };
}
