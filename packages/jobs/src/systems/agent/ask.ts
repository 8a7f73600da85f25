import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import type { Clock } from '@muster/base';
import { SystemTrouble } from '../types.js';
import type { AgentLink } from './link.js';
import { AGENT_LIMITS, readError, readJson } from './protocol.js';

export type Head = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** Requests to a helper, each bounded in time, its errors those of `Connection`. */
export class Asking {
  readonly system: string;
  readonly link: AgentLink;
  readonly #clock: Clock;

  constructor(system: string, link: AgentLink, clock: Clock) {
    this.system = system;
    this.link = link;
    this.#clock = clock;
  }

  /** One question, one answer. @throws FileTrouble, SystemTrouble; the reason of the signal when that is aborted */
  async ask(
    path: string,
    asked: object,
    { timeoutMs = AGENT_LIMITS.requestMs, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<unknown> {
    signal?.throwIfAborted();
    const stream = await this.link.request(path);
    const aborted = (): void => stream.close();
    signal?.addEventListener('abort', aborted, { once: true });
    try {
      signal?.throwIfAborted();
      return await this.within(stream, timeoutMs, async () => {
        const head = headOf(stream);
        stream.end(JSON.stringify(asked));
        return this.answer(stream, await head);
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', aborted);
      stream.close();
    }
  }

  /** What the JSON of an answer says. @throws what it tells of */
  async answer(stream: ClientHttp2Stream, head: Head | null): Promise<unknown> {
    if (head === null) throw this.link.lost();
    const value = await readJson(stream, AGENT_LIMITS.answer).catch((error: unknown) => {
      const read = error instanceof SyntaxError || error instanceof RangeError;
      throw read ? this.misunderstood(error) : this.link.lost(error);
    });
    if (head[':status'] === 200 && !isError(value)) return value;
    throw readError(this.system, value);
  }

  /** Its stream is closed when that takes too long. */
  async within<T>(stream: ClientHttp2Stream, timeoutMs: number, work: () => Promise<T>): Promise<T> {
    let late = false;
    const timer = this.#clock.after(timeoutMs, () => {
      late = true;
      stream.close();
    });
    try {
      return await work();
    } catch (error) {
      if (!late) throw error;
      const text = `system ${this.system} did not answer in ${timeoutMs} ms`;
      throw new SystemTrouble(this.system, 'CONNECTION_TIMEOUT', text, { cause: error });
    } finally {
      timer.cancel();
    }
  }

  misunderstood(cause?: unknown): SystemTrouble {
    const text = `system ${this.system} answered what is not understood; is its agent of another version?`;
    return new SystemTrouble(this.system, 'TRANSMISSION_FAILURE', text, { cause });
  }
}

const isError = (value: unknown): boolean => typeof value === 'object' && value !== null && 'error' in value;

/** The head of an answer; null: the stream closed without one. */
export function headOf(stream: ClientHttp2Stream): Promise<Head | null> {
  return new Promise((resolve) => {
    stream.once('response', resolve);
    stream.once('close', () => resolve(null));
  });
}
