import type { App } from '@muster/platform/http';
import type { Nodes } from './layer.js';
import { nodeRoutes } from './routes.js';

export { nodeFinder } from './finding.js';
/** What the layer shows over HTTP; apart, so that a process without HTTP does not load it. */
export { type SshNodeRouteDeps, sshNodeRoutes } from './ssh-nodes/routes.js';

export function nodesRoutes({ inventory }: Pick<Nodes, 'inventory'>): (app: App) => void {
  return (app) => nodeRoutes(app, inventory);
}
