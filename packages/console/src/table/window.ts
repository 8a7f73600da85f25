/** Which rows of a long list are in the page, and where. All in CSS pixels. */
export interface Window {
  /** First row that is drawn. */
  readonly first: number;
  /** Row after the last one that is drawn. */
  readonly end: number;
  /** Height of all rows, as the scroll bar shows it. */
  readonly height: number;
  /** Where the first drawn row stands in that height. */
  readonly top: number;
}

export interface Extent {
  readonly count: number;
  readonly row: number;
  readonly view: number;
}

/** Browsers cut elements off above some 17 million pixels; beyond this the scroll bar is a scale. */
export const MOST_PIXELS = 15_000_000;
/** Rows drawn above and below what is seen. */
export const OVERSCAN = 4;

export function windowOf(extent: Extent, scroll: number, overscan = OVERSCAN, most = MOST_PIXELS): Window {
  const { count, row, view } = extent;
  const height = Math.min(count * row, most);
  const offset = Math.min(Math.max(0, scroll), Math.max(0, height - view));
  const seen = offset + hidden(extent, height, offset);
  const first = Math.max(0, Math.floor(seen / row) - overscan);
  const end = Math.min(count, Math.ceil((seen + view) / row) + overscan);
  return { first: Math.min(first, end), end, height, top: offset - seen + Math.min(first, end) * row };
}

/** By how much what is seen at this place of the scroll bar lies further down than the place says. */
function hidden({ count, row, view }: Extent, height: number, offset: number): number {
  const full = count * row;
  if (full <= height || height <= view) return 0;
  return (offset / (height - view)) * (full - height);
}

/** Where to scroll so that this row is seen whole; the same place when it is. */
export function scrollToRow(extent: Extent, scroll: number, index: number, most = MOST_PIXELS): number {
  const { count, row, view } = extent;
  const full = count * row;
  const height = Math.min(full, most);
  const seen = Math.max(0, scroll) + hidden(extent, height, Math.max(0, scroll));
  const top = index * row;
  const wanted = top < seen ? top : top + row > seen + view ? top + row - view : null;
  if (wanted === null) return scroll;
  const room = full - view;
  const clamped = Math.min(Math.max(0, wanted), Math.max(0, room));
  return full <= height || room <= 0 ? clamped : (clamped / room) * (height - view);
}
