import type { Clock } from '@muster/base';
import type { Identity, Organization } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import { Budget } from '@muster/platform/upkeep';
import { MusterError } from '../errors.js';
import { START_LIMITS } from '../limits.js';
import type { PushControllerService } from '../ports.js';
import type { PushSettings } from '../repository/settings.js';

export interface StartLimitsDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly config: Pick<ServerConfig, 'push'>;
  readonly controller: Pick<PushControllerService, 'unfinished'>;
}

interface Starts {
  readonly limit: number;
  readonly budget: Budget;
}

/** How many push jobs one user may start, and have at one time, in one organization. Starts are counted since the server has run. */
export class StartLimits {
  readonly #deps: StartLimitsDeps;
  readonly #starts = new Map<string, Starts>();

  constructor(deps: StartLimitsDeps) {
    this.#deps = deps;
  }

  /** To be called when nothing but storing it stands between the user and the job. @throws MusterError `push_jobs_running`, `push_jobs_started` */
  take(caller: Identity, org: Organization, settings: PushSettings): void {
    const { max_running, max_starts } = this.#deps.config.push;
    this.#checkRunning(caller, org, lesser(max_running, settings.maxRunning));
    this.#countStart(caller, org, lesser(max_starts, settings.maxStarts));
  }

  #checkRunning({ principalId, name }: Identity, org: Organization, limit: number): void {
    if (limit === 0) return;
    let running = 0;
    for (const { spec, org: its } of this.#deps.controller.unfinished()) {
      if (its.id === org.id && spec.requesterId === principalId) running += 1;
    }
    if (running >= limit) throw new MusterError('push_jobs_running', { name, running, limit });
  }

  #countStart({ principalId, name }: Identity, org: Organization, limit: number): void {
    if (limit === 0) return;
    const key = `${org.id}/${principalId}`;
    const now = this.#deps.clock.monotonic();
    const known = this.#starts.get(key);
    const starts =
      known?.limit === limit ? known : { limit, budget: new Budget({ perSecond: limit / 60, burst: limit }, now) };
    // The user who was here longest ago is forgotten first.
    this.#starts.delete(key);
    this.#starts.set(key, starts);
    const oldest = this.#starts.size > START_LIMITS.users ? this.#starts.keys().next() : undefined;
    if (oldest?.done === false) this.#starts.delete(oldest.value);
    if (starts.budget.spend(1, now)) return;
    const seconds = Math.max(1, Math.ceil(starts.budget.msUntil(1) / 1000));
    throw new MusterError('push_jobs_started', { name, limit, seconds });
  }
}

/** An organization narrows what the server allows; 0: any number. */
function lesser(ofServer: number, ofOrganization: number | null): number {
  if (ofOrganization === null) return ofServer;
  return ofServer === 0 ? ofOrganization : Math.min(ofServer, ofOrganization);
}
