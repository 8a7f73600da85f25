/** What a socket within this process has received and its reader has not taken yet. */
export class Inbox implements AsyncIterable<readonly Buffer[]> {
  closed = false;
  readonly #messages: (readonly Buffer[])[] = [];
  #wake: (() => void) | null = null;

  put(frames: readonly Buffer[]): void {
    if (this.closed) return;
    this.#messages.push(frames);
    this.#wake?.();
  }

  end(): void {
    this.closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly Buffer[]> {
    while (!this.closed) {
      const frames = this.#messages.shift();
      if (frames !== undefined) {
        yield frames;
        continue;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }
}
