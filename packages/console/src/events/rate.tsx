import type { LiveEvent } from '../live/event.js';
import { number } from '../parts/numbers.js';
import { duration, now } from '../parts/time.jsx';
import { inLastMinute, ratesOf } from './rates.js';

/** Height of the picture, in its own units; a span is one wide. */
const HEIGHT = 16;

/** How many events came when. */
export function Rate({ events }: { readonly events: readonly LiveEvent[] }) {
  const { counts, spanMs } = ratesOf(events, now.value);
  const most = Math.max(...counts);
  if (most === 0) return null;
  const bars = counts.map((count, at) => {
    // What came is seen, however little it is beside the most.
    const height = count === 0 ? 0 : Math.max(1, (count / most) * HEIGHT);
    return `M${at} ${HEIGHT}v${-height}h.8v${height}z`;
  });
  return (
    <span class="rate line">
      <svg
        viewBox={`0 0 ${counts.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`At most ${number(most)} within ${duration(spanMs)}`}
      >
        <path d={bars.join('')} />
      </svg>
      <span class="quiet number">{number(inLastMinute(events, now.value))} in the last minute</span>
    </span>
  );
}
