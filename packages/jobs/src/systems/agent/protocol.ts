import { FileTrouble, SystemTrouble, type TroubleKind } from '../types.js';

/**
 * What a worker and the helper on a node say to each other: requests of HTTP/2, without TLS of its own, over the one
 * connection that the agent passes on. HTTP/2 brings frames, many requests at once, flow control and pings.
 *
 * Each is a POST. What is asked is JSON in the body, for `write` in the header `ASK`; the answer is JSON, for `read` bytes, for
 * `watch` a byte for each time that something has changed.
 */
export const PATHS = {
  exec: '/exec',
  stat: '/stat',
  list: '/list',
  read: '/read',
  write: '/write',
  makeDirectory: '/make-directory',
  remove: '/remove',
  watch: '/watch',
} as const;

/** Of a request to write: percent-encoded JSON. */
export const ASK = 'muster-ask';
/** Of an answer to `write`: from which byte on the source is wanted. None: nothing more is. */
export const FROM = 'muster-from';
/** A trailer of what is sent as bytes: `whole`, or `broken` when its source failed. None: the connection did. */
export const END = 'muster-end';

/** The protocol of the connection, as HTTP/1.1 calls it in `Upgrade`. */
export const UPGRADE = 'muster-system';

export const AGENT_LIMITS = {
  /** Bytes of what is asked, but for the bytes of files. */
  ask: 4 * 1024 * 1024,
  /** Bytes of an answer, but for the bytes of files: two outputs of a command, each character escaped. */
  answer: 16 * 1024 * 1024,
  /** Requests at once that a helper takes; others wait. */
  streams: 1200,
  /** Directories that are watched on one connection. */
  watches: 1000,
  /** What changes within this time is told once. */
  changesMs: 100,
  /** Until a watch that broke is tried again, at first and at most. */
  watchAgainMs: 5_000,
  watchAgainLongestMs: 60_000,
  /** Bytes that are on their way, of one file and of all. */
  window: 1024 * 1024,
  allWindows: 8 * 1024 * 1024,
  /** Mebibytes that a connection may hold in memory. */
  memory: 64,
  /** Until one request about files is answered. */
  requestMs: 120_000,
  /** Beyond the time of a command, until it is told that it was over. */
  marginMs: 10_000,
} as const;

export interface ExecAsk {
  readonly argv: readonly [string, ...string[]];
  readonly input: string;
  readonly timeoutMs: number;
  readonly environment: Readonly<Record<string, string>>;
}

export interface WriteAsk {
  readonly path: string;
  readonly mode?: number;
  readonly size?: number;
}

/** An error, as it travels. */
export interface ToldError {
  readonly error: {
    readonly name: 'FileTrouble' | 'SystemTrouble' | 'Error';
    /** Of a file: its problem; of a system: its kind. */
    readonly kind: string;
    readonly path: string;
    readonly message: string;
  };
}

export function toldError(error: unknown): ToldError {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, 2000);
  if (error instanceof FileTrouble) {
    return { error: { name: 'FileTrouble', kind: error.problem, path: error.path, message } };
  }
  if (error instanceof SystemTrouble) {
    return { error: { name: 'SystemTrouble', kind: error.kind, path: '', message } };
  }
  return { error: { name: 'Error', kind: '', path: '', message } };
}

const PROBLEMS = [
  'NOT_FOUND',
  'NOT_PERMITTED',
  'NOT_A_DIRECTORY',
  'NOT_A_FILE',
  'NAME_TOO_LONG',
  'WRONG_SIZE',
  'INVALID_PATH',
] as const;
/** What a helper may say of its system; of the way to it, it knows nothing. */
const KINDS: readonly TroubleKind[] = ['CONNECTION_TIMEOUT', 'TRANSMISSION_FAILURE', 'DISK_FULL', 'SCHEDULER_BUSY'];

/** The error that a helper told of. @param system As it is called here. */
export function readError(system: string, answer: unknown): Error {
  const told = field(answer, 'error');
  const [kind, path, message] = [field(told, 'kind'), field(told, 'path'), field(told, 'message')];
  const text = typeof message === 'string' ? message.slice(0, 2000) : 'it does not say why';
  const problem = PROBLEMS.find((one) => one === kind);
  if (field(told, 'name') === 'FileTrouble' && problem !== undefined && typeof path === 'string') {
    return new FileTrouble(path.slice(0, 4096), problem, text);
  }
  const trouble = KINDS.find((one) => one === kind);
  if (field(told, 'name') === 'SystemTrouble' && trouble !== undefined) return new SystemTrouble(system, trouble, text);
  return new SystemTrouble(system, 'TRANSMISSION_FAILURE', `system ${system} failed: ${text}`);
}

export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** All of a stream, as JSON. @throws RangeError when it is longer, SyntaxError when it is none, Error when nothing came */
export async function readJson(stream: AsyncIterable<Buffer>, most: number): Promise<unknown> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream) {
    bytes += piece.length;
    if (bytes > most) throw new RangeError(`more than ${most} bytes came`);
    pieces.push(piece);
  }
  if (bytes === 0) throw new Error('it broke off before it began');
  return JSON.parse(Buffer.concat(pieces).toString('utf8'));
}
