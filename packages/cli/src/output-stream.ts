import { setTimeout as sleep } from 'node:timers/promises';
import { bodyPieces } from './body.js';
import type { Query } from './client.js';
import { MusterError } from './errors.js';
import type { Answer } from './http.js';
import { Reopening } from './reopening.js';
import type { Call } from './shell.js';

/** What the server says about an output besides its bytes. */
export interface OutputInfo {
  /** Bytes that were written by the command but not kept: the middle of a very long output. */
  readonly dropped: number;
  /** After how many bytes; null: none were, or an older server does not say it. */
  readonly droppedAt: number | null;
  /** False while the command may still write, and when something else than the middle of too much is missing. */
  readonly complete: boolean;
  /** Why output of a command that has ended is not complete. */
  readonly missing: string | null;
}

export interface OutputReader {
  readonly onData: (data: Uint8Array) => Promise<void> | void;
  /** In between, where bytes were not kept. Not of what is followed. */
  readonly onGap?: (dropped: number) => Promise<void> | void;
  readonly signal?: AbortSignal;
}

/** Where a stream of output is read. */
export interface OutputPlace {
  readonly path: string;
  readonly query?: Query;
  /** The command that reads again what is kept. */
  readonly again: string;
}

/** Hands over the bytes of a stream as they arrive; null when the server has none. */
export type ReadStream = (place: OutputPlace, reader: OutputReader) => Promise<OutputInfo | null>;

interface Asked {
  readonly signal: AbortSignal;
  /** First byte, as counted by the command. */
  readonly from?: number;
  readonly follow?: true;
}

/** What is stored now. */
export function storedStream(call: Call<object>): ReadStream {
  return (place, { onData, onGap, signal: leave }) =>
    unlessNone(async () => {
      const signal = signalOfOne(leave);
      const answer = await ask(call, place, { signal });
      const info = infoOf(answer);
      for await (const data of withGap(bodyPieces(answer.body, signal), info.droppedAt)) {
        if (data === 'gap') await onGap?.(info.dropped);
        else await onData(data);
      }
      return info;
    });
}

/** Says when so many bytes have come. */
async function* withGap(
  pieces: AsyncIterable<Uint8Array>,
  droppedAt: number | null,
): AsyncGenerator<Uint8Array | 'gap'> {
  let left = droppedAt;
  for await (const data of pieces) {
    if (left === null || data.length <= left) {
      if (left !== null) left -= data.length;
      yield data;
      continue;
    }
    if (left > 0) yield data.subarray(0, left);
    yield 'gap';
    yield data.subarray(left);
    left = null;
  }
  if (left !== null) yield 'gap';
}

/**
 * What is stored, and then what comes, until the command has ended; a server that goes away in between is waited for.
 * @param what goes on meanwhile: `job`.
 */
export function followedStream(call: Call<object>, what: string): ReadStream {
  let away = false;
  /** Told once, however many streams broke. */
  const onTrouble = (reason: string | null): void => {
    if (reason !== null && !away) call.out.note(`${reason}; trying again, the ${what} goes on`);
    away = reason !== null;
  };
  return (place, { onData, signal: leave }) => {
    const signal = signalOfOne(leave);
    const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
    const reopening = new Reopening({ onTrouble, pause, now: () => call.world.now() });
    return unlessNone(() => follow(call, place, { onData, signal }, reopening));
  };
}

/** Each stream listens to its own: hundreds of listeners at one signal look like a leak to Node.js. */
function signalOfOne(leave: AbortSignal | undefined): AbortSignal {
  return AbortSignal.any(leave === undefined ? [] : [leave]);
}

async function follow(
  call: Call<object>,
  place: OutputPlace,
  { onData, signal }: Required<Omit<OutputReader, 'onGap'>>,
  reopening: Reopening,
): Promise<OutputInfo> {
  let from = 0;
  for (;;) {
    try {
      if (from > 0) await checkPosition(call, place, signal);
      const { body } = await ask(call, place, { signal, from, follow: true });
      reopening.opened();
      for await (const data of bodyPieces(body, signal)) {
        reopening.received();
        from += data.length;
        await onData(data);
      }
      const info = await infoAtEnd(call, place, signal);
      reopening.reached();
      // A server that stops ends in good order what it streams.
      if (info.complete || info.missing !== null || signal.aborted) return info;
    } catch (error) {
      if (signal.aborted) throw error;
      reopening.broke(error);
    }
    await reopening.pause();
  }
}

/**
 * Bytes received are a position only as long as none were left out before it.
 * @throws MusterError `output_position_lost`
 */
async function checkPosition(call: Call<object>, place: OutputPlace, signal: AbortSignal): Promise<void> {
  const { dropped } = await infoAtEnd(call, place, signal);
  if (dropped > 0) throw new MusterError('output_position_lost', { again: place.again });
}

/** What was followed has its headers from before its end: they are asked for again, without the bytes. */
async function infoAtEnd(call: Call<object>, place: OutputPlace, signal: AbortSignal): Promise<OutputInfo> {
  const answer = await ask(call, place, { signal, from: Number.MAX_SAFE_INTEGER });
  answer.body.destroy();
  return infoOf(answer);
}

function ask({ client }: Call<object>, { path, query }: OutputPlace, { signal, ...asked }: Asked): Promise<Answer> {
  return client.send('GET', path, {
    accept: 'application/octet-stream',
    endless: true,
    signal,
    query: { ...query, ...asked },
  });
}

async function unlessNone(read: () => Promise<OutputInfo>): Promise<OutputInfo | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof MusterError && error.status === 404) return null;
    throw error;
  }
}

function infoOf({ header }: Answer): OutputInfo {
  return {
    dropped: Number(header('x-muster-dropped-bytes') ?? 0),
    droppedAt: numberOf(header('x-muster-dropped-at')),
    complete: header('x-muster-complete') !== 'false',
    missing: header('x-muster-missing'),
  };
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text);
}
