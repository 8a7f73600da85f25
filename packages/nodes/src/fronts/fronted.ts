import type { Duplex } from 'node:stream';
import type { Clock } from '@muster/base';
import type { Frames } from '@muster/wire';
import type { Endpoints, Handlers, Peer, SocketChannel, Transport } from '../transport.js';
import {
  encodeLink,
  type Hello,
  IDENTITY_BYTES,
  LINK_LIMITS,
  LinkError,
  type LinkMessage,
  LinkReader,
} from './frames.js';
import { misplaced, type Spot, spotFor } from './placement.js';

/** Where a node is told to connect. */
export interface Place {
  readonly name: string;
  readonly heartbeat: string;
  readonly command: string;
  readonly curvePublicKey: string;
}

export interface FrontedDeps {
  /** The sockets of this process. */
  readonly own: Transport;
  /** Of this process. */
  readonly name: string;
  /** How many nodes it is to have, relative to other servers. */
  readonly weight: number;
  /** Names of servers that are to have no nodes. */
  readonly drained: () => ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: { info(detail: object, message: string): void; warn(detail: object, message: string): void };
}

interface Link {
  readonly hello: Hello;
  /** Before the numbers that the follower gives its connections: other followers give the same. */
  readonly prefix: Buffer;
  stream: Duplex | null;
  /** Nodes that were sent there. */
  readonly nodes: Set<string>;
  readonly admitting: Map<number, (admitted: boolean) => void>;
}

const PREFIX_BYTES = 4;

/** Of nodes that are elsewhere than they should be, one in so many is told at a time. */
const MOVED_PART = 100;
/** Who was told to move and did not is told again after so many rounds. */
const TOLD_ROUNDS = 60;

/**
 * The sockets of the server that leads a cluster, and those of its followers: a node that is connected to one of these is spoken to over the
 * link with it. Encryption, subscriptions and connections are the follower's; whose a message is, and whether it is genuine, is judged here.
 */
export class FrontedTransport implements Transport {
  readonly #deps: FrontedDeps;
  readonly #links = new Map<string, Link>();
  /** Nodes that were given an address of this process. */
  readonly #own = new Set<string>();
  #handlers: Handlers | null = null;
  /** The last heartbeat: who comes meanwhile is to hear it, too. */
  #beat: Frames | null = null;
  #detached = false;
  #made = 0;
  #asked = 0;
  /** Nodes that were told to ask where to connect, and have not asked yet. */
  readonly #told = new Set<string>();
  #round = 0;

  constructor(deps: FrontedDeps) {
    this.#deps = deps;
  }

  async start(handlers: Handlers): Promise<Endpoints> {
    this.#handlers = handlers;
    return this.#deps.own.start(handlers);
  }

  /** A link that another server of the cluster has opened. */
  attach(stream: Duplex): void {
    const { clock, log } = this.#deps;
    if (this.#detached) return void stream.destroy();
    const reader = new LinkReader();
    let link: Link | null = null;
    const timer = clock.after(LINK_LIMITS.answerMs, () => {
      if (link === null) stream.destroy();
    });
    stream.on('error', () => stream.destroy());
    stream.on('close', () => {
      timer.cancel();
      if (link !== null) this.#closed(link, stream);
    });
    stream.on('data', (chunk: Buffer) => {
      try {
        for (const message of reader.read(chunk)) {
          if (link !== null) this.#heard(link, message);
          else if (message.kind === 'hello') link = this.#opened(message.hello, stream);
          else throw new LinkError('a first message that is not the first');
        }
      } catch (error) {
        if (!(error instanceof LinkError)) throw error;
        log.warn({ err: error, server: link?.hello.name }, 'a link with a server of the cluster was closed');
        stream.destroy();
      }
    });
  }

  /**
   * Where this node is to connect, once it may: where it was, unless that is gone, drained or has many more than its share, else where there is most room.
   * null: to the sockets of this process.
   */
  async placeOf(node: string, curveKey: Uint8Array, forMs: number): Promise<Place | null> {
    const link = spotFor(node, this.#spots())?.link ?? null;
    // Before it is admitted: whoever asks meanwhile is to go elsewhere.
    this.#count(node, link?.nodes ?? this.#own);
    if (link === null) return null;
    if (await this.#admitted(link, curveKey, forMs)) {
      const { name, heartbeat, command, curvePublicKey } = link.hello;
      return { name, heartbeat, command, curvePublicKey };
    }
    this.#count(node, this.#own);
    return null;
  }

  /**
   * Nodes that are to ask again where to connect, as their server is drained, or another one has joined: few at a time, so that what they have to do goes on.
   * To be called once a second.
   */
  toMove(mayMove: (node: string) => boolean): readonly string[] {
    this.#round = (this.#round + 1) % TOLD_ROUNDS;
    if (this.#round === 0) this.#told.clear();
    const spots = this.#spots();
    const most = Math.ceil(spots.reduce((sum, { nodes }) => sum + nodes.size, 0) / MOVED_PART);
    const found = misplaced(spots, { told: this.#told, most, mayMove });
    for (const node of found) this.#told.add(node);
    return found;
  }

  /** It has no place until it asks for one. */
  forget(node: string): void {
    this.#told.delete(node);
    this.#own.delete(node);
    for (const { nodes } of this.#links.values()) nodes.delete(node);
  }

  send(peer: Peer, seal: () => Frames | null): void {
    const link = this.#linkOf(peer);
    if (link === null) return this.#deps.own.send(peer, seal);
    if (link.stream === null) return this.#handlers?.sendDropped('unreachable');
    if (link.stream.writableLength > LINK_LIMITS.unsentBytes) return this.#handlers?.sendDropped('peer_busy');
    const frames = seal();
    if (frames === null) return;
    link.stream.write(encodeLink({ kind: 'message', identity: peer.identity.subarray(PREFIX_BYTES), frames }));
  }

  publish(channel: SocketChannel, frames: Frames): void {
    this.#deps.own.publish(channel, frames);
    if (channel !== 'curve') return;
    this.#beat = frames;
    const bytes = encodeLink({ kind: 'publish', frames });
    for (const { stream } of this.#links.values()) stream?.write(bytes);
  }

  hangUp(peer: Peer): void {
    const link = this.#linkOf(peer);
    if (link === null) this.#deps.own.hangUp(peer);
    else link.stream?.write(encodeLink({ kind: 'hang up', identity: peer.identity.subarray(PREFIX_BYTES) }));
  }

  /** Ends all links, and takes no more. HTTP, over which they came, waits for their end. */
  detach(): void {
    this.#detached = true;
    for (const { stream } of this.#links.values()) stream?.destroy();
  }

  async stop(): Promise<void> {
    this.#handlers = null;
    this.detach();
    await this.#deps.own.stop();
  }

  /** How many nodes were told to connect to each server of the cluster that takes them now, this one (by this name) among them. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map([[this.#deps.name, this.#own.size]]);
    for (const { hello, nodes, stream } of this.#links.values())
      if (stream !== null) counts.set(hello.name, nodes.size);
    return counts;
  }

  #opened(hello: Hello, stream: Duplex): Link {
    const { log } = this.#deps;
    for (const [incarnation, { hello: known, stream: open }] of this.#links) {
      // A process that was started again under its name, or one that lost its link.
      if (known.name !== hello.name) continue;
      open?.destroy();
      if (incarnation !== hello.incarnation) this.#links.delete(incarnation);
    }
    if (!this.#links.has(hello.incarnation) && this.#links.size >= LINK_LIMITS.links)
      throw new LinkError('too many servers');
    const prefix = Buffer.alloc(PREFIX_BYTES);
    prefix.writeUInt32BE(++this.#made);
    const before = this.#links.get(hello.incarnation);
    const link = before ?? { hello, prefix, stream, nodes: new Set(), admitting: new Map() };
    link.stream = stream;
    this.#links.set(hello.incarnation, link);
    log.info({ server: hello.name, command: hello.command }, 'a server of the cluster takes connections of nodes');
    if (this.#beat !== null) stream.write(encodeLink({ kind: 'publish', frames: this.#beat }));
    return link;
  }

  #closed(link: Link, stream: Duplex): void {
    if (link.stream !== stream) return;
    link.stream = null;
    for (const done of link.admitting.values()) done(false);
    link.admitting.clear();
    this.#deps.log.info({ server: link.hello.name }, 'the link with a server of the cluster is gone');
  }

  #heard(link: Link, message: LinkMessage): void {
    switch (message.kind) {
      case 'message':
        this.#handlers?.received('curve', [Buffer.concat([link.prefix, message.identity]), ...message.frames]);
        return;
      case 'admitted':
        link.admitting.get(message.number)?.(true);
        return;
      default:
        throw new LinkError(`a message that followers do not send: ${message.kind}`);
    }
  }

  /** Until the follower has said so: a node that came sooner would be refused there. */
  #admitted(link: Link, curveKey: Uint8Array, forMs: number): Promise<boolean> {
    const { stream } = link;
    if (stream === null) return Promise.resolve(false);
    this.#asked = (this.#asked + 1) % 0xffff_ffff;
    const number = this.#asked;
    return new Promise((resolve) => {
      const done = (admitted: boolean): void => {
        timer.cancel();
        link.admitting.delete(number);
        resolve(admitted);
      };
      const timer = this.#deps.clock.after(LINK_LIMITS.answerMs, () => done(false));
      link.admitting.set(number, done);
      stream.write(encodeLink({ kind: 'admit', number, forMs, curveKey }));
    });
  }

  /** Where nodes can be sent now; `link` null: this process, which is the last when others have as much room. */
  #spots(): readonly (Spot & { readonly link: Link | null })[] {
    const { name, weight, drained } = this.#deps;
    const without = drained();
    const open = [...this.#links.values()].filter(({ stream }) => stream !== null);
    return [
      ...open.map((link) => ({
        ...{ link, nodes: link.nodes },
        weight: without.has(link.hello.name) ? 0 : (link.hello.weight ?? 1),
      })),
      { link: null, nodes: this.#own, weight: without.has(name) ? 0 : weight },
    ];
  }

  /** Among these, and no others. */
  #count(node: string, among: Set<string>): void {
    this.forget(node);
    among.add(node);
  }

  #linkOf({ identity }: Peer): Link | null {
    if (identity.length !== PREFIX_BYTES + IDENTITY_BYTES) return null;
    const prefix = identity.subarray(0, PREFIX_BYTES);
    for (const link of this.#links.values()) if (link.prefix.equals(prefix)) return link;
    // Of a follower that is gone for good: nobody is there.
    return GONE;
  }
}

const GONE: Link = {
  hello: { protocol: 1, incarnation: '', name: '', heartbeat: '', command: '', curvePublicKey: '' },
  prefix: Buffer.alloc(0),
  stream: null,
  nodes: new Set(),
  admitting: new Map(),
};
