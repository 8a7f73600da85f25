import type { Auth } from '@muster/platform/auth';
import type { App, EventStreams } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
import { policyRoutes } from './approvals/policy-routes.js';
import { approvalRoutes } from './approvals/routes.js';
import { commandRoutes } from './commands/routes.js';
import { fileRoutes } from './files/routes.js';
import type { Push } from './layer.js';
import { nodeStateRoutes } from './ownership/routes.js';
import { pushAccess } from './routes/access.js';
import { jobRoutes } from './routes/job-routes.js';
import { liveOutputRoute } from './routes/live-output.js';
import { resultRoutes } from './routes/results.js';
import { settingsRoutes } from './routes/settings.js';
import { feedRoutes, outputRoutes } from './routes/stream-routes.js';
import { whoRoutes } from './routes/who.js';
import type { RunbookLayer } from './runbooks/layer.js';
import { runbookRoutes } from './runbooks/routes.js';
import { secretRoutes } from './secrets/routes.js';

export { pushFinders } from './finding.js';

export interface PushRoutesDeps {
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'nodeGroups' | 'organizations' | 'repository' | 'rights'>;
  readonly streams: EventStreams;
  readonly runbooks: Pick<RunbookLayer, 'approvals'>;
}

/** What the layer shows over HTTP; apart, so that a process without HTTP does not load it. */
export function pushRoutes(
  base: Base,
  push: Push,
  { auth, streams, runbooks: { approvals } }: PushRoutesDeps,
): (app: App) => void {
  const { store, clock, config, logger, random } = base;
  const { commands, controller, feeds, files, limits, nodes, owners, secrets, stopping } = push;
  const deps = {
    files,
    read: store.read,
    controller,
    nodes,
    owners,
    commands,
    limits,
    secrets,
    audit: auth.audit,
    access: pushAccess(auth),
    approvals,
    config,
    logger,
    feeds,
    streams,
    maxNodes: config.push.max_nodes,
    random,
    now: () => clock.now(),
    stopping,
  };
  return (app) => {
    nodeStateRoutes(app, { nodes, owned: (node) => owners.owned(node) });
    commandRoutes(app, deps);
    jobRoutes(app, deps);
    whoRoutes(app, { nodes, auth });
    feedRoutes(app, deps);
    outputRoutes(app, deps);
    liveOutputRoute(app, deps);
    resultRoutes(app, deps);
    settingsRoutes(app, { ...deps, store });
    secretRoutes(app, { store, secrets, audit: auth.audit, log: logger });
    fileRoutes(app, { store, clock, files, audit: auth.audit, rates: config.files, stopping });
  };
}

/** What runbooks and approvals show. */
export function runbooksRoutes(
  { runbooks, approvals, policies }: RunbookLayer,
  { auth }: { readonly auth: Pick<Auth, 'authorize' | 'rights'> },
): (app: App) => void {
  return (app) => {
    runbookRoutes(app, { runbooks, approvals, auth });
    approvalRoutes(app, { approvals, auth });
    policyRoutes(app, { policies });
  };
}
