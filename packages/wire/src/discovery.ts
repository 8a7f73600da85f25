import type { ServerKeyLink } from '@muster/signing';

/** What tells that the server is the one whose key the node knows. */
export interface ServerKeyProof {
  /** Base64, by `public_key`: this CURVE key and this incarnation are the server's. */
  readonly voucher: string;
  /** From the key that the node says it knows to `public_key`, the oldest first. */
  readonly links: ServerKeyLink[];
  /** To the key that is announced: it may sign from some time on. */
  readonly next?: ServerKeyLink;
}

/** The answer to a node's configuration request (sheet §2.3, Push Jobs §6.7), with the fields of both lineages. */
export interface NodeConfiguration {
  readonly type: 'config';
  readonly host: string;
  readonly push_jobs: {
    readonly heartbeat: {
      readonly out_addr: string;
      /** Where deployed clients look. */
      readonly command_addr: string;
      /** Seconds. */
      readonly interval: number;
      readonly offline_threshold: number;
      readonly online_threshold: number;
    };
    /** Where the spec shows it. */
    readonly command_addr: string;
  };
  readonly node: string;
  readonly organization: string;
  /** PEM, SPKI, ends with two newlines: verifies the server's heartbeats. */
  readonly public_key: string;
  /** Z85; absent only on the unencrypted spec 1.0 sockets. */
  readonly curve_public_key?: string;
  readonly encoded_session_key: { readonly method: 'hmac_sha256'; readonly key: string };
  /** Seconds. */
  readonly lifetime: number;
  readonly max_message_skew: number;
  readonly max_body_size: number;
  readonly incarnation_id: string;
  /** Most bytes kept per stream of a command's output. Ours; deployed clients ignore it. */
  readonly output_limit: number;
  /** By which the node knows the server again. Native only. */
  readonly server_key?: ServerKeyProof;
  /** Seconds over which the nodes spread their return to a restarted server; an interval when absent. Native only. */
  readonly return_within?: number;
  /** After a lost connection another server of its cluster may be the one to speak to. Native only; a server that is alone says nothing of it. */
  readonly clustered?: true;
}
