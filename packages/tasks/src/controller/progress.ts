import type { ProgressFollower } from '../ports.js';

/** Lets those who follow a task know that its plugin has said something of its progress. */
export class ProgressNews {
  readonly #followers = new Map<string, Set<Follower>>();

  told(taskId: string): void {
    for (const follower of this.#followers.get(taskId) ?? []) follower.wake();
  }

  follow(taskId: string): ProgressFollower {
    const followers = this.#followers.get(taskId) ?? new Set();
    this.#followers.set(taskId, followers);
    const follower = new Follower(() => {
      followers.delete(follower);
      if (followers.size === 0) this.#followers.delete(taskId);
    });
    followers.add(follower);
    return follower;
  }
}

class Follower implements ProgressFollower {
  readonly stop: () => void;
  #wake: () => void = () => undefined;
  #news: Promise<void>;

  constructor(stop: () => void) {
    this.stop = stop;
    this.#news = this.#next();
  }

  async news(): Promise<void> {
    await this.#news;
    this.#news = this.#next();
  }

  wake(): void {
    this.#wake();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
