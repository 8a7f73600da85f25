import type { MusterError } from '@muster/wire/errors';

/** A promise that is settled from outside. */
export class Ready {
  readonly promise: Promise<void>;
  settled = false;
  #resolve: () => void = () => {};
  #reject: (error: MusterError) => void = () => {};

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever does not ask hears it from `onStatus`.
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
