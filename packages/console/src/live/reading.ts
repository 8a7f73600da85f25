import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Answer } from '../api/client.js';
import type { ApiError } from '../api/errors.js';
import { signedIn } from '../session/session.js';
import type { LiveEvent } from './event.js';
import { type Loaded, Snapshot, throttled } from './snapshot.js';

/** What is shown is read again at most so often, and only while something happens to it. */
const AGAIN_MS = 1000;
/** Until what follows the last event has followed. */
const SETTLED_MS = 2000;

interface Reading<State> {
  /** With another key something else is read. */
  readonly key: string;
  readonly read: (signal?: AbortSignal) => Promise<Answer<State>>;
  /** Of events after which it is another; null: of none. */
  readonly selector: string | null;
  /** Read again so often while somebody looks: for those who may not follow these events. */
  readonly everyMs?: number | null;
  /** Not always, but while no event tells of something in it. */
  readonly untold?: (state: State) => boolean;
  /** Read once more a moment after the last event, as what others keep follows what is stored. */
  readonly afterwards?: boolean;
  /** What events make of it at once, and whether there is more in it that only the server knows; otherwise it is read again after each. */
  readonly apply?: (state: State, events: readonly LiveEvent[]) => { readonly state: State; readonly stale: boolean };
}

export interface Kept<State> {
  readonly loaded: Loaded<State>;
  /** Why what is shown is still what was read with the key before. */
  readonly refused: ApiError | null;
  /** Reads it again now, as after something that this tab did. */
  readonly again: () => void;
}

/** What only the server can show in full, read again whenever events say that it has changed. */
export function useReading<State>({
  key,
  read,
  selector,
  apply,
  everyMs = null,
  untold,
  afterwards = false,
}: Reading<State>): Kept<State> {
  const { api, live } = signedIn();
  const latest = useRef(read);
  latest.current = read;
  const kept: Signal<Snapshot<State> | null> = useSignal(null);
  useEffect(() => {
    let heard = 0;
    let settling: ReturnType<typeof setTimeout> | undefined;
    const again = throttled(AGAIN_MS, () => {
      const known = heard;
      latest.current().then(
        ({ body }) => {
          made.replace(() => body);
          // What was told meanwhile may be newer than what was read.
          if (heard !== known) again.ask();
        },
        // No other event may come that would ask for it: it is read until it could be.
        () => void made.reload(),
      );
    });
    const before = kept.value?.loaded.value;
    const made: Snapshot<State> = new Snapshot<State>({
      live,
      selector,
      // What is shown stays until the other is there.
      before: before?.state === 'ready' ? before : undefined,
      load: (signal) => api.at(() => latest.current(signal)),
      apply: (state, events) => {
        heard += 1;
        const after = apply?.(state, events) ?? { state, stale: true };
        if (after.stale) again.ask();
        if (afterwards) {
          clearTimeout(settling);
          settling = setTimeout(() => again.ask(), SETTLED_MS);
        }
        return after.state;
      },
    });
    kept.value = made;
    const look = (): void => {
      const { value: loaded } = made.loaded;
      const needed = untold === undefined || (loaded.state === 'ready' && untold(loaded.value));
      if (needed && !document.hidden) again.ask();
    };
    const timer = everyMs === null ? null : setInterval(look, everyMs);
    return () => {
      if (timer !== null) clearInterval(timer);
      clearTimeout(settling);
      made.stop();
      again.stop();
    };
  }, [key]);
  return {
    loaded: kept.value?.loaded.value ?? { state: 'loading' },
    refused: kept.value?.refused.value ?? null,
    again: () => void kept.value?.reload(),
  };
}
