import type { EventLog } from '@muster/fabric';
import type { Auth } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
import type { Calendars, Tasks } from '@muster/tasks';
import type { RuleLayer } from './layer.js';
import { ruleRoutes } from './routes.js';

export { ruleFinder } from './finding.js';

export interface RulesRoutesDeps {
  readonly auth: Auth;
  readonly tasks: Pick<Tasks, 'controller'>;
  readonly calendars: Calendars;
  readonly log: EventLog;
}

/** What the layer shows over HTTP; apart, so that a process without HTTP does not load it. */
export function rulesRoutes(
  { clock, config }: Pick<Base, 'clock' | 'config'>,
  { rules, starting, granted }: RuleLayer,
  { auth, tasks, calendars, log }: RulesRoutesDeps,
): (app: App) => void {
  const maxParams = config.tasks.max_params;
  return (app) => ruleRoutes(app, { rules, starting, granted, auth, clock, tasks, calendars, maxParams, log });
}
