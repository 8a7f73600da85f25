import { type Signal, signal } from '@preact/signals';
import { type ApiError, apiError, passes } from '../api/errors.js';
import type { Live } from './connection.js';
import type { LiveEvent } from './event.js';

export type Loaded<State> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: ApiError }
  | { readonly state: 'ready'; readonly value: State };

export interface Source<State> {
  readonly live: Live;
  /** Null: no event tells of it. */
  readonly selector: string | null;
  /** Reads the whole. Every event up to `position` is in it; later ones may be. */
  readonly load: (signal: AbortSignal) => Promise<{ readonly value: State; readonly position: number }>;
  readonly apply: (state: State, events: readonly LiveEvent[]) => State;
  /** Shown until the whole is there, and while the server refuses to give it. */
  readonly before?: { readonly value: State } | undefined;
  /** Hears of the state after events. */
  readonly onChange?: (state: State) => void;
}

/** Between a failure and the next attempt. */
const RETRY_MS = 3000;

/** What is on the server, kept as it is there: read once, then followed from the position of what was read. */
export class Snapshot<State> {
  readonly loaded: Signal<Loaded<State>>;
  /** Why what is shown is still what was there before; null: it is not, or it is being read. */
  readonly refused: Signal<ApiError | null> = signal<ApiError | null>(null);
  readonly #source: Source<State>;
  #unfollow: (() => void) | null = null;
  #loading: AbortController | null = null;
  #retry: ReturnType<typeof setTimeout> | null = null;
  #stopped = false;
  #read = false;

  constructor(source: Source<State>) {
    this.#source = source;
    this.loaded = signal<Loaded<State>>(
      source.before === undefined ? { state: 'loading' } : { state: 'ready', value: source.before.value },
    );
    void this.reload();
  }

  /** Reads everything again; what is shown stays until that is there. */
  async reload(): Promise<void> {
    if (this.#stopped) return;
    this.#halt();
    const loading = new AbortController();
    this.#loading = loading;
    try {
      const { value, position } = await this.#source.load(loading.signal);
      if (loading.signal.aborted) return;
      this.#read = true;
      this.refused.value = null;
      this.loaded.value = { state: 'ready', value };
      this.#follow(position);
    } catch (thrown) {
      if (loading.signal.aborted) return;
      this.#failed(apiError(thrown));
    }
  }

  /** The state as the server has answered to something that this tab did. */
  replace(change: (state: State) => State): void {
    const { value: loaded } = this.loaded;
    if (loaded.state === 'ready') this.loaded.value = { state: 'ready', value: change(loaded.value) };
  }

  stop(): void {
    this.#stopped = true;
    this.#halt();
  }

  #follow(position: number): void {
    const { live, selector, apply, onChange } = this.#source;
    if (selector === null) return;
    this.#unfollow = live.follow({
      selector,
      from: position,
      onEvents: (events) => {
        const { value: loaded } = this.loaded;
        if (loaded.state !== 'ready') return;
        const value = apply(loaded.value, events);
        if (value === loaded.value) return;
        this.loaded.value = { state: 'ready', value };
        onChange?.(value);
      },
      onEnd: (end) => {
        if (end.kind === 'gap') void this.reload();
        else this.#again();
      },
    });
  }

  #failed(error: ApiError): void {
    if (this.loaded.value.state !== 'ready') this.loaded.value = { state: 'failed', error };
    else if (!this.#read) this.refused.value = error;
    if (passes(error)) this.#again();
  }

  #again(): void {
    if (this.#stopped) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = null;
      void this.reload();
    }, RETRY_MS);
  }

  #halt(): void {
    this.#loading?.abort();
    this.#unfollow?.();
    this.#unfollow = null;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
  }
}

/** Calls at once, and then at most once in so many milliseconds, as long as it is asked to. */
export function throttled(ms: number, work: () => void): { ask(): void; stop(): void } {
  let last = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const run = (): void => {
    timer = null;
    last = performance.now();
    work();
  };
  return {
    ask() {
      timer ??= setTimeout(run, Math.max(0, last + ms - performance.now()));
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
