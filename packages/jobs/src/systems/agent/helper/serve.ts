import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type Duplex, Readable } from 'node:stream';
import type { Clock, Timer } from '@muster/base';
import { localExec } from '../../local/exec.js';
import { LocalFiles } from '../../local/files.js';
import { hold } from '../../local/held.js';
import { watchDirectory } from '../../local/local.js';
import { checkedPath, isWithin } from '../../paths.js';
import type { ExecResult, Files } from '../../types.js';
import { AGENT_LIMITS, ASK, END, FROM, field, PATHS, readJson, toldError } from '../protocol.js';
import * as read from './asked.js';

/** What of this machine is a system. */
export interface ServedSystem {
  readonly name: string;
  /** Absolute. Made when it is not there. */
  readonly root: string;
  /** What the node's owner allows, which is there: `root` is it, or below it. */
  readonly within: string;
}

/**
 * Serves one worker over one connection: files below the root, by what was found there and not by a path, and programs, all as the
 * user of this process. Resolves when the connection has ended; then nothing that it was asked for goes on.
 */
export function serveSystem(connection: Duplex, system: ServedSystem, clock: Clock): Promise<void> {
  const { streams, window, allWindows, memory } = AGENT_LIMITS;
  const server = createServer({
    settings: { maxConcurrentStreams: streams, initialWindowSize: window },
    maxSessionMemory: memory,
  });
  const helper = new Helper(system, clock);
  server.on('stream', (stream, headers) => void helper.answer(stream, headers));
  // What a connection does wrong ends it, and with it this.
  server.on('sessionError', () => undefined);
  return new Promise((resolve) => {
    const ended = (): void => {
      helper.stop();
      resolve();
    };
    connection.on('error', () => connection.destroy()).once('close', ended);
    server.on('session', (session) => {
      session.setLocalWindowSize(allWindows);
      session.once('close', ended);
    });
    server.emit('connection', connection);
  });
}

class Helper {
  readonly #system: ServedSystem;
  readonly #clock: Clock;
  readonly #files: Files;
  /** All that the owner allows: here the root itself is made. */
  readonly #allowed: Files;
  readonly #doing = new Set<AbortController>();

  constructor(system: ServedSystem, clock: Clock) {
    this.#system = system;
    this.#clock = clock;
    this.#files = new LocalFiles(system);
    this.#allowed = new LocalFiles({ name: system.name, root: system.within });
  }

  /** Nobody waits for anything any more. */
  stop(): void {
    for (const gone of this.#doing) gone.abort(new Error('the connection has ended'));
  }

  async answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const gone = new AbortController();
    this.#doing.add(gone);
    stream.on('error', () => undefined);
    stream.once('close', () => gone.abort(new Error('nobody waits for it any more')));
    try {
      await this.#done(stream, headers, gone.signal);
    } catch (error) {
      if (stream.closed || stream.destroyed) return;
      // Bytes were sent already: that their end is missing says that it failed.
      if (stream.headersSent && headers[':path'] !== PATHS.write) return stream.close();
      say(stream, toldError(error), 500);
    } finally {
      this.#doing.delete(gone);
    }
  }

  async #done(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, signal: AbortSignal): Promise<void> {
    const path = headers[':path'];
    if (path === PATHS.write) return say(stream, await this.#write(stream, headers, signal));
    const ask = await readJson(stream, AGENT_LIMITS.ask);
    if (path === PATHS.read) return this.#read(stream, ask);
    if (path === PATHS.watch) return this.#watch(stream, ask);
    return say(stream, await this.#asked(path, ask, signal));
  }

  async #asked(path: unknown, ask: unknown, signal: AbortSignal): Promise<unknown> {
    switch (path) {
      case PATHS.exec:
        return this.#exec(ask, signal);
      case PATHS.stat:
        return this.#files.stat(read.text(ask, 'path'));
      case PATHS.list:
        return this.#files.list(read.text(ask, 'path'), {
          limit: read.count(ask, 'limit'),
          offset: read.count(ask, 'offset'),
        });
      case PATHS.makeDirectory:
        return this.#makeDirectory(read.text(ask, 'path'), read.optionalCount(ask, 'mode'));
      case PATHS.remove:
        await this.#files.remove(read.text(ask, 'path'));
        return null;
      default:
        throw new Error('this is nothing that a helper does; is the agent of another version?');
    }
  }

  #exec(ask: unknown, signal: AbortSignal): Promise<ExecResult> {
    const { name } = this.#system;
    const exec = localExec({ name, environment: read.variables(field(ask, 'environment')) }, this.#clock);
    return exec(read.words(field(ask, 'argv')), {
      input: read.text(ask, 'input'),
      timeoutMs: read.count(ask, 'timeoutMs'),
      signal,
    });
  }

  /** The root, and what is above it, is looked for below what the owner allows. */
  async #makeDirectory(path: string, mode: number | undefined): Promise<null> {
    const { root } = this.#system;
    await this.#allowed.makeDirectory(isWithin(path, root) ? path : root);
    if (!isWithin(path, root)) await this.#files.makeDirectory(path, mode);
    return null;
  }

  async #read(stream: ServerHttp2Stream, ask: unknown): Promise<void> {
    const start = read.count(ask, 'start');
    const end = read.optionalCount(ask, 'end');
    const bytes = await this.#files.read(read.text(ask, 'path'), { start, ...(end !== undefined && { end }) });
    stream.once('close', () => bytes.destroy());
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.once('wantTrailers', () => {
      if (!stream.destroyed) stream.sendTrailers({ [END]: 'whole' });
    });
    for await (const piece of bytes) {
      if (!stream.write(piece)) await drained(stream);
    }
    stream.end();
  }

  /** Until the stream is closed. */
  async #watch(stream: ServerHttp2Stream, ask: unknown): Promise<void> {
    const path = read.text(ask, 'path');
    const held = await hold(this.#system, checkedPath(path));
    let soon: Timer | null = null;
    const stop = watchDirectory(held.at, () => {
      soon ??= this.#clock.after(AGENT_LIMITS.changesMs, () => {
        soon = null;
        // One that nobody has read yet says the same.
        if (!stream.destroyed && stream.writableLength === 0) stream.write('.');
      });
    });
    stream.once('close', () => {
      soon?.cancel();
      stop();
    });
    await held.close();
    if (stream.destroyed) stop();
    else stream.respond({ ':status': 200 });
  }

  async #write(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, signal: AbortSignal): Promise<number> {
    const ask: unknown = JSON.parse(decodeURIComponent(String(headers[ASK] ?? '')));
    let end: unknown = null;
    stream.once('trailers', (trailers) => {
      end = trailers[END];
    });
    const source = (from: number): Readable => {
      stream.respond({ ':status': 200, [FROM]: String(from) });
      return Readable.from(
        whole(stream, () => end),
        { objectMode: false },
      );
    };
    const mode = read.optionalCount(ask, 'mode');
    const size = read.optionalCount(ask, 'size');
    return this.#files.write(read.text(ask, 'path'), source, {
      ...(mode !== undefined && { mode }),
      ...(size !== undefined && { size }),
      signal,
    });
  }
}

/** @throws Error at the end, when whoever sends it does not say that it is whole */
async function* whole(stream: AsyncIterable<Buffer>, end: () => unknown): AsyncGenerator<Buffer> {
  yield* stream;
  if (end() !== 'whole') throw new Error('the source of the file broke');
}

function drained(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve, reject) => {
    const closed = (): void => reject(new Error('nobody reads it any more'));
    if (stream.destroyed) return closed();
    stream.once('close', closed);
    stream.once('drain', () => {
      stream.off('close', closed);
      resolve();
    });
  });
}

function say(stream: ServerHttp2Stream, answer: unknown, status = 200): void {
  if (stream.closed || stream.destroyed) return;
  if (!stream.headersSent) stream.respond({ ':status': status });
  stream.end(JSON.stringify(answer ?? null));
}
