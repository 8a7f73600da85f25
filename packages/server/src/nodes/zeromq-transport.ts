import { MusterError } from '@muster/wire';
import { Context, curveKeyPair, type Publisher, type Router } from 'zeromq';
import { NODE_LIMITS } from './limits.js';
import { Outbox } from './outbox.js';
import { LeanPublisher, LeanRouter } from './small-buffers.js';
import type { Channel, Handlers, Transport } from './transport.js';
import { serveZap } from './zap.js';

export interface ZeromqSettings {
  readonly heartbeat: string;
  readonly command: string;
  readonly plain: { readonly heartbeat: string; readonly command: string } | null;
  readonly maxBodySize: number;
  /** Told when a socket fails; a process without its sockets should end. */
  readonly failed: (error: unknown) => void;
}

const ZAP_DOMAIN = 'muster';
/** A connection that has not finished its handshake by then is closed. */
const HANDSHAKE_MS = 10_000;
/** Seconds: a vanished peer is noticed, and its queue given up, after about two minutes. */
const KEEPALIVE = { tcpKeepalive: 1, tcpKeepaliveIdle: 60, tcpKeepaliveInterval: 15, tcpKeepaliveCount: 4 };

interface Pair {
  readonly publisher: Publisher;
  readonly router: Router;
  readonly outbox: Outbox;
  readonly receiving: Promise<void>;
  readonly heartbeat: string;
  readonly command: string;
}

/**
 * The sockets of sheet §3.1: PUB for the server's heartbeat, ROUTER with CURVE for commands, and the ZAP handler that
 * guards it. Its own ZeroMQ context, because the handler's address is fixed per context.
 */
export function createZeromqTransport(settings: ZeromqSettings): Transport {
  const context = new Context();
  const curve = curveKeyPair();
  const pairs = new Map<Channel, Pair>();
  let zap: { close(): Promise<void> } | null = null;

  async function open(channel: Channel, heartbeat: string, command: string, handlers: Handlers): Promise<Pair> {
    const publisher = new LeanPublisher({ context, linger: 0, ipv6: isIpv6(heartbeat) });
    publisher.sendHighWaterMark = NODE_LIMITS.peerQueue;
    publisher.sendTimeout = 0;
    // TCP keepalive rather than ZMTP's ping: deployed agents on libzmq 4.0 would receive a ping as a message.
    const router = new LeanRouter({
      context,
      linger: 0,
      mandatory: true,
      sendTimeout: 0,
      sendHighWaterMark: NODE_LIMITS.peerQueue,
      backlog: NODE_LIMITS.backlog,
      maxMessageSize: settings.maxBodySize * NODE_LIMITS.oversizeFactor,
      handshakeInterval: HANDSHAKE_MS,
      ...KEEPALIVE,
      ipv6: isIpv6(command),
    });
    if (channel === 'curve') {
      router.curveServer = true;
      router.curveSecretKey = curve.secretKey;
      router.zapDomain = ZAP_DOMAIN;
      // Without it libzmq lets every key in while nobody answers at the ZAP address.
      router.zapEnforceDomain = true;
    }
    try {
      await bind(publisher, heartbeat);
      await bind(router, command);
    } catch (error) {
      publisher.close();
      router.close();
      throw error;
    }
    return {
      publisher,
      router,
      outbox: new Outbox(router, handlers.sendDropped),
      receiving: receive(router, channel, handlers).catch(settings.failed),
      heartbeat: publisher.lastEndpoint ?? heartbeat,
      command: router.lastEndpoint ?? command,
    };
  }

  async function close(): Promise<void> {
    for (const pair of pairs.values()) {
      pair.outbox.close();
      pair.publisher.close();
      pair.router.close();
    }
    await Promise.all([...pairs.values()].map((pair) => pair.receiving));
    pairs.clear();
    await zap?.close();
    zap = null;
  }

  return {
    async start(handlers) {
      zap = await serveZap(context, handlers.admits, settings.failed);
      try {
        const main = await open('curve', settings.heartbeat, settings.command, handlers);
        pairs.set('curve', main);
        let plain: { heartbeat: string; command: string } | null = null;
        if (settings.plain !== null) {
          const pair = await open('plain', settings.plain.heartbeat, settings.plain.command, handlers);
          pairs.set('plain', pair);
          plain = { heartbeat: pair.heartbeat, command: pair.command };
        }
        return { heartbeat: main.heartbeat, command: main.command, curvePublicKey: curve.publicKey, plain };
      } catch (error) {
        await close();
        throw error;
      }
    },
    send(peer, seal) {
      pairs.get(peer.channel)?.outbox.push(peer.identity, seal);
    },
    publish(channel, frames) {
      // PUB never waits: a subscriber that does not keep up misses beats.
      pairs
        .get(channel)
        ?.publisher.send([frames[0], frames[1]])
        .catch(() => undefined);
    },
    stop: close,
  };
}

/** Reads until the socket is closed. zeromq.js lets other work in after 512 messages in a row. */
async function receive(router: Router, channel: Channel, handlers: Handlers): Promise<void> {
  for await (const frames of router) handlers.received(channel, frames);
}

async function bind(socket: Publisher | Router, address: string): Promise<void> {
  try {
    // ZeroMQ's own spelling of "any free port" is a star.
    await socket.bind(address.replace(/:0$/, ':*'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MusterError('address_in_use', { address, reason }, { cause: error });
  }
}

function isIpv6(address: string): boolean {
  return address.includes('[');
}
