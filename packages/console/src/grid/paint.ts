import type { JobNodeStatus } from '../api/types.js';

/** How a grid of cells fits into a width: as large as it can be, and no higher than it may. */
export interface Layout {
  readonly columns: number;
  readonly rows: number;
  /** Pixels of a cell, the gap to the next one included. */
  readonly cell: number;
  readonly gap: number;
}

const LARGEST = 26;
const SMALLEST = 5;
const HEIGHT = 420;

export function layoutOf(count: number, width: number, height = HEIGHT): Layout {
  let cell = LARGEST;
  while (cell > SMALLEST) {
    const columns = Math.max(1, Math.floor(width / cell));
    if (Math.ceil(count / columns) * cell <= height) break;
    cell -= 1;
  }
  const columns = Math.max(1, Math.floor(width / cell));
  return { columns, rows: Math.ceil(count / columns), cell, gap: cell >= 14 ? 3 : cell >= 9 ? 2 : 1 };
}

/** The cell under a point; -1: none. */
export function cellAt({ columns, cell }: Layout, count: number, x: number, y: number): number {
  const column = Math.floor(x / cell);
  const index = Math.floor(y / cell) * columns + column;
  return x < 0 || y < 0 || column >= columns || index >= count ? -1 : index;
}

/** Where the square of a cell is, in pixels. */
export function squareOf({ columns, cell, gap }: Layout, index: number): { x: number; y: number; size: number } {
  return { x: (index % columns) * cell, y: Math.floor(index / columns) * cell, size: cell - gap };
}

/** Where a key leads from a cell; null: it is no such key. */
export function neighbour({ columns, rows }: Layout, count: number, index: number, key: string): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
    PageUp: -columns * Math.max(1, Math.floor(rows / 2)),
    PageDown: columns * Math.max(1, Math.floor(rows / 2)),
  };
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  const step = steps[key];
  if (step === undefined) return null;
  const to = index + step;
  return to < 0 || to >= count ? index : to;
}

/** Colours by tone, as the page has them now. */
export type Palette = Readonly<Record<'ok' | 'run' | 'warn' | 'bad' | 'idle' | 'line' | 'card', string>>;

/** Colour of a cell, whether it is filled, and the mark inside, so that no two statuses differ by colour alone. */
const MARKS: Readonly<Record<JobNodeStatus, readonly [tone: keyof Palette, filled: boolean, mark: string]>> = {
  succeeded: ['ok', true, 'check'],
  failed: ['bad', true, 'cross'],
  crashed: ['bad', true, 'bang'],
  timed_out: ['bad', true, 'clock'],
  aborted: ['warn', true, 'stop'],
  nacked: ['warn', false, 'slash'],
  unavailable: ['warn', false, 'dash'],
  was_ready: ['idle', false, 'dot'],
  running: ['run', true, 'play'],
  ready: ['idle', false, 'dot'],
  new: ['line', false, ''],
};

/** Cells that are painted in one frame: the page is to answer between them. */
const MOST_AT_ONCE = 2000;

/** What is painted: a status for each cell that is. */
export type Painted = (JobNodeStatus | undefined)[];

/**
 * Cells that are not as they are painted, with the same layout and palette, up to as many as fit into a frame.
 * @returns whether all are now as they should be; `painted` has what is.
 */
export function paint(
  canvas: CanvasRenderingContext2D,
  statuses: readonly JobNodeStatus[],
  painted: Painted,
  layout: Layout,
  palette: Palette,
): boolean {
  const { size } = squareOf(layout, 0);
  const radius = size >= 12 ? 3 : size >= 7 ? 2 : 0;
  let done = 0;
  for (const [index, status] of statuses.entries()) {
    const before = painted[index];
    if (before === status) continue;
    if (done++ === MOST_AT_ONCE) return false;
    painted[index] = status;
    const [tone, filled, mark] = MARKS[status];
    const { x, y } = squareOf(layout, index);
    if (before !== undefined) canvas.clearRect(x, y, size, size);
    // A line lies within its cell, so that another one can be painted without it.
    const line = filled ? 0 : size >= 12 ? 1.5 : 1;
    const side = size - line;
    canvas.beginPath();
    if (radius === 0) canvas.rect(x + line / 2, y + line / 2, side, side);
    else canvas.roundRect(x + line / 2, y + line / 2, side, side, radius);
    if (filled) {
      canvas.fillStyle = palette[tone];
      canvas.fill();
    } else {
      canvas.strokeStyle = palette[tone];
      canvas.lineWidth = line;
      canvas.stroke();
    }
    if (size >= 9) markIn(canvas, mark, x, y, size, filled ? palette.card : palette[tone]);
    else if (mark === 'cross' || mark === 'bang' || mark === 'clock') {
      // Too small for a mark: what failed has a hole.
      canvas.fillStyle = palette.card;
      canvas.fillRect(x + size / 3, y + size / 3, size / 3, size / 3);
    }
  }
  return true;
}

const LINES: Readonly<Record<string, readonly (readonly (readonly [number, number])[])[]>> = {
  check: [
    [
      [0.24, 0.54],
      [0.43, 0.72],
      [0.77, 0.3],
    ],
  ],
  cross: [
    [
      [0.28, 0.28],
      [0.72, 0.72],
    ],
    [
      [0.72, 0.28],
      [0.28, 0.72],
    ],
  ],
  bang: [
    [
      [0.5, 0.22],
      [0.5, 0.56],
    ],
    [
      [0.5, 0.74],
      [0.5, 0.78],
    ],
  ],
  clock: [
    [
      [0.5, 0.24],
      [0.5, 0.54],
      [0.72, 0.66],
    ],
  ],
  slash: [
    [
      [0.25, 0.25],
      [0.75, 0.75],
    ],
  ],
  dash: [
    [
      [0.27, 0.5],
      [0.73, 0.5],
    ],
  ],
};

function markIn(
  canvas: CanvasRenderingContext2D,
  mark: string,
  x: number,
  y: number,
  size: number,
  colour: string,
): void {
  canvas.fillStyle = colour;
  canvas.strokeStyle = colour;
  canvas.lineWidth = Math.max(1.3, size / 9);
  canvas.beginPath();
  if (mark === 'play') {
    canvas.moveTo(x + size * 0.35, y + size * 0.25);
    canvas.lineTo(x + size * 0.75, y + size * 0.5);
    canvas.lineTo(x + size * 0.35, y + size * 0.75);
    canvas.fill();
  } else if (mark === 'stop') canvas.fillRect(x + size * 0.33, y + size * 0.33, size * 0.34, size * 0.34);
  else if (mark === 'dot') {
    canvas.arc(x + size / 2, y + size / 2, size * 0.14, 0, Math.PI * 2);
    canvas.fill();
  } else {
    for (const line of LINES[mark] ?? []) {
      for (const [index, [dx, dy]] of line.entries()) {
        if (index === 0) canvas.moveTo(x + dx * size, y + dy * size);
        else canvas.lineTo(x + dx * size, y + dy * size);
      }
    }
    canvas.stroke();
  }
}
