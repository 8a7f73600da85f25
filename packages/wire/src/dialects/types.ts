import type { RsaKey } from '@muster/signing';
import type {
  AgentEnvelope,
  AgentMessage,
  CommandOptions,
  Dialect,
  DropCause,
  ServerMessage,
} from '../messages/index.js';

/** A session: one key per node and configuration request, and counters in both directions. */
export interface Session {
  /** 32 bytes; unused by `spec1`. */
  readonly key: Uint8Array;
  /** Sequence of the last message sent; the first is 1. */
  sent: number;
  /** Highest sequence received. Native drops whatever is not above it. */
  received: number;
  /** Only `spec1` signs with RSA and has no session key (Push Jobs §7.1.1); its sessions must have this. */
  readonly rsa?: RsaPair;
}

export interface RsaPair {
  /** PEM of the other side's key. Who reads often, parses once. */
  readonly peerPublicKey: RsaKey;
  readonly ownPrivateKey: RsaKey;
}

/** A received message that must be dropped, with the cause for the counter. */
export class Dropped extends Error {
  override readonly name = 'Dropped';
  readonly why: DropCause;

  constructor(why: DropCause) {
    super(why);
    this.why = why;
  }
}

export interface OpenedAgentMessage {
  readonly envelope: AgentEnvelope;
  readonly message: AgentMessage;
}

/** Limits that apply while opening a message. */
export interface OpenLimits {
  /** Clock now, milliseconds. */
  readonly now: number;
  /** Accepted clock difference in milliseconds; the difference must be below it. */
  readonly maxSkewMs: number;
}

/** `[header, body]`, ready for the socket. */
export type Frames = readonly [header: Uint8Array, body: Uint8Array];

/**
 * One dialect. The server half encodes the body of a message once and seals it per node; the agent half is its mirror,
 * used by our agent (`native`) and by the test clients of the other dialects.
 */
export interface DialectCodec {
  readonly name: Dialect;
  /** May prepare and start be repeated harmlessly (N12)? Not with deployed chef2 clients. */
  readonly repeatable: boolean;
  /** What prepare carries besides the command. A client would run the command without what it does not know. */
  readonly options: readonly (keyof CommandOptions)[];
  /** The part that is the same for all recipients; null when the dialect has no such message. */
  encodeServer(message: ServerMessage, about: { readonly server: string; readonly now: number }): Uint8Array | null;
  sealServer(encoded: Uint8Array, session: Session): Frames;
  /** Verifies, checks time and (native) sequence, decodes. Throws Dropped. */
  openAgent(header: Uint8Array, body: Uint8Array, session: Session, limits: OpenLimits): OpenedAgentMessage;

  encodeAgent(
    message: AgentMessage,
    about: { readonly org: string; readonly node: string; readonly incarnation: string; readonly now: number },
    session: Session,
  ): Frames | null;
  openServer(header: Uint8Array, body: Uint8Array, session: Session, limits: OpenLimits): ServerMessage;
}

/** Who an unverified message claims to be from, to find the session that verifies it; null when unreadable. */
export interface ClaimedSender {
  readonly org: string;
  readonly node: string;
}
