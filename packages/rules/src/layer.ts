import type { Jobs } from '@muster/jobs';
import type { Auth } from '@muster/platform/auth';
import { EventWatch, Followers } from '@muster/platform/events';
import type { Base, Layer } from '@muster/platform/layers';
import type { EventFamily } from '@muster/platform/log';
import { Upkeep } from '@muster/platform/upkeep';
import type { RunbookLayer } from '@muster/push';
import { Leases } from '@muster/store';
import type { Calendars, Tasks } from '@muster/tasks';
import { Acting } from './acting.js';
import { enabledRules, heedingRules, Rules } from './directory.js';
import { GrantedRules } from './granted.js';
import { Holds } from './holds.js';
import { RULE_LIMITS } from './limits.js';
import { Starting } from './starting.js';
import type { Rule } from './types.js';

export interface RuleLayerDeps {
  readonly auth: Auth;
  /** What the layers of this process tell. */
  readonly families: readonly EventFamily[];
  readonly runbooks: RunbookLayer;
  readonly tasks: Pick<Tasks, 'controller'>;
  readonly jobs: Pick<Jobs, 'acceptance'>;
  readonly calendars: Calendars;
}

export interface RuleLayer extends Required<Pick<Layer, 'start' | 'stop'>> {
  readonly rules: Rules;
  readonly starting: Starting;
  readonly granted: GrantedRules;
}

const PRUNE_MS = 600_000;

/** Events that start runbooks, tasks and jobs, composed. Started after these, and stopped before them. */
export function createRules(
  base: Base,
  { auth, families, runbooks, tasks, jobs, calendars }: RuleLayerDeps,
): RuleLayer {
  const { store, recorder, clock, random, logger, config, incarnation } = base;
  const starting = new Starting({ auth, runbooks, tasks, jobs, maxParams: config.tasks.max_params });
  const leases = new Leases({ store, clock, holder: incarnation });
  const held = (until: number): void => holds.look(until);
  const acting = new Acting({ store, recorder, clock, auth, starting, calendars, held });
  const holds = new Holds({ store, leases, clock, log: logger, acting, calendars });
  calendars.heeds((orgId, calendar) => heedingRules(store.read, orgId, calendar));
  calendars.onChanged(() => holds.look(clock.now()));
  const watch = new EventWatch<Rule>({
    name: 'rules',
    store,
    leases,
    clock,
    log: logger,
    recorder,
    repository: auth.repository,
    followers: new Followers(auth.rights, families),
    maxSize: config.events.max_size,
    choosers: () => enabledRules(store.read),
    act: (chosen, stamp) => acting.act(chosen, stamp),
  });
  const upkeep = new Upkeep({
    clock,
    pauseMs: PRUNE_MS,
    async round() {
      const before = clock.now() - RULE_LIMITS.keepMs;
      await store.transact((trx) =>
        trx.deleteFrom('rule_runs').where('at', '<', before).where('outcome', '!=', 'waiting').execute(),
      );
    },
    failed: (error) => logger.warn({ err: error }, 'old runs of rules could not be deleted'),
  });
  const rules = new Rules({ store, recorder, clock, random, auth, approvals: runbooks.approvals });
  const granted = new GrantedRules({ rules, starting, runbooks });
  runbooks.approvals.handle('rule', granted);
  return {
    rules,
    starting,
    granted,
    start() {
      watch.start();
      holds.start();
      upkeep.start();
    },
    async stop() {
      await Promise.all([watch.stop(), holds.stop(), upkeep.stop()]);
    },
  };
}
