import type { Counts } from '../api/types.gen.js';
import { useReading } from '../live/reading.js';
import { Sparkline } from '../parts/sparkline.jsx';
import { signedIn } from '../session/session.js';
import { hoursInWords, hoursText } from './hours-in-words.js';

/** The hours go by, also where nothing happens. */
const AGAIN_MS = 15 * 60_000;

/** How often nodes went down, hour by hour. */
export function DownByHour() {
  const { api } = signedIn();
  const { loaded } = useReading<Counts>({
    key: '',
    read: (signal) => api.get<Counts>('/counts', {}, signal),
    selector: "type IN ('node.down', 'node.up')",
    everyMs: AGAIN_MS,
  });
  if (loaded.state !== 'ready') return null;
  const { hours, counts } = loaded.value;
  const down = counts.find(({ type }) => type === 'node.down');
  const up = counts.find(({ type }) => type === 'node.up');
  if (down === undefined || up === undefined) return null;
  const text = hoursInWords('Nodes that went down', hours, down.per_hour);
  return (
    <p class="line wraps quiet" title={text}>
      <span>Went down, by the hour</span>
      <Sparkline values={down.per_hour} text={text} />
      <span>{hoursText(down, up.total)}</span>
    </p>
  );
}
