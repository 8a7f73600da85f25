import type { App } from '../apps/types.js';
import { obstacle } from '../recovery/conditions/index.js';
import { Blocked, Failed } from '../types.js';
import type { PhaseContext } from './context.js';

/** @throws Failed when it was deleted; Blocked while it is disabled */
export async function appOf({ apps, job }: Pick<PhaseContext, 'apps' | 'job'>): Promise<App> {
  const app = await apps.find(job.orgId, job.appId);
  if (app === null) throw new Failed('JOB_INVALID_DEFINITION', `the app ${job.appId} is not there any more`);
  if (!app.enabled) {
    const { appId } = job;
    throw new Blocked(obstacle('APPLICATION_NOT_AVAILABLE', `the app ${appId} is disabled`, { appId }));
  }
  return app;
}
