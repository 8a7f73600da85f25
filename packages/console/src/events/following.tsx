import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ApiError } from '../api/errors.js';
import type { LiveEvent } from '../live/event.js';
import { applyToTail, EMPTY_TAIL, TAIL_LIMIT, type Tail } from '../live/tail.js';
import { place, setParameters } from '../navigation.js';
import { Glyph } from '../parts/glyph.jsx';
import { Failure, Note } from '../parts/note.jsx';
import { number, plural } from '../parts/numbers.js';
import { NotAmong, Panes } from '../parts/pane.jsx';
import { safeText } from '../parts/safe-text.js';
import { Save } from '../parts/save.jsx';
import { secondOfDay } from '../parts/when.js';
import { shortId } from '../push/parts.jsx';
import { signedIn } from '../session/session.js';
import { type Column, Table } from '../table/table.jsx';
import { Detail } from './detail.jsx';
import { Rate } from './rate.jsx';

interface Props {
  /** A selector. */
  readonly q: string;
  /** Where it begins. Without a place, a lost connection would lose events: from now on is from a second ago. */
  readonly from: string;
  /** Of what is said while there is none. */
  readonly none: string;
}

/** Events as they come, the one that the URL names beside them. With another selector or beginning it is another one: it has a `key`. */
export function Following({ q, from, none }: Props) {
  const { live } = signedIn();
  const tail = useSignal<Tail>(EMPTY_TAIL);
  const shown = useSignal<Tail | null>(null);
  const error = useSignal<ApiError | null>(null);
  const narrowed = useSignal(false);
  const gaps = useSignal(0);
  const atEnd = useSignal(true);
  useEffect(() => {
    let stop = (): void => {};
    const follow = (start: string | number): void => {
      // Of what is older than all that is kept there is nothing to begin after.
      let heard = false;
      stop = live.follow({
        selector: q,
        from: start,
        onEvents: (events) => {
          heard = true;
          tail.value = applyToTail(tail.value, events);
        },
        onEnd: (end) => {
          if (end.kind === 'refused') error.value = end.error;
          else {
            gaps.value += 1;
            follow(heard ? (tail.value.events.at(-1)?.position ?? 'first') : 'first');
          }
        },
        onNarrowed: () => {
          narrowed.value = true;
        },
      });
    };
    follow(from);
    return () => stop();
  }, []);
  const seen = shown.value ?? tail.value;
  const { query } = place.value;
  const open = query.get('event');
  const event = open === null ? undefined : seen.events.find(({ position }) => String(position) === open);
  const paused = shown.value !== null;
  const waiting = paused ? tail.value.events.length + tail.value.dropped - seen.events.length - seen.dropped : 0;
  const total = tail.value.events.length + tail.value.dropped;
  return (
    <>
      {error.value !== null && <Failure error={error.value} />}
      {narrowed.value && <Note>Some events that match are not shown: you may not follow them.</Note>}
      {gaps.value > 0 && <Note>Some events may be missing: the server keeps them no longer.</Note>}
      <div class="line wraps">
        <span class="quiet number grow" role="status">
          {plural(total, 'event')}
          {seen.dropped > 0 && `; the newest ${number(TAIL_LIMIT)} are kept`}
        </span>
        <Rate events={seen.events} />
        <button
          type="button"
          class="button small"
          aria-pressed={paused}
          onClick={() => {
            shown.value = paused ? null : tail.value;
          }}
        >
          {paused ? `Go on${waiting > 0 ? ` (${number(waiting)} more)` : ''}` : 'Pause'}
        </button>
        <button
          type="button"
          class="button small"
          aria-pressed={atEnd.value}
          onClick={() => {
            atEnd.value = !atEnd.value;
          }}
        >
          {atEnd.value ? 'At the end' : 'Go to the end'}
        </button>
        <Save name="events" rows={() => seen.events.map(recordOf)} none={seen.events.length === 0} />
      </div>
      {open !== null && event === undefined && (
        <NotAmong what={`Event ${open}`} onClose={() => setParameters({ event: null })} />
      )}
      <Panes open={event !== undefined}>
        <section class="card">
          {seen.events.length === 0 ? (
            <div class="empty">
              <h2>
                <Glyph name="dots" tone="idle" /> Nothing yet
              </h2>
              <p class="quiet">{none}</p>
            </div>
          ) : (
            <Table
              label="Events"
              columns={COLUMNS}
              rows={seen.events}
              keyOf={({ position }) => String(position)}
              onOpen={({ position }) => setParameters({ event: String(position) })}
              follow={atEnd.value && !paused}
              onScrolledUp={() => {
                atEnd.value = false;
              }}
              open={open}
            />
          )}
        </section>
        {event !== undefined && <Detail event={event} from={from} />}
      </Panes>
    </>
  );
}

/** As `muster event watch --json` prints it, as far as this page knows it. */
function recordOf({ position, at, type, source, attributes, contentType, body }: LiveEvent): object {
  const named: Record<string, string> = {};
  for (const [name, value] of attributes) {
    if (name !== 'type' && !Object.hasOwn(named, name)) named[name] = value;
  }
  const content = contentType === null ? {} : { content_type: contentType };
  return { position, time: new Date(at).toISOString(), type, source, attributes: named, ...content, body };
}

const COLUMNS: readonly Column<LiveEvent>[] = [
  {
    id: 'time',
    head: 'Time',
    track: '76px',
    cell: ({ at }) => <span class="quiet number">{secondOfDay(at)}</span>,
  },
  { id: 'type', head: 'Type', track: 'minmax(0, 1fr)', cell: ({ type }) => <span class="mono">{safeText(type)}</span> },
  { id: 'about', head: 'About', track: 'minmax(0, 2fr)', cell: (event) => safeText(about(event)), wide: true },
  {
    id: 'source',
    head: 'Source',
    track: '120px',
    wide: true,
    cell: ({ source }) => <span class="quiet">{safeText(source)}</span>,
  },
];

function about(event: LiveEvent): string {
  // What an event is about comes first; ids of jobs are as long as a line.
  const first = ['node', 'status', 'owner'];
  const rank = (name: string) => (first.includes(name) ? first.indexOf(name) : name === 'job' ? 9 : 5);
  return event.attributes
    .filter(([name]) => name !== 'type' && name !== 'seq')
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([name, value]) => `${name}=${name === 'job' ? shortId(value) : value}`)
    .join('  ');
}
