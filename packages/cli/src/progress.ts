import type { PushJobNodeStatus } from './api.js';
import { formatDuration } from './duration.js';
import { REDRAW_MS } from './limits.js';
import { nodesText } from './node-words.js';
import type { StreamName } from './output.js';
import { shortened } from './printable.js';
import type { Tally } from './tally.js';
import type { World } from './world.js';

const BAR_WIDTH = 16;
const DEFAULT_COLUMNS = 80;

/** Counts worth a word in the line, in this order; the others show in the bar only. */
const TOLD: readonly (readonly [PushJobNodeStatus, string])[] = [
  ['ready', 'ready'],
  ['running', 'running'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['crashed', 'crashed'],
  ['timed_out', 'timed out'],
  ['aborted', 'aborted'],
  ['nacked', 'refused'],
  ['unavailable', 'unavailable'],
];

interface LineOptions {
  readonly columns?: number;
  readonly unicode?: boolean;
  readonly trouble?: string | null;
  /** What nodes do before they vote; empty: nothing that takes time. */
  readonly beforeVote?: string;
}

/**
 * One line for a job of any size: phase, bar, how many of how many nodes have ended, how long, what became of them.
 * Never as wide as `columns`, so that a terminal never wraps it.
 */
export function progressLine(tally: Tally, elapsedMs: number, options: LineOptions = {}): string {
  const { ended, total } = tally;
  const filled = total === 0 ? 0 : Math.floor((Math.min(ended, total) / total) * BAR_WIDTH);
  const [full, empty] = options.unicode === true ? ['━', '╌'] : ['#', '.'];
  const bar = full.repeat(filled) + empty.repeat(BAR_WIDTH - filled);
  const told = TOLD.filter(([status]) => tally.count(status) > 0).map(
    ([status, word]) => `${tally.count(status)} ${word}`,
  );
  const trouble = options.trouble === null || options.trouble === undefined ? [] : [`(${options.trouble})`];
  const before = options.beforeVote ?? '';
  const busy = before !== '' && isVoting(tally) ? [before] : [];
  const head = `${tally.status} ${bar} ${ended}/${total}`;
  const line = [head, formatDuration(elapsedMs / 1000), ...trouble, ...busy, ...told].join('  ');
  const most = Math.max(20, (options.columns ?? DEFAULT_COLUMNS) - 1);
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

function isVoting(tally: Tally): boolean {
  return tally.status === 'voting' && tally.undecided > 0;
}

/** Text of a node on its way to the screen. */
interface Passed {
  readonly to: StreamName;
  readonly text: string;
  /** Begins a line. */
  readonly apart?: true;
}

/**
 * The status line of a watched job. On a terminal it is redrawn in place, at most ten times a second; elsewhere a
 * line is written only when the job changes its state, so that logs stay short.
 */
export class StatusLine {
  readonly #world: World;
  readonly #tally: Tally;
  /** Redrawn in place. */
  readonly live: boolean;
  readonly #startedAt: number;
  #trouble: string | null = null;
  /** Stands below the line. */
  #remark = '';
  /** The same, unless there is a remark. */
  #waiting = '';
  #beforeVote = '';
  #told = '';
  #drawnAt = Number.NEGATIVE_INFINITY;
  #shown = false;
  /** Where a line of a node stands that has not ended. */
  #unfinished: StreamName | null = null;
  /** While a question has the screen: what waits until it has not. */
  #held: (() => void)[] | null = null;
  #ticker: NodeJS.Timeout | null = null;

  constructor(world: World, tally: Tally) {
    this.#world = world;
    this.#tally = tally;
    this.live = world.stderr.isTTY === true && world.env.TERM !== 'dumb';
    this.#startedAt = world.now();
    if (this.live) this.#ticker = setInterval(() => this.update(), 1000).unref();
  }

  /** Something may have changed. Cheap enough to be called for every event. */
  update(): void {
    if (this.#held !== null) return;
    if (!this.live) {
      this.#tell(this.#tally.status);
      return;
    }
    const now = this.#world.now();
    if (now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    this.#draw();
  }

  /** What stands below the line from now on, where it is redrawn. */
  remark(text: string): void {
    this.#remark = text;
    if (this.live) this.update();
  }

  /** What the job waits for from now on; elsewhere that is told once. Empty: for nothing that is worth a word. */
  waiting(text: string): void {
    const begins = this.#waiting === '' && text !== '';
    this.#waiting = text;
    if (this.live) this.update();
    else if (begins) this.#say(text);
  }

  /** What nodes do before they vote; empty: nothing that takes time. */
  beforeVote(text: string): void {
    this.#beforeVote = text;
  }

  trouble(reason: string | null): void {
    if (reason === this.#trouble) return;
    this.#trouble = reason;
    if (this.live) this.update();
    else if (reason !== null) this.#say(`${reason}; trying again, the job goes on`);
  }

  /** Takes the line away, and ends the one that a node has begun, so that something else can be written. */
  clear(): void {
    this.#endLine();
    this.#wipe();
  }

  #wipe(): void {
    if (this.#shown) this.#world.stderr.write('\r\u001b[J');
    this.#shown = false;
  }

  /** Leaves the screen to a question until `release`. */
  hold(): void {
    this.#held ??= [];
    this.clear();
  }

  release(): void {
    for (const go of this.#held ?? []) go();
    this.#held = null;
    this.update();
  }

  /** Writes something else in the place of the line; a question is waited for. */
  async above(write: () => void | Promise<void>): Promise<void> {
    await this.#free();
    this.clear();
    await write();
  }

  /** The same with what nodes write: text that does not end a line is gone on with, unless something else came in between. */
  async pass<T extends Passed>(texts: readonly T[], write: (text: T) => Promise<void>): Promise<void> {
    for (const each of texts) {
      await this.#free();
      if (each.to !== this.#unfinished || each.apart === true) this.#endLine();
      this.#wipe();
      this.#unfinished = each.text.endsWith('\n') ? null : each.to;
      await write(each);
    }
  }

  async #free(): Promise<void> {
    while (this.#held !== null) await new Promise<void>((resolve) => this.#held?.push(resolve));
  }

  #endLine(): void {
    if (this.#unfinished !== null) this.#world[this.#unfinished].write('\n');
    this.#unfinished = null;
  }

  #say(text: string): void {
    this.#endLine();
    this.#world.stderr.write(`${text}\n`);
  }

  /** The job ended, or nobody watches any more. */
  done(): void {
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#ticker = null;
    if (!this.live) this.#tell(this.#tally.status);
    this.clear();
  }

  #tell(status: string): void {
    if (status === this.#told || status === 'new') return;
    this.#told = status;
    const { ended, total } = this.#tally;
    const how = status === 'quorum_failed' ? 'nothing ran' : `${ended} of ${nodesText(total)} done`;
    const busy = this.#beforeVote !== '' && isVoting(this.#tally) ? `, ${this.#beforeVote}` : '';
    this.#say(`${status}: ${how}${busy}`);
  }

  #draw(): void {
    // It would stand in the middle of the other.
    if (this.#unfinished !== null) return;
    const { env, stderr } = this.#world;
    const unicode = /utf-?8/i.test(`${env.LC_ALL ?? ''}${env.LC_CTYPE ?? ''}${env.LANG ?? ''}`);
    // Some terminals say that they have no columns.
    const columns = stderr.columns || DEFAULT_COLUMNS;
    const line = progressLine(this.#tally, this.#world.now() - this.#startedAt, {
      columns,
      unicode,
      trouble: this.#trouble,
      beforeVote: this.#beforeVote,
    });
    const remark = this.#remark === '' ? this.#waiting : this.#remark;
    const below = remark === '' ? '' : `\n\u001b[2K${shortened(remark, columns - 1)}\r\u001b[1A`;
    // With what stood below, which may be more than there is now.
    stderr.write(`\r\u001b[J${line}${below}`);
    this.#shown = true;
  }
}
