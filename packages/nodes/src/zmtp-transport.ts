import { type Clock, LoopTurn, TurnShare } from '@muster/base';
import type { ServerConfig } from '@muster/platform/config';
import { z85Encode } from '@muster/wire';
import { connectionsOf, openFilesLimit } from './descriptors.js';
import { NODE_LIMITS } from './limits.js';
import { Outbox } from './outbox.js';
import type { Channel, Handlers, Transport } from './transport.js';
import { newBoxKeys } from './zmtp/box.js';
import { Intake } from './zmtp/intake.js';
import { Listener } from './zmtp/listener.js';
import { Publisher } from './zmtp/publisher.js';
import { Router } from './zmtp/router.js';
import { Seats } from './zmtp/seats.js';

export interface ZmtpSettings {
  readonly heartbeat: string;
  readonly command: string;
  readonly plain: { readonly heartbeat: string; readonly command: string } | null;
  readonly maxBodySize: number;
  readonly clock: Clock;
  /** Told when a socket fails; a process without its sockets should end. */
  readonly failed: (error: unknown) => void;
}

interface Pair {
  readonly publisher: Publisher;
  readonly router: Router;
  readonly outbox: Outbox;
  readonly listeners: readonly Listener[];
  readonly heartbeat: string;
  readonly command: string;
}

/** What the settings of a server say. `failed`: a socket did; the process should end. */
export function nodeSockets(
  config: Pick<ServerConfig, 'heartbeat' | 'command' | 'spec1'>,
  { clock, failed }: Pick<ZmtpSettings, 'clock' | 'failed'>,
): Transport {
  const { heartbeat, command } = config.spec1;
  return createZmtpTransport({
    heartbeat: config.heartbeat.listen,
    command: config.command.listen,
    plain: heartbeat !== undefined && command !== undefined ? { heartbeat, command } : null,
    maxBodySize: config.command.max_body_size,
    clock,
    failed,
  });
}

/**
 * The sockets of sheet §3.1: PUB for the server's heartbeat, ROUTER with CURVE for commands. They are our own ends of
 * ZMTP rather than libzmq's, which bounds neither the frames of a message nor the subscriptions, connections and addresses
 * of those who come, and takes four times the memory for a connection.
 */
export function createZmtpTransport(settings: ZmtpSettings): Transport {
  const curve = newBoxKeys();
  const pairs = new Map<Channel, Pair>();
  // One for all sockets: the descriptors are the process's.
  const seats = new Seats(connectionsOf(openFilesLimit()));
  const turn = LoopTurn.of(settings.clock);
  const intake = new Intake(new TurnShare(turn));

  async function open(channel: Channel, heartbeat: string, command: string, handlers: Handlers): Promise<Pair> {
    const publisher = new Publisher();
    const router = new Router((frames) => handlers.received(channel, frames));
    const common = {
      seats,
      intake,
      clock: settings.clock,
      admits: handlers.admits,
      refused: handlers.connectionClosed,
      failed: settings.failed,
    };
    const beats = await Listener.open({
      ...common,
      address: heartbeat,
      socketType: 'PUB',
      peers: ['SUB', 'XSUB'],
      curve: null,
      frameLimit: NODE_LIMITS.subscriptionBytes,
      opened: (connection) => publisher.opened(connection),
      closed: (connection) => publisher.closed(connection),
    });
    try {
      const commands = await Listener.open({
        ...common,
        address: command,
        socketType: 'ROUTER',
        peers: ['DEALER', 'REQ', 'ROUTER'],
        curve: channel === 'curve' ? curve : null,
        frameLimit: settings.maxBodySize * NODE_LIMITS.oversizeFactor,
        opened: (connection) => router.opened(connection),
        closed: (connection) => router.closed(connection),
      });
      return {
        publisher,
        router,
        outbox: new Outbox(router, handlers.sendDropped, turn),
        listeners: [beats, commands],
        heartbeat: beats.endpoint,
        command: commands.endpoint,
      };
    } catch (error) {
      await beats.close();
      throw error;
    }
  }

  async function close(): Promise<void> {
    const open = [...pairs.values()];
    pairs.clear();
    for (const pair of open) pair.outbox.close();
    await Promise.all(open.flatMap((pair) => pair.listeners).map((listener) => listener.close()));
  }

  return {
    async start(handlers) {
      try {
        const main = await open('curve', settings.heartbeat, settings.command, handlers);
        pairs.set('curve', main);
        let plain: { heartbeat: string; command: string } | null = null;
        if (settings.plain !== null) {
          const pair = await open('plain', settings.plain.heartbeat, settings.plain.command, handlers);
          pairs.set('plain', pair);
          plain = { heartbeat: pair.heartbeat, command: pair.command };
        }
        const curvePublicKey = z85Encode(curve.publicKey);
        return { heartbeat: main.heartbeat, command: main.command, curvePublicKey, plain };
      } catch (error) {
        await close();
        throw error;
      }
    },
    send(peer, seal) {
      pairs.get(peer.channel)?.outbox.push(peer.identity, seal);
    },
    publish(channel, frames) {
      pairs.get(channel)?.publisher.publish(frames);
    },
    hangUp(peer) {
      pairs.get(peer.channel)?.router.hangUp(peer.identity);
    },
    stop: close,
  };
}
