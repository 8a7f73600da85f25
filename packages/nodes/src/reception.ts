import type { Clock } from '@muster/base';
import type { BoundedLog } from '@muster/platform/upkeep';
import {
  checkSizes,
  claimedSender,
  type Dialect,
  type DropCause,
  Dropped,
  dialectOfHeader,
  dialects,
  type OpenedAgentMessage,
} from '@muster/wire';
import { Flow } from './flow.js';
import type { KnownNode } from './known-node.js';
import type { NodeMetrics } from './metrics.js';
import type { VerifiedMessage } from './ports.js';
import type { Roster } from './roster.js';
import { type AgreedSession, candidates, promote } from './sessions.js';
import { type Channel, peerKey } from './transport.js';

export interface ReceptionDeps {
  readonly roster: Roster;
  readonly clock: Clock;
  readonly metrics: NodeMetrics;
  readonly log: BoundedLog;
  readonly maxBodySize: number;
  readonly maxSkewMs: number;
  /** A verified message. `reconnected`: it came over a connection that was not known to be this node's. */
  readonly verified: (message: VerifiedMessage, reconnected: boolean) => void;
}

/**
 * From raw frames to verified messages, in the order of sheet §3.5. A connection says nothing about its sender, so the
 * first message names the node and must verify under a session of that node; only then is the connection remembered.
 * Whatever does not verify leaves no state behind and is dropped, counted by cause and logged at a bounded rate.
 */
export class Reception {
  readonly #deps: ReceptionDeps;
  readonly #flow: Flow;
  readonly #byPeer = new Map<string, KnownNode>();

  constructor(deps: ReceptionDeps) {
    this.#deps = deps;
    this.#flow = new Flow(deps.clock);
  }

  /** Connections known to be a node's. */
  get connections(): number {
    return this.#byPeer.size;
  }

  /** Never throws: nothing a peer sends may end the receive loop. */
  received(channel: Channel, frames: readonly Uint8Array[]): void {
    const { clock, metrics, log } = this.#deps;
    let node: KnownNode | undefined;
    try {
      const [identity, header, body, extra] = frames;
      if (identity === undefined || header === undefined || body === undefined || extra !== undefined) {
        throw new Dropped('frames');
      }
      const key = peerKey(channel, identity);
      const known = this.#byPeer.get(key);
      node = known;
      if (!this.#flow.admits(key, known, frames)) throw new Dropped('rate_limited');
      checkSizes(header, body, this.#deps.maxBodySize);
      const dialect = dialectFor(channel, header);
      node ??= this.#claimed(body);
      const { agreed, opened } = this.#open(node, dialect, header, body);
      if (opened.envelope.node !== node.name || opened.envelope.org !== node.org.name) {
        throw new Dropped('unknown_node');
      }
      if (known === undefined) {
        if (!this.#flow.identified(key, node, frames)) throw new Dropped('rate_limited');
        this.#remember(node, key, channel, identity);
      }
      promote(node.sessions, agreed);
      metrics.received(opened.message.type);
      this.#deps.verified({ node, dialect, ...opened }, known === undefined);
    } catch (error) {
      if (error instanceof Dropped) this.#drop(error.why, node);
      else log.warn('reception', { err: error, node: node?.name, at: clock.now() }, 'a message could not be handled');
    }
  }

  /** The node's connection and sessions are no longer its own. */
  forget(node: KnownNode): void {
    if (node.peer !== null) this.#byPeer.delete(peerKey(node.peer.channel, node.peer.identity));
    node.peer = null;
    node.sessions.current = null;
    node.sessions.next = null;
  }

  #claimed(body: Uint8Array): KnownNode {
    const sender = claimedSender(body);
    if (sender === null) throw new Dropped('parse_fail');
    const found = this.#deps.roster.claimed(sender.org, sender.node);
    if (typeof found === 'string') throw new Dropped(found);
    return found;
  }

  #open(
    node: KnownNode,
    dialect: Dialect,
    header: Uint8Array,
    body: Uint8Array,
  ): { agreed: AgreedSession; opened: OpenedAgentMessage } {
    const limits = { now: this.#deps.clock.now(), maxSkewMs: this.#deps.maxSkewMs };
    // Made only when it is thrown: an error takes a picture of the stack.
    let refused: Dropped | null = null;
    for (const agreed of candidates(node.sessions, dialect, limits.now)) {
      try {
        return { agreed, opened: dialects[dialect].openAgent(header, body, agreed.session, limits) };
      } catch (error) {
        // Only a wrong key is a reason to try the other one.
        if (!(error instanceof Dropped) || error.why !== 'bad_sig') throw error;
        refused = error;
      }
    }
    throw refused ?? new Dropped('no_session');
  }

  #remember(node: KnownNode, key: string, channel: Channel, identity: Uint8Array): void {
    if (node.peer !== null) this.#byPeer.delete(peerKey(node.peer.channel, node.peer.identity));
    this.#byPeer.set(key, node);
    node.peer = { channel, identity };
  }

  #drop(cause: DropCause, node: KnownNode | undefined): void {
    const { metrics, log, clock } = this.#deps;
    metrics.messageDropped(cause);
    if (node !== undefined) node.diagnostics.dropped = { at: clock.now(), cause };
    log.warn(`dropped:${cause}`, { cause, node: node?.name, org: node?.org.name }, 'dropped a message from a node');
  }
}

/** Spec 1.0 only over its own unencrypted sockets, the others only over CURVE. */
function dialectFor(channel: Channel, header: Uint8Array): Dialect {
  const dialect = dialectOfHeader(header);
  if (dialect === null || (dialect === 'spec1') !== (channel === 'plain')) throw new Dropped('bad_header');
  return dialect;
}
