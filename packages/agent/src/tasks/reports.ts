import type { AgentMessage, TaskNews, TaskRef } from '@muster/wire';
import type { OutputPiece } from '../execution/output.js';
import { OUTPUT_BACKLOG_BYTES } from '../limits.js';
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

/**
 * What the server is to be told of tasks, until the socket has room for it. Nothing that was taken is kept here: what was
 * lost on the way is told again by whoever knows it.
 */
export class Reports {
  readonly #link: TaskLink;
  readonly #rewind: () => void;
  readonly #news = new NewsDesk();
  #output: (TaskRef & OutputPiece)[] = [];
  #outputBytes = 0;
  /** Output was left to the hosts: what comes after it is not wanted either, until they send it again. */
  #left = false;
  #slots = false;
  #inventory = false;

  /** `rewind`: hosts are to send again what is not known to be stored. */
  constructor(link: TaskLink, rewind: () => void) {
    this.#link = link;
    this.#rewind = rewind;
  }

  slotsDue(): void {
    this.#slots = true;
    this.#link.readable();
  }

  inventoryDue(): void {
    this.#inventory = true;
    this.#link.readable();
  }

  tell(news: TaskNews): void {
    this.#news.push(news);
    this.#link.readable();
  }

  piece(piece: TaskRef & OutputPiece): void {
    this.#left ||= this.#outputBytes + piece.data.length > OUTPUT_BACKLOG_BYTES;
    if (this.#left) return;
    this.#outputBytes += piece.data.length;
    this.#output.push(piece);
    this.#link.readable();
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
    return this.takeNews() ?? this.#takeOutput();
  }

  takeNews(): AgentMessage | null {
    const news = this.#news.take(this.#link.bodyLimit);
    return news === null ? null : { type: 'task_news', news };
  }

  #takeOutput(): AgentMessage | null {
    const piece = this.#output.shift();
    if (piece === undefined) {
      if (!this.#left) return null;
      this.#dropOutput();
      this.#rewind();
      return null;
    }
    this.#outputBytes -= piece.data.length;
    const { id, attempt, stream, offset, data } = piece;
    return { type: 'task_output', id, attempt, stream, offset, data };
  }
}

function inventoryOf(held: Iterable<Held>): Extract<AgentMessage, { type: 'task_inventory' }>['held'] {
  return [...held].flatMap(({ ref, state }) => {
    const named = heldState(state);
    return named === null ? [] : [{ ...ref, state: named }];
  });
}
