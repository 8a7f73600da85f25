import type { LiveEvent } from '../live/event.js';
import { number } from '../parts/numbers.js';
import { Sparkline } from '../parts/sparkline.jsx';
import { duration, now } from '../parts/time.jsx';
import { inLastMinute, ratesOf } from './rates.js';

/** How many events came when. */
export function Rate({ events }: { readonly events: readonly LiveEvent[] }) {
  const { counts, spanMs } = ratesOf(events, now.value);
  const most = Math.max(...counts);
  if (most === 0) return null;
  return (
    <span class="line">
      <Sparkline values={counts} text={`At most ${number(most)} within ${duration(spanMs)}`} />
      <span class="quiet number">{number(inLastMinute(events, now.value))} in the last minute</span>
    </span>
  );
}
