/**
 * How a connection begins, and what its frames look like from then on. One object for each connection; commands and
 * frames come as ZMTP has cut them.
 */
export interface Mechanism {
  /** Takes one command of the peer's. @throws ProtocolError */
  handshake(command: Buffer): Handshake;
  /** What the peer hears once it was let in. */
  welcome(): Buffer;
  /** What it hears when it was not; null when there is nothing to say. */
  refusal(): Buffer | null;
  /** One frame after the handshake, in the clear. `body` is the caller's only until the next one. @throws ProtocolError */
  open(flags: number, body: Buffer): { readonly flags: number; readonly body: Buffer };
  /** Bytes that a frame with a body of this length takes. */
  sealedSize(bodyLength: number): number;
  /** Writes the frame at `at`; returns where it ends. */
  seal(out: Buffer, at: number, flags: number, body: Uint8Array): number;
}

export type Handshake =
  | { readonly do: 'reply'; readonly reply: Buffer }
  /** The peer has said all. `key`: its proven CURVE key, which has to be admitted; null without CURVE. */
  | { readonly do: 'admit'; readonly key: Buffer | null; readonly socketType: string };
