import type { Extent } from '../table/window.js';

/** Which lines are drawn when long ones take several rows, and where. */
export interface WrappedWindow {
  readonly first: number;
  readonly end: number;
  readonly height: number;
  readonly top: number;
  /** How much of the first line, of all of its rows, is above what is seen. */
  readonly part: number;
}

/** As browsers cut elements off beyond this. */
const MOST_PIXELS = 15_000_000;

/**
 * Nobody knows how many rows a line takes before it is drawn: the scroll bar counts lines. A line passes by, however many rows it
 * has, while the bar goes one on; at its end the last line stands at the top.
 */
export function wrappedWindow({ count, row, view }: Extent, scroll: number): WrappedWindow {
  if (count === 0) return { first: 0, end: 0, height: 0, top: 0, part: 0 };
  const room = roomOf(count, row);
  const at = Math.min(Math.max(0, scroll), room);
  const line = room === 0 ? 0 : (at / room) * (count - 1);
  const first = Math.min(count - 1, Math.floor(line));
  const end = Math.min(count, first + Math.ceil(view / row) + 1);
  return { first, end, height: room + view, top: at, part: line - first };
}

/** Where the scroll bar stands when this line is the first. */
export function wrappedPlace({ count, row }: Extent, index: number): number {
  return count <= 1 ? 0 : (Math.min(index, count - 1) / (count - 1)) * roomOf(count, row);
}

function roomOf(count: number, row: number): number {
  return Math.min((count - 1) * row, MOST_PIXELS);
}
