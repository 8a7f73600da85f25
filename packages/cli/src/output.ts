import { printable, printableLines } from './printable.js';
import { type Cell, tableLines } from './table.js';
import type { World } from './world.js';

export type Colour = 'green' | 'red' | 'yellow' | 'cyan' | 'blue' | 'magenta' | 'dim' | 'bold';
const CODES: Readonly<Record<Colour, number>> = {
  green: 32,
  red: 31,
  yellow: 33,
  cyan: 36,
  blue: 34,
  magenta: 35,
  dim: 2,
  bold: 1,
};

/** What a status looks like to a person in a hurry. */
const STATUS_COLOURS: Readonly<Record<string, Colour>> = {
  succeeded: 'green',
  complete: 'green',
  available: 'green',
  up: 'green',
  done: 'green',
  ok: 'green',
  running: 'cyan',
  voting: 'cyan',
  ready: 'cyan',
  new: 'cyan',
  failed: 'red',
  crashed: 'red',
  timed_out: 'red',
  'timed out': 'red',
  quorum_failed: 'red',
  aborted: 'red',
  denied: 'red',
  forged: 'red',
  down: 'red',
  nacked: 'yellow',
  refused: 'yellow',
  unavailable: 'yellow',
  was_ready: 'yellow',
  'not started': 'yellow',
  warning: 'yellow',
  claimed: 'cyan',
  open: 'green',
  paused: 'yellow',
  draining: 'yellow',
  held: 'yellow',
  blocked: 'yellow',
  cancelled: 'yellow',
  terminated: 'red',
  orphaned: 'red',
  finished: 'green',
  stopped: 'yellow',
  accepted: 'cyan',
};

/** Of this process, and of commands on nodes. */
export type StreamName = 'stdout' | 'stderr';

export interface TableLook {
  /** Of the status, row by row. */
  readonly colours?: readonly (Colour | undefined)[];
  /** The last column is cut to what a terminal can show; a file or a pipe gets it whole. */
  readonly fit?: boolean;
}

/**
 * Everything a command says. Results go to stdout, remarks to stderr, so that pipes carry results only. With
 * `--json` results are one document (`document`) or JSON lines (`record`) and the text forms are silent.
 */
export class Output {
  readonly json: boolean;
  readonly #world: World;
  readonly #colour: boolean;

  constructor(world: World, options: { readonly json: boolean }) {
    this.#world = world;
    this.json = options.json;
    // https://no-color.org: any non-empty value turns colours off.
    const refused = (world.env.NO_COLOR ?? '') !== '' || world.env.TERM === 'dumb';
    this.#colour = world.stdout.isTTY === true && !refused && !options.json;
  }

  /** A line of the result, for people. */
  line(text = '', to: StreamName = 'stdout'): void {
    if (!this.json) this.#world[to].write(`${text}\n`);
  }

  /** The whole result, for programs. */
  document(value: unknown): void {
    if (this.json) this.#world.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  }

  /** One of many results, for programs. */
  record(value: unknown): void {
    if (this.json) this.#world.stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** A remark that is not part of the result. */
  note(text: string): void {
    this.#world.stderr.write(`${text}\n`);
  }

  /** `statusColumn` is painted by the meaning of its words, or as `look` says. */
  table(
    headings: readonly string[],
    rows: readonly (readonly Cell[])[],
    statusColumn = -1,
    look: TableLook = {},
  ): void {
    if (this.json) return;
    const paint = (text: string, column: number, row: number) => {
      if (column !== statusColumn) return text;
      const colour = look.colours?.[row];
      return colour === undefined ? this.status(text) : this.paint(text, colour);
    };
    const width = look.fit === true ? this.columns : undefined;
    for (const line of tableLines(headings, rows, paint, width)) this.line(line);
  }

  /** Characters of a line; without bounds where it is no terminal. */
  get columns(): number {
    const { isTTY, columns } = this.#world.stdout;
    return isTTY === true && columns !== undefined ? columns : Number.POSITIVE_INFINITY;
  }

  /** Whether a person reads it, on a screen. */
  get onTerminal(): boolean {
    return this.#world.stdout.isTTY === true && !this.json;
  }

  /** What is known of one thing, a line each, below each other. */
  fields(rows: readonly (readonly [title: string, value: string])[]): void {
    const width = Math.max(...rows.map(([title]) => title.length));
    for (const [title, value] of rows) this.line(`${title.padEnd(width)}  ${printable(value)}`);
  }

  /** A status word in its colour. */
  status(word: string): string {
    const colour = STATUS_COLOURS[word.toLowerCase().replaceAll(' ', '_')];
    return colour === undefined ? word : this.paint(word, colour);
  }

  paint(text: string, colour: Colour): string {
    return this.#colour ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text;
  }

  /**
   * For what a remote command wrote. `bytes`: as it is, but to a terminal, which would obey its control characters.
   * `text`, which people read beside other text: control characters are shown (`printable`) wherever it goes, as a pipe
   * may well end on a terminal.
   */
  foreign(as: 'bytes' | 'text', to: StreamName = 'stdout'): (data: Uint8Array) => Promise<void> {
    if (as === 'bytes' && this.#world[to].isTTY !== true) return (data) => this.raw(data, to);
    // A character may come in two pieces.
    const decoder = new TextDecoder();
    return (data) => this.raw(Buffer.from(printableLines(decoder.decode(data, { stream: true }))), to);
  }

  /** Bytes as they are, never running ahead of a slow reader. */
  async raw(data: Uint8Array, to: StreamName = 'stdout'): Promise<void> {
    const sink = this.#world[to];
    if (sink.write(data) || sink.once === undefined) return;
    await new Promise<void>((resolve) => sink.once?.('drain', resolve));
  }
}
