import type { MusterError } from '../../errors.js';

/** A promise that is settled from outside. */
export class Deferred {
  readonly promise: Promise<void>;
  settled = false;
  #resolve: () => void = () => {};
  #reject: (error: MusterError) => void = () => {};

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A program that does not await it learns of failures from `onStatus`.
    this.promise.catch(() => {});
  }

  resolve(): void {
    this.settled = true;
    this.#resolve();
  }

  reject(error: MusterError): void {
    this.settled = true;
    this.#reject(error);
  }
}
