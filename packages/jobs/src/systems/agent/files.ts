import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { addAbortSignal, Readable } from 'node:stream';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { checkedPath, removable } from '../paths.js';
import type { FileEntry, Files } from '../types.js';
import { type Asking, headOf } from './ask.js';
import { AGENT_LIMITS, ASK, END, FROM, PATHS, type WriteAsk } from './protocol.js';

const Count = Type.Integer({ minimum: 0 });
const Entry = Type.Object({
  path: Type.String({ maxLength: 4096 }),
  name: Type.String({ maxLength: 4096 }),
  type: Type.Union([Type.Literal('file'), Type.Literal('dir'), Type.Literal('link'), Type.Literal('other')]),
  length: Count,
  modified: Type.Number(),
  mode: Type.Integer({ minimum: 0, maximum: 0o777 }),
});

/** Files of a node below the root of a system, by the helper there, which follows no link out of it. */
export class AgentFiles implements Files {
  readonly #asking: Asking;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  async stat(path: string): Promise<FileEntry | null> {
    const found = await this.#asking.ask(PATHS.stat, { path: checkedPath(path) });
    if (found === null || Value.Check(Entry, found)) return found;
    throw this.#asking.misunderstood();
  }

  async list(
    path: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<FileEntry[] | null> {
    const found = await this.#asking.ask(PATHS.list, { path: checkedPath(path), limit, offset });
    if (found === null) return null;
    if (Array.isArray(found) && found.length <= limit && found.every((one) => Value.Check(Entry, one))) return found;
    throw this.#asking.misunderstood();
  }

  async read(path: string, { start = 0, end }: { readonly start?: number; readonly end?: number } = {}) {
    const asking = this.#asking;
    checkedPath(path);
    const stream = await asking.link.request(PATHS.read);
    try {
      await asking.within(stream, AGENT_LIMITS.requestMs, async () => {
        const head = headOf(stream);
        stream.end(JSON.stringify({ path, start, ...(Number.isSafeInteger(end) && { end }) }));
        const told = await head;
        if (told?.[':status'] !== 200) await asking.answer(stream, told);
      });
    } catch (error) {
      stream.close();
      throw error;
    }
    return Readable.from(this.#pieces(stream), { objectMode: false });
  }

  async write(
    path: string,
    source: (from: number) => Readable | Promise<Readable>,
    { mode, size, signal }: { readonly mode?: number; readonly size?: number; readonly signal?: AbortSignal },
  ): Promise<number> {
    signal?.throwIfAborted();
    const ask: WriteAsk = {
      path: checkedPath(path),
      ...(mode !== undefined && { mode }),
      ...(size !== undefined && { size }),
    };
    const headers = { [ASK]: encodeURIComponent(JSON.stringify(ask)) };
    const stream = await this.#asking.link.request(PATHS.write, headers, true);
    try {
      return await this.#written(stream, source, signal);
    } finally {
      stream.close();
    }
  }

  async makeDirectory(path: string, mode = 0o700): Promise<void> {
    await this.#asking.ask(PATHS.makeDirectory, { path: checkedPath(path), mode });
  }

  async remove(path: string): Promise<void> {
    await this.#asking.ask(PATHS.remove, { path: removable(path) });
  }

  async *#pieces(stream: ClientHttp2Stream): AsyncGenerator<Buffer> {
    let end: unknown = null;
    stream.once('trailers', (trailers: IncomingHttpHeaders) => {
      end = trailers[END];
    });
    try {
      yield* stream;
    } catch (error) {
      throw this.#asking.link.lost(error);
    } finally {
      stream.close();
    }
    if (end !== 'whole') throw this.#asking.link.lost();
  }

  async #written(
    stream: ClientHttp2Stream,
    source: (from: number) => Readable | Promise<Readable>,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const asking = this.#asking;
    let broken: { readonly error: unknown } | null = null;
    stream.once('wantTrailers', () => {
      if (!stream.destroyed) stream.sendTrailers({ [END]: broken === null ? 'whole' : 'broken' });
    });
    const head = await asking.within(stream, AGENT_LIMITS.requestMs, () => headOf(stream));
    if (head !== null && head[FROM] !== undefined) {
      // A source that breaks is told of: the helper then has settled what becomes of the bytes that it has.
      broken = await this.#sent(stream, Number(head[FROM]), source, signal).then(
        () => null,
        (error: unknown) => ({ error }),
      );
    }
    stream.end();
    try {
      const size = await asking.within(stream, AGENT_LIMITS.requestMs, () => asking.answer(stream, head));
      if (typeof size === 'number') return size;
      throw asking.misunderstood();
    } catch (error) {
      signal?.throwIfAborted();
      throw broken === null ? error : broken.error;
    }
  }

  async #sent(
    stream: ClientHttp2Stream,
    from: number,
    source: (from: number) => Readable | Promise<Readable>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (!Number.isSafeInteger(from) || from < 0) throw this.#asking.misunderstood();
    const bytes = await source(from);
    // What the helper has said already, such as that the disk is full, ends it.
    const said = (): void => void bytes.destroy();
    stream.once('readable', said);
    stream.once('close', said);
    for await (const piece of signal === undefined ? bytes : addAbortSignal(signal, bytes)) {
      if (!stream.write(piece)) await drained(stream, () => this.#asking.link.lost());
    }
  }
}

function drained(stream: ClientHttp2Stream, lost: () => Error): Promise<void> {
  return new Promise((resolve, reject) => {
    const closed = (): void => reject(lost());
    if (stream.destroyed) return closed();
    stream.once('close', closed);
    stream.once('drain', () => {
      stream.off('close', closed);
      resolve();
    });
  });
}
