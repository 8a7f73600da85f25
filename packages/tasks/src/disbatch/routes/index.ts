import type { DisbatchDeps, DisbatchRoute } from '../interface.js';
import { nodeRoutes } from './nodes.js';
import { operationRoutes } from './operation.js';
import { queueRoutes } from './queues.js';
import { oldTaskRoutes } from './tasks-4-0.js';
import { taskRoutes } from './tasks-4-4.js';
import { versionThreeRoutes } from './version-3.js';

/** Every route of the command interface, those of all versions at once. */
export function disbatchRoutes(deps: DisbatchDeps): readonly DisbatchRoute[] {
  const routes: readonly DisbatchRoute[] = [
    ...nodeRoutes(deps),
    ...queueRoutes(deps),
    ...taskRoutes(deps),
    ...oldTaskRoutes(deps),
    ...operationRoutes(deps, () => routes),
    ...versionThreeRoutes(deps),
  ];
  return routes;
}
