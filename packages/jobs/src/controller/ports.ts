import type { Organization } from '@muster/platform/auth';
import type { App } from '../apps/types.js';
import type { RoutingAttributes } from '../routing/attributes.js';
import type { System } from '../systems/types.js';
import type { Doer } from '../types.js';

/** What accepting a job needs of its neighbours. All of it is asked for each job, so that all of it answers from memory. */

export interface Apps {
  /** null: there is none of this id. */
  find(orgId: string, appId: string): Promise<App | null> | App | null;
}

/** The systems of an organization, as they are defined: nothing is connected to. */
export interface DefinedSystems {
  /** null: there is none of this name. */
  find(orgId: string, name: string): Promise<System | null> | System | null;
  /** Where jobs run that name none, and archive to. */
  defaultOf(orgId: string): Promise<System | null> | System | null;
}

export interface QueueChoice {
  /** The submission queue of a job with these attributes, whole (sheet §4.6). */
  choose(organization: Organization, attributes: RoutingAttributes): Promise<string> | string;
}

/** Who asks; `user` as an owner of jobs is called. */
export interface Asker extends Doer {
  /** Has `job:admin`. */
  readonly admin: boolean;
  /** Comma separated, of a token that says them. */
  readonly roles: string | null;
}
