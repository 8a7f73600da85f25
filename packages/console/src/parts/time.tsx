import { signal } from '@preact/signals';

/** Ticks as long as somebody looks. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => {
  now.value = Date.now();
});

export { duration } from './duration.js';

import { duration, untilThen } from './duration.js';
import { timeText } from './when.js';

/** How long ago, with the time itself for whoever points at it. */
export function Ago({ at, word = '' }: { readonly at: number; readonly word?: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>–</span>;
  const ms = Math.max(0, now.value - at);
  return (
    <time class="number" dateTime={date.toISOString()} title={date.toISOString()}>
      {ms < 1000 && word !== '' ? 'just now' : `${duration(ms)}${word}`}
    </time>
  );
}

/** A time itself. */
export function At({ at }: { readonly at: number }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>–</span>;
  return (
    <time class="number" dateTime={date.toISOString()} title={date.toISOString()}>
      {timeText(at)}
    </time>
  );
}

/** How long until then. @param word Before it. */
export function In({ at, word = '' }: { readonly at: number; readonly word?: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>–</span>;
  return (
    <time class="number" dateTime={date.toISOString()} title={date.toISOString()}>
      {at <= now.value ? 'now' : `${word}${untilThen(at - now.value)}`}
    </time>
  );
}
