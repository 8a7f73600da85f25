import type { Clock } from '@muster/base';
import type { LayerLog } from '@muster/platform/upkeep';
import type { App } from '../apps/types.js';
import type { Change, Check } from '../repository/job-store.js';
import type { Systems } from '../systems/types.js';
import type { Job } from '../types.js';
import type { Places } from './places.js';
import type { Web } from './web.js';

/** Where the definitions of apps are. */
export interface Apps {
  /** By its id, `NAME-VERSION`. null: it was deleted. */
  find(orgId: string, appId: string): Promise<App | null>;
}

/** What phases work with, whatever job it is for. */
export interface PhasePorts {
  readonly systems: Systems;
  readonly apps: Apps;
  readonly places: Places;
  readonly web: Web;
  readonly clock: Clock;
  readonly log: LayerLog;
}

/** What a phase has of the job that it is for. */
export interface PhaseContext extends PhasePorts {
  /** As it is stored. */
  readonly job: Job;
  /** This status was begun before, here or by another worker: what it does may have been done in part. */
  readonly again: boolean;
  /** Aborted when the phase is to end at once: something is asked of the job, or the worker lets it go. */
  readonly signal: AbortSignal;
  /** Stored when it resolves, and `job` is so. @throws what `JobStore.change` throws */
  change(change: Change, check?: Check | null): Promise<void>;
  /** What was seen: stored whatever is asked of the job meanwhile. */
  note(patch: Partial<Job>): Promise<void>;
  /** Something that is no status has happened to it: it stands in its history, and those who subscribed are told (sheet §9.2). */
  tell(event: string, description: string): Promise<void>;
  /** @throws the reason of `signal` when that is aborted first */
  wait(ms: number): Promise<void>;
  /** As `wait`, and ends sooner when `wake` is called. */
  waitOr(ms: number, woken: (wake: () => void) => () => void): Promise<void>;
  /** Before what others would see: the worker still has the job. @throws the reason of `signal` when it may not have it */
  mayAct(): void;
  /** Waits for its turn to start a program on this host (sheet §6.5). */
  launchTurn(host: string): Promise<void>;
}

/** Work for one status. When it resolves the job has another status, or the same again. */
export type Phase = (context: PhaseContext) => Promise<void>;
