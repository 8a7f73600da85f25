import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { open } from '../api/client.js';
import { type ApiError, apiError } from '../api/errors.js';
import { Failure, Note } from '../parts/note.jsx';
import { bytes, number, plural } from '../parts/numbers.js';
import { typing } from '../table/keys.js';
import { scrollToRow, windowOf } from '../table/window.js';
import { plainText, spansOf } from './ansi.js';
import { Lines } from './lines.js';

const ROW = 20;
/** Most of a stream that a tab keeps; the rest is to be downloaded. */
const MOST_BYTES = 128 * 1024 * 1024;
/** Lines looked through before others get their turn. */
const SEARCH_SLICE = 20_000;
const MOST_FOUND = 10_000;

interface Props {
  /** Path of the stream. */
  readonly path: string;
  readonly fileName: string;
  /** The command may write more. */
  readonly goesOn: boolean;
}

/** What a command wrote to one stream: any length, with colours, searched, followed. */
export function Viewer({ path, fileName, goesOn }: Props) {
  const lines = useRef(new Lines());
  const version = useSignal(0);
  const state = useSignal<'reading' | 'done' | 'cut'>('reading');
  const error = useSignal<ApiError | null>(null);
  const missing = useSignal<string | null>(null);
  const dropped = useSignal(0);
  const follow = useSignal(goesOn);
  const scroll = useSignal(0);
  const view = useSignal(400);
  const needle = useSignal('');
  const found = useSignal<readonly number[]>([]);
  const current = useSignal(0);
  const scroller = useRef<HTMLElement>(null);

  useEffect(() => {
    const reading = new AbortController();
    lines.current = new Lines();
    version.value += 1;
    const read = async (): Promise<void> => {
      const response = await open(goesOn ? `${path}?follow=true` : path, reading.signal);
      missing.value = response.headers.get('x-muster-missing');
      dropped.value = Number(response.headers.get('x-muster-dropped-bytes') ?? 0);
      const reader = response.body?.getReader();
      if (reader === undefined) return;
      let drawn = 0;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        lines.current.add(value);
        if (lines.current.bytes > MOST_BYTES) {
          state.value = 'cut';
          reading.abort();
          return;
        }
        // A frame is enough between two drawings.
        if (performance.now() - drawn > 50) {
          drawn = performance.now();
          version.value += 1;
        } else queueMicrotask(() => setTimeout(() => (version.value += 1), 50));
      }
      state.value = 'done';
    };
    read()
      .catch((thrown: unknown) => {
        if (!reading.signal.aborted) error.value = apiError(thrown);
      })
      .finally(() => {
        version.value += 1;
      });
    return () => reading.abort();
  }, [path]);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      view.value = element.clientHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const count = version.value >= 0 ? lines.current.count : 0;
  useEffect(() => {
    if (follow.value && scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [version.value, follow.value]);

  useEffect(() => {
    const text = needle.value.toLowerCase();
    found.value = [];
    current.value = 0;
    if (text === '') return;
    let stopped = false;
    let at = 0;
    const hits: number[] = [];
    const slice = (): void => {
      if (stopped) return;
      const end = Math.min(lines.current.count, at + SEARCH_SLICE);
      for (; at < end && hits.length < MOST_FOUND; at += 1) {
        if (plainText(lines.current.line(at).text).toLowerCase().includes(text)) hits.push(at);
      }
      found.value = [...hits];
      if (at < lines.current.count && hits.length < MOST_FOUND) setTimeout(slice);
      else if (hits.length > 0) show(hits[0] ?? 0);
    };
    const timer = setTimeout(slice, 150);
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [needle.value]);

  const extent = { count, row: ROW, view: view.value };
  const { first, end, height, top } = windowOf(extent, scroll.value, 20);
  const show = (index: number): void => {
    follow.value = false;
    if (scroller.current === null) return;
    const middle = Math.max(0, index - Math.floor(view.value / ROW / 2));
    scroller.current.scrollTop = scrollToRow(extent, scrollToRow(extent, scroller.current.scrollTop, middle), index);
  };
  const next = (step: 1 | -1): void => {
    if (found.value.length === 0) return;
    current.value = (current.value + step + found.value.length) % found.value.length;
    show(found.value[current.value] ?? 0);
  };
  const hits = new Set(found.value);
  const shown = [];
  for (let index = first; index < end; index += 1) {
    const { text, cut } = lines.current.line(index);
    shown.push(
      <div key={index} class={`row ${hits.has(index) ? 'found' : ''}`}>
        <span class="no" aria-hidden="true">
          {index + 1}
        </span>
        <span class="text">
          {spansOf(text).map(({ text: part, look }, place) => (
            <span key={place} class={look}>
              {part}
            </span>
          ))}
          {cut > 0 && <span class="quiet"> … {bytes(cut)} more in this line</span>}
        </span>
      </div>,
    );
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
          value={needle.value}
          onInput={(event) => {
            needle.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') next(event.shiftKey ? -1 : 1);
          }}
        />
        {needle.value !== '' && (
          <span class="number" role="status">
            {found.value.length === 0 ? 'none' : `${number(current.value + 1)} of ${number(found.value.length)}`}
            {found.value.length === MOST_FOUND && '+'}
          </span>
        )}
        {found.value.length > 1 && (
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
          {plural(count, 'line')}, {bytes(lines.current.bytes)}
          {state.value === 'reading' && error.value === null && (goesOn ? ', followed' : ' …')}
        </span>
        <span class="actions" style={{ marginLeft: 'auto' }}>
          <button type="button" class="chip" aria-pressed={follow.value} onClick={() => (follow.value = !follow.value)}>
            stay at the end
          </button>
          <a class="button small" href={path} download={fileName}>
            Download
          </a>
        </span>
      </div>
      {error.value !== null && (
        <div class="inside">
          <Failure error={error.value} />
        </div>
      )}
      {dropped.value > 0 && (
        <div class="inside">
          <Note>The command wrote more than is kept: {bytes(dropped.value)} are missing in the middle.</Note>
        </div>
      )}
      {missing.value !== null && (
        <div class="inside">
          <Note>The output is not complete: {missing.value}.</Note>
        </div>
      )}
      {state.value === 'cut' && (
        <div class="inside">
          <Note>Only the first {bytes(MOST_BYTES)} are shown. Download the whole.</Note>
        </div>
      )}
      <section
        ref={scroller}
        class="output"
        aria-label="Output"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        tabIndex={0}
        onScroll={(event) => {
          const element = event.currentTarget;
          scroll.value = element.scrollTop;
          // Whoever scrolls up wants to read.
          if (element.scrollTop + element.clientHeight < element.scrollHeight - ROW * 2) follow.value = false;
        }}
        onKeyDown={(event) => {
          if (!typing(event) && event.key === 'End') follow.value = goesOn;
        }}
      >
        {count === 0 && state.value !== 'reading' && error.value === null && (
          <p class="waiting-none quiet">It wrote nothing here.</p>
        )}
        <div style={{ height: `${height}px`, position: 'relative' }}>
          <div style={{ transform: `translateY(${top}px)` }}>{shown}</div>
        </div>
      </section>
    </>
  );
}
