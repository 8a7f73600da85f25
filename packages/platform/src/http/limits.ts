/** Limits of the HTTP layer that are not settings. Times are milliseconds. */
export const HTTP_LIMITS = {
  /** Whole request, headers and body; a slower sender gets 408. */
  requestTimeoutMs: 60_000,
  headersTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  /** 10,000 nodes asking for their configuration at once, and as many readers. */
  connections: 20_000,
  /** One URL parameter after decoding; names have at most 255 characters. */
  paramLength: 512,
  /** Of a body that is too large, this much is read and thrown away so that the sender gets to see the 413. */
  drainBytes: 16_777_216,
  /** How long a graceful stop waits for requests in flight. */
  drainMs: 10_000,
  /** Unsent bytes after which a reader of an event stream is disconnected. */
  streamBufferBytes: 1_048_576,
  /** Event streams and followed outputs open at once, in all and of one principal. */
  streams: 10_000,
  streamsPerPrincipal: 500,
  /** Shorter answers are sent as they are. */
  compressedBytes: 16 * 1024,
  /** Of a message to an answer that comes over a WebSocket, to which nothing need be said. */
  webSocketRequestBytes: 1024,
  /** An end that is not heard by then is not waited for. */
  webSocketCloseMs: 2000,
  /** A refusal of somebody who proved nothing comes no sooner after the request has, so that its time tells nothing. */
  refusalMs: 50,
  /** The same of a name and a password that were asked of a directory, which takes longer for names that it knows. */
  signInRefusalMs: 1000,
  /** Text from a request that is repeated in an error. */
  echoedCharacters: 200,
  /** Signatures whose unsigned query is remembered: 10,000 deployed clients that restart several times within half an hour. */
  unsignedQueries: 50_000,
  /** Requests a second are an average of so long. */
  rateSeconds: 10,
  /** Addresses, and principals, whose requests are counted. */
  ratesKept: 50_000,
  /** How long after it was first seen a signature may come with further queries, and with how many. */
  sameSignatureMs: 2000,
  queriesOfSignature: 10,
} as const;
