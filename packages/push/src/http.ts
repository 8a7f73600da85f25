import type { Auth } from '@muster/platform/auth';
import type { App, EventStreams } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
import type { Push } from './layer.js';
import { nodeStateRoutes } from './ownership/routes.js';
import { pushAccess } from './routes/access.js';
import { jobRoutes } from './routes/job-routes.js';
import { feedRoutes, outputRoutes } from './routes/stream-routes.js';

export interface PushRoutesDeps {
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'nodeGroups' | 'organizations' | 'rights'>;
  readonly streams: EventStreams;
}

/** What the layer shows over HTTP; apart, so that a process without HTTP does not load it. */
export function pushRoutes(base: Base, push: Push, { auth, streams }: PushRoutesDeps): (app: App) => void {
  const { store, clock, config, logger, random } = base;
  const { controller, feeds, nodes, owners, stopping } = push;
  const deps = {
    read: store.read,
    controller,
    nodes,
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
    jobRoutes(app, deps);
    feedRoutes(app, deps);
    outputRoutes(app, deps);
  };
}
