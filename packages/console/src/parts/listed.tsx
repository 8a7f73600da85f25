import type { ComponentChildren } from 'preact';
import type { Kept } from '../live/reading.js';
import { place, setParameters } from '../navigation.js';
import { type Column, Table } from '../table/table.jsx';
import { Shown } from './loaded.jsx';
import { number } from './numbers.js';
import { Panes } from './pane.jsx';
import { safeText } from './safe-text.js';

interface Props<Row> {
  readonly of: Kept<readonly Row[]>;
  /** Several of them: `rules`; and one: `rule`. */
  readonly what: readonly [several: string, one: string];
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** What names a row, also in the URL. */
  readonly keyOf: (row: Row) => string;
  /** Of those that were read; all unless given. */
  readonly filter?: (rows: readonly Row[]) => readonly Row[];
  /** In the place of a list without rows. */
  readonly empty: (rows: readonly Row[]) => ComponentChildren;
  /** The row that is open, beside the list; `parameter` of the URL names it. */
  readonly pane?: { readonly parameter: string; readonly of: (row: Row) => ComponentChildren };
  /** The server was asked for so many, and may have more. */
  readonly most?: number;
  /** Where nothing is shown beside the list. */
  readonly onOpen?: (row: Row) => void;
}

/** A list of things that were read, and beside it the one that is open. */
export function Listed<Row>({
  of,
  what: [several, one],
  label,
  columns,
  keyOf,
  filter,
  empty,
  pane,
  most = Number.POSITIVE_INFINITY,
  onOpen,
}: Props<Row>) {
  const open = pane === undefined ? null : place.value.query.get(pane.parameter);
  const openIt = (name: string | null): void => {
    if (pane !== undefined) setParameters({ [pane.parameter]: name }, { replace: false });
  };
  return (
    <Shown of={of} what={several}>
      {(all) => {
        const rows = filter?.(all) ?? all;
        const row = open === null ? undefined : rows.find((each) => keyOf(each) === open);
        return (
          <>
            {open !== null && row === undefined && (
              <p>
                There is no {one} {safeText(open)}, or you may not look at it.{' '}
                <button type="button" class="button small" onClick={() => openIt(null)}>
                  Show all {several}
                </button>
              </p>
            )}
            <Panes open={row !== undefined}>
              <section class="card">
                {rows.length === 0 ? (
                  <div class="empty">{empty(all)}</div>
                ) : (
                  <Table
                    label={label}
                    columns={columns}
                    rows={rows}
                    keyOf={keyOf}
                    open={open}
                    onOpen={(each) => (onOpen === undefined ? openIt(keyOf(each)) : onOpen(each))}
                  />
                )}
              </section>
              {row !== undefined && pane?.of(row)}
            </Panes>
            {all.length >= most && (
              <p class="quiet">
                No more than {number(most)} {several} are shown: there may be others.
              </p>
            )}
          </>
        );
      }}
    </Shown>
  );
}
