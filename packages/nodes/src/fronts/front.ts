import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@muster/base';
import type { Transport } from '../transport.js';
import { encodeLink, LINK_LIMITS, LINK_PROTOCOL, LinkError, LinkReader } from './frames.js';

export interface NodeFrontDeps {
  /** The sockets of this process. */
  readonly sockets: Transport;
  readonly clock: Clock;
  readonly log: { info(detail: object, message: string): void; warn(detail: object, message: string): void };
  readonly incarnation: string;
  readonly name: string;
  /** How many nodes it is to have, relative to other servers. */
  readonly weight: number;
  /** How nodes reach what listens there. */
  readonly advertised: (endpoints: { readonly heartbeat: string; readonly command: string }) => {
    readonly heartbeat: string;
    readonly command: string;
  };
  /** Opens a stream to the leader. Rejects when there is none, or it does not take it. */
  readonly dial: () => Promise<Duplex>;
}

/** Between attempts to reach the leader. */
const RETRY_MS = 500;

/**
 * Connections of nodes to a server that follows. It knows nobody: whom the leader admits may connect, what they say goes to the leader, and
 * what that says goes to them.
 */
export class NodeFront {
  readonly #deps: NodeFrontDeps;
  /** CURVE keys, as latin1, and until when they may connect, by the monotonic clock. */
  readonly #admitted = new Map<string, number>();
  #link: Duplex | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(deps: NodeFrontDeps) {
    this.#deps = deps;
  }

  /** @throws MusterError `address_in_use` */
  async start(): Promise<void> {
    const { sockets, clock, advertised, name, weight, incarnation } = this.#deps;
    const endpoints = await sockets.start({
      received: (channel, [identity, ...frames]) => {
        if (channel !== 'curve' || identity === undefined) return;
        this.#say(encodeLink({ kind: 'message', identity, frames: frames as never }));
      },
      admits: (curveKey) => (this.#admitted.get(keyText(curveKey)) ?? Number.NEGATIVE_INFINITY) > clock.monotonic(),
      sendDropped: () => undefined,
      connectionClosed: () => undefined,
    });
    const { curvePublicKey } = endpoints;
    const hello = {
      protocol: LINK_PROTOCOL,
      incarnation,
      name,
      weight,
      curvePublicKey,
      ...advertised(endpoints),
    } as const;
    const first = encodeLink({ kind: 'hello', hello });
    this.#dial(first);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#link?.destroy();
    await this.#deps.sockets.stop();
  }

  #dial(first: Buffer): void {
    const again = (): void => {
      if (!this.#stopped) this.#timer = this.#deps.clock.after(RETRY_MS, () => this.#dial(first));
    };
    this.#deps.dial().then(
      (stream) => {
        if (this.#stopped) return void stream.destroy();
        this.#open(stream, first, again);
      },
      // There is no leader, or not yet.
      again,
    );
  }

  #open(stream: Duplex, first: Buffer, again: () => void): void {
    const reader = new LinkReader();
    this.#link = stream;
    stream.on('error', () => stream.destroy());
    stream.on('close', () => {
      if (this.#link === stream) this.#link = null;
      again();
    });
    stream.on('data', (chunk: Buffer) => {
      try {
        for (const message of reader.read(chunk)) this.#heard(message);
      } catch (error) {
        if (!(error instanceof LinkError)) throw error;
        this.#deps.log.warn({ err: error }, 'the link with the leader was closed');
        stream.destroy();
      }
    });
    stream.write(first);
  }

  #heard(message: Parameters<typeof encodeLink>[0]): void {
    const { sockets, clock } = this.#deps;
    switch (message.kind) {
      case 'admit':
        this.#admit(message.curveKey, clock.monotonic() + message.forMs);
        this.#say(encodeLink({ kind: 'admitted', number: message.number }));
        return;
      case 'message': {
        const { identity, frames } = message;
        sockets.send({ channel: 'curve', identity }, () => frames);
        return;
      }
      case 'publish':
        sockets.publish('curve', message.frames);
        return;
      case 'hang up':
        sockets.hangUp({ channel: 'curve', identity: message.identity });
        return;
      default:
        throw new LinkError(`a message that leaders do not send: ${message.kind}`);
    }
  }

  #admit(curveKey: Uint8Array, until: number): void {
    const key = keyText(curveKey);
    this.#admitted.delete(key);
    this.#admitted.set(key, until);
    // The oldest come first, and end first.
    const now = this.#deps.clock.monotonic();
    for (const [known, end] of this.#admitted) {
      if (end > now) break;
      this.#admitted.delete(known);
    }
  }

  /** What cannot be said is lost, as on a connection that broke: nodes and the leader say again what matters. */
  #say(bytes: Buffer): void {
    const link = this.#link;
    if (link === null) return;
    if (link.writableLength > LINK_LIMITS.unsentBytes) link.destroy();
    else link.write(bytes);
  }
}

function keyText(curveKey: Uint8Array): string {
  return Buffer.from(curveKey.buffer, curveKey.byteOffset, curveKey.byteLength).toString('latin1');
}
