import { type Client, connect, type PublishOptions } from '@muster/fabric/client';
import { signal } from '@preact/signals';
import { type ApiError, apiError } from '../api/errors.js';
import { type LiveEvent, liveEvent } from './event.js';

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** It is tried again by itself. */
  | { readonly state: 'lost'; readonly why: string }
  | { readonly state: 'closed'; readonly why: string };

/** How a subscription ends by itself. */
export type End =
  /** Events are missing: what was loaded is to be loaded again. */
  { readonly kind: 'gap' } | { readonly kind: 'refused'; readonly error: ApiError };

export interface Following {
  readonly selector: string;
  readonly from: string | number | undefined;
  /** Those that came within a moment, together. */
  readonly onEvents: (events: readonly LiveEvent[]) => void;
  readonly onEnd: (end: End) => void;
  /** Some that match are not delivered, as the session may not follow them. */
  readonly onNarrowed?: () => void;
}

/** Events that come within this time are shown together. */
const MOMENT_MS = 33;
/** More than these are shown in several steps, between which the page answers to whoever uses it. */
const MOST_AT_ONCE = 250;
/** First pause before another attempt, and the longest. */
const RECONNECT = { minMs: 500, maxMs: 10_000, jitter: 0.5 };

/** The one WebSocket of the tab. Each attempt logs in with a ticket of its own, that is good once. */
export class Live {
  readonly connection = signal<Connection>({ state: 'connecting' });
  readonly #client: Client;

  constructor(url: string, login: string, ticket: () => Promise<string>) {
    this.#client = connect({
      url,
      login,
      passcode: ticket,
      reconnect: RECONNECT,
      onStatus: (status) => {
        switch (status.state) {
          case 'connecting':
            if (status.after === null) this.connection.value = { state: 'connecting' };
            // As where something between here and the server lets no WebSocket through.
            else if (this.connection.value.state === 'connecting') {
              this.connection.value = { state: 'lost', why: status.after.message };
            }
            break;
          case 'connected':
            this.connection.value = { state: 'live' };
            break;
          case 'lost':
            this.connection.value = { state: 'lost', why: status.error.message };
            break;
          case 'closed':
            this.connection.value = { state: 'closed', why: status.error?.message ?? '' };
        }
      },
    });
    // `onStatus` says it.
    this.#client.ready().catch(() => {});
  }

  /** Follows events until the function it returns is called. A lost connection is made again, and nothing is missed. */
  follow({ selector, from, onEvents, onEnd, onNarrowed }: Following): () => void {
    const subscription = this.#client.subscribe({ selector, ...(from !== undefined && { from }), keep: 10_000 });
    const waiting: LiveEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | null = null;
    let over = false;
    const show = (most: number): void => {
      const events = waiting.splice(0, most);
      if (!over && events.length > 0) onEvents(events);
    };
    const flush = (): void => {
      show(MOST_AT_ONCE);
      timer = waiting.length > 0 ? setTimeout(flush) : null;
    };
    const read = async (): Promise<void> => {
      for await (const message of subscription) {
        if (message.isMarker) return end({ kind: 'gap' });
        waiting.push(liveEvent(message));
        timer ??= setTimeout(flush, MOMENT_MS);
      }
    };
    const end = (how: End): void => {
      if (over) return;
      show(waiting.length);
      stop();
      onEnd(how);
    };
    const stop = (): void => {
      over = true;
      if (timer !== null) clearTimeout(timer);
      void subscription.unsubscribe().catch(() => {});
    };
    read().catch((error: unknown) => end({ kind: 'refused', error: apiError(error) }));
    subscription.ready.then(
      () => {
        if (subscription.narrowed && !over) onNarrowed?.();
      },
      () => {},
    );
    return stop;
  }

  /** @throws MusterError what the server has against it, or that it is not reached */
  async publish(event: PublishOptions): Promise<void> {
    await this.#client.publish(event);
  }

  close(): void {
    void this.#client.close().catch(() => {});
  }
}
