import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

const MOMENT_MS = 250;

interface Typed {
  readonly text: Signal<string>;
  readonly type: (text: string) => void;
  /** Tells it at once, as when somebody presses Enter or goes on. */
  readonly settle: () => void;
}

/** A filter as it is typed: told a moment after the last key, if it can be used. */
export function useTyped(
  value: string,
  onValue: (text: string) => void,
  usable: (text: string) => boolean = () => true,
): Typed {
  const text = useSignal(value);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const told = useRef(value);
  const latest = useRef({ onValue, usable });
  latest.current = { onValue, usable };
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    text.value = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current ?? undefined), []);
  const settle = (): void => {
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = null;
    const typed = text.value.trim();
    if (!latest.current.usable(typed) || typed === told.current) return;
    told.current = typed;
    latest.current.onValue(typed);
  };
  return {
    text,
    settle,
    type: (typed) => {
      text.value = typed;
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = setTimeout(settle, MOMENT_MS);
    },
  };
}
