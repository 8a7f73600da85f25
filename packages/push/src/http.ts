import type { Auth } from '@muster/platform/auth';
import type { App, EventStreams } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
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
import type { RunbookLayer } from './runbooks/layer.js';
import { runbookRoutes } from './runbooks/routes.js';
import { secretRoutes } from './secrets/routes.js';

export interface PushRoutesDeps {
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'nodeGroups' | 'organizations' | 'rights'>;
  readonly streams: EventStreams;
}

/** What the layer shows over HTTP; apart, so that a process without HTTP does not load it. */
export function pushRoutes(base: Base, push: Push, { auth, streams }: PushRoutesDeps): (app: App) => void {
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
    feedRoutes(app, deps);
    outputRoutes(app, deps);
    liveOutputRoute(app, deps);
    resultRoutes(app, deps);
    settingsRoutes(app, { ...deps, store });
    secretRoutes(app, { store, secrets, audit: auth.audit });
    fileRoutes(app, { store, clock, files, audit: auth.audit, rates: config.files, stopping });
  };
}

/** What runbooks and approvals show. */
export function runbooksRoutes(
  { runbooks, approvals }: RunbookLayer,
  { auth }: { readonly auth: Pick<Auth, 'authorize' | 'rights'> },
): (app: App) => void {
  return (app) => {
    runbookRoutes(app, { runbooks, approvals, auth });
    approvalRoutes(app, { approvals, auth });
  };
}
