import type { Clock } from '@muster/base';
import type { Identity, Organization } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import { MusterError } from '../errors.js';
import { START_LIMITS } from '../limits.js';
import type { PushControllerService } from '../ports.js';
import type { PushSettings } from '../repository/settings.js';

const MINUTE_MS = 60_000;

export interface StartLimitsDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly config: Pick<ServerConfig, 'push'>;
  readonly controller: Pick<PushControllerService, 'unfinished'>;
}

/** How many push jobs one user may start, and have at one time, in one organization. Starts are counted since the server has run. */
export class StartLimits {
  readonly #deps: StartLimitsDeps;
  /** When each of the last minute was, by user: as many as the limit at most. */
  readonly #starts = new Map<string, number[]>();

  constructor(deps: StartLimitsDeps) {
    this.#deps = deps;
  }

  /** Whether the next start would be taken now. @throws MusterError `push_jobs_running`, `push_jobs_started` */
  check(caller: Identity, org: Organization, settings: PushSettings): void {
    const { max_running, max_starts } = this.#deps.config.push;
    this.#checkRunning(caller, org, lesser(max_running, settings.maxRunning));
    this.#checkStarts(caller, org, lesser(max_starts, settings.maxStarts));
  }

  /** To be called when nothing but storing it stands between the user and the job. @throws MusterError as `check` does */
  take(caller: Identity, org: Organization, settings: PushSettings): void {
    this.check(caller, org, settings);
    if (lesser(this.#deps.config.push.max_starts, settings.maxStarts) > 0) this.#countStart(caller, org);
  }

  #checkRunning({ principalId, name }: Identity, org: Organization, limit: number): void {
    if (limit === 0) return;
    let running = 0;
    for (const { spec, org: its } of this.#deps.controller.unfinished()) {
      if (its.id === org.id && spec.requesterId === principalId) running += 1;
    }
    if (running >= limit) throw new MusterError('push_jobs_running', { name, running, limit });
  }

  #checkStarts(caller: Identity, org: Organization, limit: number): void {
    if (limit === 0) return;
    const now = this.#deps.clock.monotonic();
    const starts = this.#starts.get(keyOf(caller, org)) ?? [];
    const first = starts.at(-limit);
    if (first === undefined || first <= now - MINUTE_MS) return;
    const seconds = Math.max(1, Math.ceil((first + MINUTE_MS - now) / 1000));
    throw new MusterError('push_jobs_started', { name: caller.name, limit, seconds });
  }

  #countStart(caller: Identity, org: Organization): void {
    const key = keyOf(caller, org);
    const now = this.#deps.clock.monotonic();
    const starts = this.#starts.get(key) ?? [];
    while (starts[0] !== undefined && starts[0] <= now - MINUTE_MS) starts.shift();
    starts.push(now);
    this.#starts.delete(key);
    this.#starts.set(key, starts);
    this.#forget(now - MINUTE_MS);
  }

  /** Who has started nothing since then, and of too many users the one who was here longest ago. */
  #forget(since: number): void {
    for (const [key, starts] of this.#starts) {
      const last = starts.at(-1) ?? since;
      if (last > since && this.#starts.size <= START_LIMITS.users) return;
      this.#starts.delete(key);
    }
  }
}

function keyOf({ principalId }: Identity, { id }: Organization): string {
  return `${id}/${principalId}`;
}

/** An organization narrows what the server allows; 0: any number. */
function lesser(ofServer: number, ofOrganization: number | null): number {
  if (ofOrganization === null) return ofServer;
  return ofServer === 0 ? ofOrganization : Math.min(ofServer, ofOrganization);
}
