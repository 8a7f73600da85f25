import { useSignal } from '@preact/signals';
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { ApiError } from '../api/errors.js';
import { place, setParameters } from '../navigation.js';
import { Failure, Note } from '../parts/note.jsx';
import { bytes, number, plural } from '../parts/numbers.js';
import { linesWorker } from '../policy.js';
import { hrefOf } from '../route.js';
import { typing } from '../table/keys.js';
import { scrollToRow, windowOf } from '../table/window.js';
import { spansOf } from './ansi.js';
import type { Asked, Line, ReadState, Told } from './protocol.js';
import { MOST_BYTES, MOST_FOUND } from './reader.js';
import { wrappedPlace, wrappedWindow } from './wrapped.js';

const ROW = 20;
/** Drawn above and below what is seen. */
const OVERSCAN = 20;
/** Whoever types on is waited for. */
const TYPING_MS = 150;

interface Props {
  /** Path of the stream. */
  readonly path: string;
  readonly fileName: string;
  /** The command may write more. */
  readonly goesOn: boolean;
  /** It is a file, of which what was added is asked for. */
  readonly grows?: boolean;
}

/** What was told of the output so far. */
interface Known {
  readonly lines: number;
  readonly bytes: number;
  readonly state: ReadState;
  readonly missing: string | null;
  readonly dropped: number;
  readonly error: ApiError | null;
}

interface Found {
  readonly lines: readonly number[];
  readonly all: boolean;
}

const NOTHING: Known = { lines: 0, bytes: 0, state: 'reading', missing: null, dropped: 0, error: null };
const NO_READER = new ApiError(
  404,
  'no_reader',
  'the program that reads output cannot be fetched',
  'Load the page again: the server is away, or has become another version since this one was loaded.',
);
const NOT_FOUND: Found = { lines: [], all: false };

/** What a command wrote to one stream: any length, with colours, searched, wrapped, followed; each line has a link. */
export function Viewer({ path, fileName, goesOn, grows = false }: Props) {
  const { query, org, screen } = place.value;
  const needle = query.get('find') ?? '';
  const linked = Number(query.get('line') ?? 0) - 1;
  const known = useSignal(NOTHING);
  const found = useSignal(NOT_FOUND);
  /** Lines that were asked for last. */
  const rows = useSignal<{ readonly first: number; readonly rows: readonly Line[] }>({ first: 0, rows: [] });
  const current = useSignal(0);
  const follow = useSignal(goesOn && linked < 0);
  const wrap = useSignal(false);
  const scroll = useSignal(0);
  const view = useSignal(400);
  const tries = useSignal(0);
  const scroller = useRef<HTMLElement>(null);
  const worker = useRef<Worker | null>(null);
  /** The line to go to when it is there; -1: none. */
  const wanted = useRef(linked);
  const ask = (asked: Asked): void => worker.current?.postMessage(asked);

  useEffect(() => {
    const made = linesWorker();
    worker.current = made;
    known.value = NOTHING;
    found.value = NOT_FOUND;
    made.onmessage = ({ data: told }: MessageEvent<Told>) => {
      switch (told.type) {
        case 'head':
          known.value = { ...known.value, missing: told.missing, dropped: told.dropped };
          break;
        case 'size':
          known.value = { ...known.value, lines: told.lines, bytes: told.bytes, state: told.state };
          break;
        case 'failed':
          known.value = { ...known.value, error: new ApiError(told.status, told.code, told.message, told.fix) };
          break;
        case 'rows':
          rows.value = told;
          break;
        case 'found': {
          if (told.text !== (place.peek().query.get('find') ?? '')) break;
          const before = found.value.lines;
          found.value = { lines: [...before, ...told.lines], all: told.all };
          if (before.length === 0 && told.lines[0] !== undefined && wanted.current < 0) show(told.lines[0]);
        }
      }
    };
    made.onerror = () => {
      known.value = { ...known.value, error: NO_READER };
    };
    ask({ type: 'open', path, goesOn, grows });
    if (needle !== '') ask({ type: 'find', text: needle });
    return () => made.terminate();
  }, [path, tries.value]);

  useEffect(() => {
    if (goesOn) return;
    if (known.peek().error === null) ask({ type: 'ended' });
    // What was not there yet is there now, or never will be.
    else tries.value += 1;
  }, [goesOn]);

  const asked = useRef(needle);
  useEffect(() => {
    if (asked.current === needle) return;
    asked.current = needle;
    found.value = NOT_FOUND;
    current.value = 0;
    const timer = setTimeout(() => ask({ type: 'find', text: needle }), needle === '' ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [needle]);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      view.value = element.clientHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const { lines: count, state, error, missing, dropped } = known.value;
  const extent = { count, row: ROW, view: view.value };
  const { first, end, height, top, part } = wrap.value
    ? wrappedWindow(extent, scroll.value)
    : { ...windowOf(extent, scroll.value, OVERSCAN), part: 0 };
  // The last line may grow.
  const growing = end >= count ? known.value.bytes : 0;
  useEffect(() => {
    if (end > first) ask({ type: 'rows', first, end });
  }, [first, end, growing, tries.value]);

  useEffect(() => {
    if (wanted.current >= 0 && (wanted.current < count || state !== 'reading')) {
      show(Math.min(wanted.current, count - 1));
      wanted.current = -1;
    } else if (follow.value && scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [count, state, follow.value, wrap.value]);

  const show = (index: number): void => {
    follow.value = false;
    const element = scroller.current;
    if (element === null || index < 0) return;
    const now = { count: known.peek().lines, row: ROW, view: view.peek() };
    const middle = Math.max(0, index - Math.floor(view.peek() / ROW / 2));
    element.scrollTop = wrap.peek()
      ? wrappedPlace(now, index)
      : scrollToRow(now, scrollToRow(now, element.scrollTop, middle), index);
  };
  const next = (step: 1 | -1): void => {
    const { lines } = found.value;
    if (lines.length === 0) return;
    current.value = (current.value + step + lines.length) % lines.length;
    show(lines[current.value] ?? 0);
  };
  const hits = new Set(found.value.lines);
  const shown = [];
  for (let index = first; index < end; index += 1) {
    const line = rows.value.rows[index - rows.value.first];
    const look = index === linked ? 'row linked' : hits.has(index) ? 'row found' : 'row';
    const href =
      org === null || screen === null
        ? ''
        : hrefOf(org, screen, { ...Object.fromEntries(query), line: String(index + 1) });
    shown.push(<DrawnLine key={index} index={index} line={line} look={look} href={href} />);
  }
  return (
    <>
      <div class="output-bar">
        <label class="unseen" for="output-find">
          Find in the output
        </label>
        <input
          id="output-find"
          class="input"
          placeholder="Find"
          data-filter
          value={needle}
          onInput={(event) => setParameters({ find: event.currentTarget.value, line: null })}
          onKeyDown={(event) => {
            if (event.key === 'Enter') next(event.shiftKey ? -1 : 1);
          }}
        />
        {needle !== '' && (
          <span class="number" role="status">
            {found.value.lines.length > 0
              ? `${number(current.value + 1)} of ${number(found.value.lines.length)}${found.value.lines.length === MOST_FOUND ? '+' : ''}`
              : found.value.all
                ? 'none'
                : '…'}
          </span>
        )}
        {found.value.lines.length > 1 && (
          <>
            <button type="button" class="button small" onClick={() => next(-1)} aria-label="Previous line found">
              ↑
            </button>
            <button type="button" class="button small" onClick={() => next(1)} aria-label="Next line found">
              ↓
            </button>
          </>
        )}
        <span class="quiet number">
          {plural(count, 'line')}, {bytes(known.value.bytes)}
          {state === 'reading' && error === null && (goesOn ? ', followed' : ' …')}
        </span>
        <span class="actions at-end">
          <button type="button" class="chip" aria-pressed={wrap.value} onClick={() => (wrap.value = !wrap.value)}>
            wrap
          </button>
          <button type="button" class="chip" aria-pressed={follow.value} onClick={() => (follow.value = !follow.value)}>
            stay at the end
          </button>
          <a class="button small" href={path} download={fileName}>
            Download
          </a>
        </span>
      </div>
      {error !== null && (
        <div class="inside">
          <Failure error={error} />
        </div>
      )}
      {dropped > 0 && (
        <div class="inside">
          <Note>The command wrote more than is kept: {bytes(dropped)} are missing in the middle.</Note>
        </div>
      )}
      {missing !== null && (
        <div class="inside">
          <Note>The output is not complete: {missing}.</Note>
        </div>
      )}
      {state === 'cut' && (
        <div class="inside">
          <Note>Only the first {bytes(MOST_BYTES)} are shown. Download the whole.</Note>
        </div>
      )}
      {linked >= count && state !== 'reading' && error === null && (
        <div class="inside">
          <Note>
            The address is about line {number(linked + 1)}, and there are {number(count)}.
          </Note>
        </div>
      )}
      <section
        ref={scroller}
        class={wrap.value ? 'output wrapped' : 'output'}
        aria-label="Output"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        tabIndex={0}
        onScroll={(event) => {
          const element = event.currentTarget;
          const before = scroll.value;
          scroll.value = element.scrollTop;
          // Whoever scrolls up wants to read.
          if (element.scrollTop < before && !isAtEnd(element)) follow.value = false;
        }}
        onKeyDown={(event) => {
          if (!typing(event) && event.key === 'End') follow.value = goesOn;
        }}
      >
        {count === 0 && state !== 'reading' && error === null && (
          <p class="waiting-none quiet">It wrote nothing here.</p>
        )}
        <div style={{ height: `${height}px`, position: 'relative' }}>
          <Placed top={top} part={part}>
            {shown}
          </Placed>
        </div>
      </section>
    </>
  );
}

function isAtEnd({ scrollTop, clientHeight, scrollHeight }: Element): boolean {
  return scrollTop + clientHeight >= scrollHeight - ROW * 2;
}

/** Lines at their place; of the first one so much is above what is seen. */
function Placed({
  top,
  part,
  children,
}: {
  readonly top: number;
  readonly part: number;
  readonly children: ComponentChildren;
}) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = element;
    const above = part * (current?.firstElementChild?.clientHeight ?? ROW);
    current?.style.setProperty('transform', `translateY(${top - above}px)`);
  });
  return <div ref={element}>{children}</div>;
}

interface LineProps {
  readonly index: number;
  /** Undefined: it is on its way. */
  readonly line: Line | undefined;
  readonly look: string;
  readonly href: string;
}

/** Not drawn again for what happens to others. */
class DrawnLine extends Component<LineProps> {
  override shouldComponentUpdate({ index, line, look, href }: LineProps): boolean {
    const { props } = this;
    const same = line?.text === props.line?.text && line?.cut === props.line?.cut;
    return !same || index !== props.index || look !== props.look || href !== props.href;
  }

  render({ index, line, look, href }: LineProps) {
    return (
      <div class={look}>
        <a class="no" tabIndex={-1} href={href} title={`Link to line ${index + 1}`}>
          {index + 1}
        </a>
        <span class="text">
          {line !== undefined &&
            spansOf(line.text).map(({ text, look: colours }, at) => (
              <span key={at} class={colours}>
                {text}
              </span>
            ))}
          {line !== undefined && line.cut > 0 && <span class="quiet"> … {bytes(line.cut)} more in this line</span>}
        </span>
      </div>
    );
  }
}
