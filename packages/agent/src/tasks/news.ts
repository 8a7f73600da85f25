import { LIMITS, type TaskNews } from '@muster/wire';
import { NEWS_MARGIN } from '../limits.js';
import { attemptKey } from './key.js';

/** Bytes of a piece of news without its texts, at most. */
const SHAPE = 400;

/** News on their way to the server: all of one turn go together, as many as fit into a message. */
export class NewsDesk {
  readonly #waiting: TaskNews[] = [];
  /** Of what waits: only the latest progress of an attempt is worth telling. */
  readonly #progress = new Map<string, number>();

  get size(): number {
    return this.#waiting.length;
  }

  push(news: TaskNews): void {
    if (news.event === 'progress') {
      const key = attemptKey(news);
      const place = this.#progress.get(key);
      if (place !== undefined) {
        this.#waiting[place] = news;
        return;
      }
      this.#progress.set(key, this.#waiting.length);
    }
    this.#waiting.push(news);
  }

  /** What fits into a body of `bodyLimit` bytes; null: there is nothing. One that does not fit alone goes alone. */
  take(bodyLimit: number): readonly TaskNews[] | null {
    if (this.#waiting.length === 0) return null;
    const room = bodyLimit - NEWS_MARGIN;
    let size = 0;
    let count = 0;
    for (const news of this.#waiting) {
      size += sizeOf(news);
      if (count > 0 && (size > room || count >= LIMITS.tasksAtOnce)) break;
      count += 1;
    }
    this.#progress.clear();
    return this.#waiting.splice(0, count);
  }

  /** It is told again, whatever of it waits. */
  drop(): void {
    this.#waiting.length = 0;
    this.#progress.clear();
  }
}

function sizeOf(news: TaskNews): number {
  switch (news.event) {
    case 'started':
    case 'cancelled':
      return SHAPE;
    case 'progress':
      return SHAPE + sizeOfText(news.text);
    case 'returned':
    case 'lost':
      return SHAPE + sizeOfText(news.reason);
    case 'finished': {
      const { reason, signal, stdout, stderr } = news.result;
      return SHAPE + sizeOfText(reason) + sizeOfText(signal) + sizeOfText(stdout) + sizeOfText(stderr);
    }
  }
}

function sizeOfText(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(JSON.stringify(text));
}

/** An attempt in an inventory: its id of 24 digits, its number, its state. */
const HELD_EACH = 48;
const INVENTORY_MARGIN = 1_024;

/** Most attempts that an agent may have, so that an inventory of them fits. */
export function mostHeld(bodyLimit: number): number {
  return Math.max(Math.min(LIMITS.tasksHeld, Math.floor((bodyLimit - INVENTORY_MARGIN) / HELD_EACH)), 1);
}

/** Most bytes of each stream that may come with a result, so that the message fits. */
export function inlineBytes(bodyLimit: number): number {
  return Math.max(Math.min(LIMITS.inlineOutputBytes, Math.floor((bodyLimit - NEWS_MARGIN) / 2)), 0);
}
