import { blocked, clear, hopeless } from './answers.js';
import type { Tester } from './types.js';

/** The app `appId` is enabled. */
export const application: Tester = {
  types: ['DEFAULT_APPLICATION_TESTER'],
  async test({ orgId, parameters: { appId = '' } }, { read }) {
    const app = await read
      .selectFrom('job_apps')
      .select('enabled')
      .where('org_id', '=', orgId)
      .where('app_id', '=', appId)
      .executeTakeFirst();
    if (app === undefined) return hopeless(`there is no app ${appId} any more`);
    return app.enabled === 1 ? clear(`the app ${appId} is enabled`) : blocked(`the app ${appId} is disabled`);
  },
};
