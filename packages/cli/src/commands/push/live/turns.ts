import { TURN_PATIENCE_MS } from '../../../limits.js';
import type { FeedEvent } from '../../../sse.js';

/**
 * What a job tells and what its nodes write come by two ways, of which either may be ahead. Output of a node waits until the job
 * has told that the node runs, so that it stands below the line of its batch; not for long, and not again once that was in vain.
 */
export class Turns {
  readonly #begun = new Set<string>();
  #waiting: { readonly node: string; readonly go: () => void } | null = null;
  #open: boolean;

  /** @param open Nothing is told any more: nobody waits. */
  constructor(open: boolean) {
    this.#open = open;
  }

  event({ name, data }: FeedEvent): void {
    if (name === 'job_complete') this.open();
    if (name !== 'run_start' && name !== 'run_complete') return;
    const { node } = data as { readonly node?: unknown };
    this.#begun.add(String(node));
    if (this.#waiting?.node === node) this.#waiting?.go();
  }

  open(): void {
    this.#open = true;
    this.#waiting?.go();
  }

  /** One caller at a time. */
  async of(node: string): Promise<void> {
    if (this.#open || this.#begun.has(node)) return;
    const patience = setTimeout(() => this.open(), TURN_PATIENCE_MS).unref();
    await new Promise<void>((go) => {
      this.#waiting = { node, go };
    });
    this.#waiting = null;
    clearTimeout(patience);
  }
}
