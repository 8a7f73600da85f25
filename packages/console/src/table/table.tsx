import { useSignal } from '@preact/signals';
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { keepScroll, keptScroll, returns } from '../navigation.js';
import { plainKey } from './keys.js';
import { type Slots, slotsFor } from './slots.js';
import { scrollToRow, windowOf } from './window.js';

export interface Column<Row> {
  readonly id: string;
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** A track of a CSS grid: `minmax(0, 2fr)`, `90px`. */
  readonly track: string;
  /** Left out where there is little room. */
  readonly wide?: boolean;
  readonly end?: boolean;
  readonly sortable?: boolean;
}

interface Props<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** A second line of each row, for what matters in columns that are left out where there is little room. */
  readonly below?: (row: Row) => ComponentChildren;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly onOpen?: (row: Row) => void;
  readonly sort?: string;
  readonly onSort?: (column: string) => void;
  /** Keys of the rows that are selected, and what toggles one. */
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (row: Row) => void;
  /** Stays at its end as rows come. */
  readonly follow?: boolean;
  readonly onScrolledUp?: () => void;
  /** Of the open row. */
  readonly open?: string | null;
}

/** As the style has it (`--row`), which makes rows higher where they have a second line. */
const ROW = 40;
const PICK = '28px';

/** A table of any length: only the rows that are seen are in the page. One tab stop; arrows, `j` and `k` move in it. */
export function Table<Row>(props: Props<Row>) {
  const { label, columns, below, rows, keyOf, onOpen, sort, onSort, selected, onSelect, follow = false } = props;
  const { open = null } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const scroll = useSignal(0);
  const view = useSignal(600);
  const rowHeight = useSignal(ROW);
  const here = useSignal<string | null>(null);
  const extent = { count: rows.length, row: rowHeight.value, view: view.value };
  const second = rowHeight.value > ROW ? below : undefined;
  const { first, end, height, top } = windowOf(extent, scroll.value);
  const tracks = (shown: readonly Column<Row>[]) =>
    [...(onSelect === undefined ? [] : [PICK]), ...shown.map(({ track }) => track)].join(' ');
  const style = { '--columns': tracks(columns), '--narrow': tracks(columns.filter(({ wide }) => wide !== true)) };
  const shown = rows.slice(first, end);
  const slots = useRef<Slots>(new Map());
  slots.current = slotsFor(slots.current, shown.map(keyOf));
  const latest = useRef(props);
  latest.current = props;
  const acts = useRef<Acts<Row>>({
    click: (row, event) => {
      here.value = latest.current.keyOf(row);
      const inside = event.target instanceof Element ? event.target.closest('a, button, input, label') : null;
      if (inside === null) latest.current.onOpen?.(row);
    },
    select: (row) => {
      latest.current.onSelect?.(row);
      // What has the focus in a row would be in another one after the next scroll.
      scroller.current?.focus({ preventScroll: true });
    },
  }).current;
  const hereIndex = here.value === null ? -1 : rows.findIndex((row) => keyOf(row) === here.value);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      view.value = element.clientHeight;
      rowHeight.value = Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || ROW;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // A table may stay when somebody goes back: with the rows of where they were at first, which may be fewer than it was scrolled by.
  const back = returns.value;
  const wanted = useRef<{ readonly top: number; reached: number } | null>(null);
  useLayoutEffect(() => {
    wanted.current = { top: keptScroll(label), reached: 0 };
  }, [back]);
  useLayoutEffect(() => {
    const { current: element } = scroller;
    const { current: to } = wanted;
    if (element === null || to === null) return;
    element.scrollTop = to.top;
    to.reached = element.scrollTop;
    if (Math.abs(to.reached - to.top) < 1) wanted.current = null;
  }, [back, rows]);

  useEffect(() => {
    if (follow && scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [follow, rows]);

  const moveTo = (index: number): void => {
    const row = rows[Math.min(Math.max(0, index), rows.length - 1)];
    if (row === undefined || scroller.current === null) return;
    here.value = keyOf(row);
    scroller.current.scrollTop = scrollToRow(extent, scroller.current.scrollTop, rows.indexOf(row));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[hereIndex];
    const page = Math.max(1, Math.floor(view.value / extent.row) - 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: hereIndex + 1,
      j: hereIndex + 1,
      ArrowUp: hereIndex - 1,
      k: hereIndex - 1,
      PageDown: hereIndex + page,
      PageUp: hereIndex - page,
      Home: 0,
      End: rows.length - 1,
    };
    const key = plainKey(event) ?? '';
    const to = moves[key];
    if (to !== undefined) moveTo(to);
    else if (key === 'Enter' && row !== undefined && event.target === scroller.current) onOpen?.(row);
    else if ((key === 'x' || key === ' ') && row !== undefined) onSelect?.(row);
    else return;
    event.preventDefault();
  };

  return (
    <div class={below === undefined ? 'table' : 'table two-lines'} style={style}>
      <div class="table-head">
        {onSelect !== undefined && <span />}
        {columns.map(({ id, head, wide, end: atEnd, sortable }) => (
          <span key={id} class={`${wide ? 'wide' : ''} ${atEnd ? 'end' : ''}`}>
            {sortable && onSort !== undefined ? (
              <button type="button" onClick={() => onSort(id)}>
                {head}
                {sort === id ? ' ▲' : sort === `-${id}` ? ' ▼' : ''}
                {(sort === id || sort === `-${id}`) && <span class="unseen"> (sorted)</span>}
              </button>
            ) : (
              head
            )}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a table of all rows would be in the page as a whole */}
      <div
        ref={scroller}
        class="table-scroll"
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length}
        aria-multiselectable={onSelect !== undefined}
        aria-activedescendant={
          hereIndex < first || hereIndex >= end ? undefined : `${label}-${hereIndex}`.replaceAll(' ', '-')
        }
        tabIndex={0}
        data-table
        onKeyDown={onKeyDown}
        onScroll={(event) => {
          const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
          const before = scroll.value;
          scroll.value = scrollTop;
          if (scrollTop !== wanted.current?.reached) {
            wanted.current = null;
            keepScroll(label, scrollTop);
          }
          // Rows that have come since it went to the end are no wish to leave it.
          if (follow && scrollTop < before && scrollTop + clientHeight < scrollHeight - extent.row)
            props.onScrolledUp?.();
        }}
      >
        <div style={{ height: `${height}px`, position: 'relative' }} role="presentation">
          <div style={{ transform: `translateY(${top}px)` }} role="presentation">
            {shown.map((row, offset) => {
              const key = keyOf(row);
              return (
                <DrawnRow
                  key={slots.current.get(key)}
                  id={`${label}-${first + offset}`.replaceAll(' ', '-')}
                  place={first + offset + 1}
                  row={row}
                  name={key}
                  columns={columns}
                  below={second}
                  here={here.value === key}
                  selected={selected?.has(key) ?? open === key}
                  picked={onSelect !== undefined}
                  acts={acts}
                />
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

/** What a row does; the same object as long as the table is there, so that rows that stay the same are not drawn again. */
interface Acts<Row> {
  readonly click: (row: Row, event: MouseEvent) => void;
  readonly select: (row: Row) => void;
}

interface RowProps<Row> {
  readonly id: string;
  readonly place: number;
  readonly row: Row;
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined: there is room for all columns. */
  readonly below: ((row: Row) => ComponentChildren) | undefined;
  readonly here: boolean;
  readonly selected: boolean;
  readonly picked: boolean;
  readonly acts: Acts<Row>;
}

/** Drawn again when something in it has changed. */
class DrawnRow<Row> extends Component<RowProps<Row>> {
  override shouldComponentUpdate(next: RowProps<Row>): boolean {
    return differ(this.props, next);
  }

  render({ id, place, row, name, columns, below, here, selected, picked, acts }: RowProps<Row>) {
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys of all rows
      // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus of all rows
      // biome-ignore lint/a11y/useSemanticElements: a table of all rows would be in the page as a whole
      <div
        id={id}
        class={here ? 'table-row here' : 'table-row'}
        role="row"
        aria-rowindex={place}
        aria-selected={selected}
        onClick={(event) => acts.click(row, event)}
      >
        {picked && (
          // biome-ignore lint/a11y/useSemanticElements: as its row
          // biome-ignore lint/a11y/useFocusableInteractive: as its row
          <span role="gridcell" class="pick">
            <input
              type="checkbox"
              class="check"
              tabIndex={-1}
              aria-label={`Select ${name}`}
              checked={selected}
              onChange={() => acts.select(row)}
            />
          </span>
        )}
        <Cells row={row} columns={columns} below={below} />
      </div>
    );
  }
}

interface CellsProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly below: ((row: Row) => ComponentChildren) | undefined;
}

/** What a row says: not made again when it has only been moved, or selected. */
class Cells<Row> extends Component<CellsProps<Row>> {
  override shouldComponentUpdate(next: CellsProps<Row>): boolean {
    return differ(this.props, next);
  }

  render({ row, columns, below }: CellsProps<Row>) {
    return (
      <>
        {columns.map(({ id, cell, wide, end: atEnd }) => (
          // biome-ignore lint/a11y/useSemanticElements: as its row
          // biome-ignore lint/a11y/useFocusableInteractive: as its row
          <span key={id} role="gridcell" class={`cut ${wide ? 'wide' : ''} ${atEnd ? 'end' : ''}`}>
            {cell(row)}
          </span>
        ))}
        {below !== undefined && (
          // biome-ignore lint/a11y/useSemanticElements: as its row
          // biome-ignore lint/a11y/useFocusableInteractive: as its row
          <span role="gridcell" class="below cut quiet">
            {below(row)}
          </span>
        )}
      </>
    );
  }
}

function differ<Props extends object>(before: Props, after: Props): boolean {
  return (Object.keys(after) as (keyof Props)[]).some((name) => before[name] !== after[name]);
}
