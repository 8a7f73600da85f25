import type { Kysely } from 'kysely';
import type { GroupCommit } from './group-commit.js';
import type { Hints } from './hints/index.js';
import type { Lane } from './lane.js';
import type { Schema } from './schema.js';
import type { Trouble } from './types.js';

/** A database that was opened and migrated: how it is written to, read, and looked after. */
export interface Opened {
  readonly lane: Lane;
  readonly read: Kysely<Schema>;
  readonly hints: Hints & { close(): Promise<void> };
  /** Begins to look after the health of the database. What it finds out in time is told to `commits`. */
  watch(commits: Pick<GroupCommit, 'hang' | 'resume'>): Watch;
}

export interface Watch {
  /** What it has found; null when all is well. */
  trouble(): Trouble | null;
  /** A transaction was stored: proof that the database takes writes. */
  stored(): void;
  stop(): Promise<void>;
}
