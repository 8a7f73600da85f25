import { type Clock, LoopTurn, type Timer, TurnShare } from '@muster/base';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../metrics/metrics.js';
import { HTTP_LIMITS } from './limits.js';
import { admissionOf } from './passage.js';
import { type SeatLimits, Seats } from './seats.js';

export interface ServerSentEvent {
  readonly event: string;
  readonly id: string;
  /** Sent as JSON on one line. */
  readonly data: unknown;
}

/** Why a stream ended; the label of `muster_event_streams_closed_total`. */
export type StreamEnd = 'finished' | 'failed' | 'reader_left' | 'reader_slow' | 'reader_denied' | 'shutdown';

/** One reader's stream of events (sheet §7.10). */
export interface EventStream {
  readonly closed: boolean;
  /** False once the stream is closed; a reader that does not keep up is disconnected, never waited for. */
  send(event: ServerSentEvent): boolean;
  /** Ends the stream after what was sent. */
  end(): void;
  /** More was to come and cannot: the connection breaks, so that nobody takes what was sent for all there was. */
  fail(): void;
  /** Called once, however the stream ends; at once when it already has. */
  onClose(listener: (end: StreamEnd) => void): void;
}

export interface EventStreamOptions {
  /** Between comment lines that keep proxies from closing an idle stream. */
  readonly keepaliveMs: number;
  readonly bufferBytes?: number;
}

/**
 * All open event streams of the process, so that a stop ends every one of them, and the loss of the right to read ends those
 * of the reader. Whatever holds an answer open takes its place here.
 */
export class EventStreams {
  readonly #clock: Clock;
  readonly #closed;
  readonly #seats: Seats;
  readonly #open = new Set<{ close(end: StreamEnd): void }>();
  /** For reading and sending what they show. */
  readonly share: TurnShare;
  #stopping = false;

  constructor(deps: {
    readonly clock: Clock;
    readonly metrics: Metrics;
    readonly limits?: SeatLimits;
  }) {
    this.#seats = new Seats(deps.limits ?? { all: HTTP_LIMITS.streams, perReader: HTTP_LIMITS.streamsPerPrincipal });
    this.share = new TurnShare(LoopTurn.of(deps.clock));
    this.#clock = deps.clock;
    this.#closed = deps.metrics.counter('muster_event_streams_closed_total', 'Event streams that ended, by cause', [
      'cause',
    ]);
    deps.metrics.gauge('muster_event_streams', 'Event streams open', [], (gauge) => gauge.set(this.#open.size));
  }

  /**
   * A place among the streams for an answer that is none, but stays open like one. Returns how to give it back.
   * @param denied the reader has lost the right to it: it is to break off, so that nobody takes it for complete.
   * @throws MusterError `too_busy` over the limits of streams.
   */
  seat(request: FastifyRequest, denied: () => void): () => void {
    const admission = admissionOf(request);
    const leave = this.#seats.take(admission.reader);
    const release = admission.watch(denied);
    return () => {
      release();
      leave();
    };
  }

  /**
   * Takes the reply over. Everything that can be refused must be checked before.
   * @throws MusterError `too_busy` over the limits of streams.
   */
  open(reply: FastifyReply, options: EventStreamOptions): EventStream {
    const leave = this.seat(reply.request, () => close('reader_denied'));
    const bufferBytes = options.bufferBytes ?? HTTP_LIMITS.streamBufferBytes;
    reply.hijack();
    const response = reply.raw;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    response.flushHeaders();

    let ended: StreamEnd | undefined;
    let keepalive: Timer | undefined;
    const listeners: ((end: StreamEnd) => void)[] = [];
    const close = (end: StreamEnd): void => {
      if (ended !== undefined) return;
      ended = end;
      keepalive?.cancel();
      this.#open.delete(stream);
      leave();
      this.#closed.inc({ cause: end });
      if (end === 'reader_slow' || end === 'failed' || end === 'reader_denied') response.destroy();
      else if (!response.writableEnded) response.end();
      for (const listener of listeners) listener(end);
    };
    const arm = (): void => {
      keepalive?.cancel();
      keepalive = this.#clock.after(options.keepaliveMs, () => write(':keepalive\n\n'));
    };
    const write = (text: string): boolean => {
      if (ended !== undefined) return false;
      response.write(text);
      if (response.writableLength > bufferBytes) {
        close('reader_slow');
        return false;
      }
      arm();
      return true;
    };
    const stream = {
      get closed() {
        return ended !== undefined;
      },
      send: (event: ServerSentEvent) =>
        write(`event: ${event.event}\nid: ${event.id}\ndata: ${JSON.stringify(event.data)}\n\n`),
      end: () => close('finished'),
      fail: () => close('failed'),
      onClose: (listener: (end: StreamEnd) => void) => {
        if (ended === undefined) listeners.push(listener);
        else listener(ended);
      },
      close,
    };
    this.#open.add(stream);
    response.on('close', () => close('reader_left'));
    response.on('error', () => close('reader_left'));
    arm();
    // While it was found out whether and what the reader may read, the reader may have gone, or the server begun to stop.
    if (response.closed) close('reader_left');
    else if (this.#stopping) close('shutdown');
    return stream;
  }

  /** Ends every stream, also those that are yet to come, for a stop of the server. */
  shutdown(): void {
    this.#stopping = true;
    for (const stream of [...this.#open]) stream.close('shutdown');
  }
}
