import type { OwnVariables } from '../execution/environment.js';

/** What a push job's command is told of itself (sheet §6.6), under the names of Chef Push Jobs and our own. */
export function ownVariables(nodeName: string, jobId: string): OwnVariables {
  const prefixes = ['CHEF_PUSH_', 'MUSTER_'];
  return {
    values: Object.fromEntries(
      prefixes.flatMap((prefix) => [
        [`${prefix}NODE_NAME`, nodeName],
        [`${prefix}JOB_ID`, jobId],
      ]),
    ),
    file: prefixes.map((prefix) => `${prefix}JOB_FILE`),
  };
}
