/**
 * Every limit of the wire, by name. Bytes are bytes of UTF-8; times say their unit.
 * Where the deployed Push Jobs has a figure, it is that one (sheet §0.3, §3.8).
 */
export const LIMITS = {
  /** Header frame (sheet §3.5). */
  headerBytes: 2048,
  /** Body of a message from a node, unless configured (sheet §3.8). */
  bodyBytes: 65_536,
  /** Body of a message to a node: a whole REST body (sheet §1.5) and its envelope fit. */
  serverBodyBytes: 1_200_000,
  /** Clock difference accepted in messages; the difference must be below it (sheet §3.5). */
  messageSkewMs: 300_000,
  /** Decoded size of a job's file (sheet §7.5). */
  fileBytes: 100_000,
  /** Most bytes of output in one native `output` message; base64 of it fits the body limit. */
  outputChunkBytes: 32 * 1024,
  /** A script that comes with a job. */
  scriptBytes: 1_048_576,
  /** Its arguments, and all of them together in bytes. */
  scriptArguments: 256,
  scriptArgumentBytes: 16_384,
  /** Files that one job puts on its nodes, and the bytes of a path on a node. */
  uploads: 16,
  pathBytes: 4096,
  /** Secrets of one job. */
  secrets: 16,
  /** In the file of one. */
  secretsInFile: 50,
  /** Of a task and its queue together. */
  taskSecrets: 32,
  /** A signature of RSA with 16,384 bits, base64. */
  signatureBytes: 2736,
  /** Keys of the server that came after the one that a node knows: an answer with them is some 130 KiB. */
  serverKeyLinks: 64,
  /** Job ids (sheet §4.1). */
  jobIdBytes: 64,
  /** Names of nodes, organizations and servers, and incarnation ids. */
  nameBytes: 255,
  /** Reasons are cut to this, never refused. */
  reasonBytes: 1024,
  /** Facts, and as many labels, of one node. */
  facts: 256,
  /** One textual fact or label. */
  factBytes: 4096,
  /** A sleep or dummy_job longer than this is refused. */
  builtinSeconds: 7 * 24 * 3600,
  /** Allowed commands of one node that are told, and each of their names and patterns. */
  commands: 256,
  commandNameBytes: 1024,
  /** All of them together, so that they fit the smallest body. */
  commandsBytes: 32_768,
  /** Variables in a command's environment. */
  envEntries: 1024,
  /** Session keys (sheet §2.4). */
  sessionKeyBytes: 32,
  /** Ids of tasks and of queues. */
  taskIdBytes: 64,
  /** Tasks in one list of one message. */
  tasksAtOnce: 1024,
  /** Tasks that one node holds. */
  tasksHeld: 4096,
  /** Plugins of one node. */
  plugins: 256,
  /** Queues that a node names in its configuration. */
  queuesNamed: 256,
  /** Output of a task that comes with its result; longer output is streamed. */
  inlineOutputBytes: 16_384,
  /** An address in the node configuration. */
  addressBytes: 1024,
} as const;
