import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type DurableFiles, durableFiles } from './durable.js';
import type { StartKind } from './push/machine.js';

/** What was found of the agent's previous life. */
export interface LookBack {
  readonly incarnation: string;
  readonly start: StartKind;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The files by which a crash is told from a clean stop (Push Jobs §4.5, N11):
 *
 * - `incarnation` exists only between a clean stop and the next start, and holds the id to go on with;
 * - `known` tells that an agent ever ran here, so that a missing `incarnation` means a crash and not a first start.
 */
export class Journal {
  readonly #incarnation: string;
  readonly #known: string;
  readonly #files: DurableFiles;

  constructor(dataDir: string, files: DurableFiles = durableFiles) {
    this.#files = files;
    this.#incarnation = join(dataDir, 'incarnation');
    this.#known = join(dataDir, 'known');
  }

  /** At start: loads the incarnation id and deletes the file, before anything else happens. */
  async lookBack(): Promise<LookBack> {
    const saved = (await this.#files.read(this.#incarnation))?.trim() ?? null;
    await this.#files.remove(this.#incarnation);
    const known = (await this.#files.read(this.#known)) !== null;
    if (!known) await this.#files.write(this.#known, 'muster agent\n');
    const clean = saved !== null && UUID.test(saved);
    return {
      incarnation: clean ? saved : randomUUID(),
      start: clean ? 'clean' : known || saved !== null ? 'crash' : 'first',
    };
  }

  /** On a clean stop, last of all: the one that the next agent goes on with. */
  saveIncarnation(incarnation: string): Promise<void> {
    return this.#files.write(this.#incarnation, `${incarnation}\n`);
  }
}
