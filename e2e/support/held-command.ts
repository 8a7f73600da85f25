import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { groupOf, processesMarked } from './started-process.js';

/**
 * A real command that writes its node's name to a file when it starts and ends when the test says so: what ran, and how
 * often, can be read afterwards.
 */
export class HeldCommand {
  /** Text for an allow-list entry `{"shell": …}`. */
  readonly shell: string;
  readonly #runs: string;
  readonly #go: string;

  /** `options.stubborn`: does not end on TERM. */
  constructor(dir: string, name: string, options: { readonly stubborn?: boolean } = {}) {
    mkdirSync(dir, { recursive: true });
    this.#runs = join(dir, `${name}.runs`);
    this.#go = join(dir, `${name}.go`);
    this.shell = [
      ...(options.stubborn === true ? ["trap '' TERM"] : []),
      `echo "$CHEF_PUSH_NODE_NAME" >> ${this.#runs}`,
      `while [ ! -e ${this.#go} ]; do sleep 0.05; done`,
    ].join('; ');
  }

  get entry(): { readonly shell: string } {
    return { shell: this.shell };
  }

  release(): void {
    writeFileSync(this.#go, '');
  }

  /** Ready to be run again. */
  reset(): void {
    rmSync(this.#go, { force: true });
    rmSync(this.#runs, { force: true });
  }

  /** One name for each time it was started, in order of names. */
  get runs(): string[] {
    if (!existsSync(this.#runs)) return [];
    return readFileSync(this.#runs, 'utf8').trim().split('\n').sort();
  }

  /** How many of it run now; what it starts itself, such as `sleep`, comes and goes in its group and does not count. */
  get running(): number {
    return processesMarked('', this.#runs).filter((pid) => groupOf(pid) === pid).length;
  }
}
