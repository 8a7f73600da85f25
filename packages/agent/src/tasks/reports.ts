import type { Clock, Timer } from '@muster/base';
import type { AgentMessage, TaskNews, TaskRef } from '@muster/wire';
import type { OutputPiece } from '../execution/output.js';
import { NEWS_PAUSE_MS, OUTPUT_BACKLOG_BYTES } from '../limits.js';
import { type Held, heldState } from './held.js';
import { NewsDesk } from './news.js';
import { type Offer, offeredPlugins } from './plugins.js';

/** What the slot asks of the connection to the server. */
export interface TaskLink {
  /** Most bytes of a message's body; 0 before the first connection. */
  readonly bodyLimit: number;
  /** There may be something to take. */
  readable(): void;
}

export interface ReportsSetup {
  readonly link: TaskLink;
  readonly clock: Clock;
  /** How many tasks wait for a slot. */
  readonly waiting: () => number;
  /** Hosts are to send again what is not known to be stored. */
  readonly rewind: () => void;
}

/**
 * What the server is to be told of tasks, until the socket has room for it. Nothing that was taken is kept here: what was
 * lost on the way is told again by whoever knows it.
 */
export class Reports {
  readonly #setup: ReportsSetup;
  readonly #news = new NewsDesk();
  /** While it is there, news were told a moment ago. */
  #pause: Timer | null = null;
  #output: (TaskRef & OutputPiece)[] = [];
  #outputBytes = 0;
  /** Output was left to the hosts: what comes after it is not wanted either, until they send it again. */
  #left = false;
  #slots = false;
  #inventory = false;

  constructor(setup: ReportsSetup) {
    this.#setup = setup;
  }

  slotsDue(): void {
    this.#slots = true;
    this.#setup.link.readable();
  }

  inventoryDue(): void {
    this.#inventory = true;
    this.#setup.link.readable();
  }

  tell(news: TaskNews): void {
    this.#news.push(news);
    this.#setup.link.readable();
  }

  piece(piece: TaskRef & OutputPiece): void {
    this.#left ||= this.#outputBytes + piece.data.length > OUTPUT_BACKLOG_BYTES;
    if (this.#left) return;
    this.#outputBytes += piece.data.length;
    this.#output.push(piece);
    this.#setup.link.readable();
  }

  /** Nothing is told any more but by `takeNews`. */
  stop(): void {
    this.#pause?.cancel();
    this.#pause = null;
  }

  /** All of it is told again by those who know it. */
  drop(): void {
    this.#news.drop();
    this.#dropOutput();
  }

  #dropOutput(): void {
    this.#output = [];
    this.#outputBytes = 0;
    this.#left = false;
  }

  /** The next message; null: there is none. */
  take(offer: Offer, held: Iterable<Held>): AgentMessage | null {
    if (this.#slots) {
      this.#slots = false;
      const { max, activequeues, ignorequeues } = offer;
      return { type: 'task_slots', max, plugins: offeredPlugins(offer), activequeues, ignorequeues };
    }
    if (this.#inventory) {
      this.#inventory = false;
      return { type: 'task_inventory', held: inventoryOf(held) };
    }
    return (this.#newsRest() ? null : this.#takeNewsAndPause()) ?? this.#takeOutput();
  }

  /**
   * Each message costs the server and this node as much as several tasks do. News that are told a little later keep nobody
   * waiting as long as the slots have more to go on with than the server could give for them.
   */
  #newsRest(): boolean {
    return this.#pause !== null && this.#news.size < this.#setup.waiting();
  }

  #takeNewsAndPause(): AgentMessage | null {
    const message = this.takeNews();
    if (message === null) return null;
    this.#pause ??= this.#setup.clock.after(NEWS_PAUSE_MS, () => {
      this.#pause = null;
      if (this.#news.size > 0) this.#setup.link.readable();
    });
    return message;
  }

  /** Those that rest, too. */
  takeNews(): AgentMessage | null {
    const news = this.#news.take(this.#setup.link.bodyLimit);
    return news === null ? null : { type: 'task_news', news };
  }

  #takeOutput(): AgentMessage | null {
    const piece = this.#output.shift();
    if (piece === undefined) {
      if (!this.#left) return null;
      this.#dropOutput();
      this.#setup.rewind();
      return null;
    }
    this.#outputBytes -= piece.data.length;
    const { id, attempt, stream, offset, data } = piece;
    return { type: 'task_output', id, attempt, stream, offset, data };
  }
}

function inventoryOf(held: Iterable<Held>): Extract<AgentMessage, { type: 'task_inventory' }>['held'] {
  return [...held].flatMap(({ ref: { id, attempt }, state }) => {
    const named = heldState(state);
    return named === null ? [] : [{ id, attempt, state: named }];
  });
}
