import type { App } from '@muster/platform/http';
import { answerOutput, OCTETS, OUTPUT_DESCRIPTION, OutputAnswer, type OutputStream } from '@muster/platform/output';
import { outputOfAttempt, outputStanding } from '../output.js';
import { existingTask, type TaskRouteDeps } from './deps.js';
import * as schemas from './schemas.js';

/** What tasks wrote, also while they run. */
export function outputRoutes(app: App, deps: TaskRouteDeps): void {
  outputRoute(app, deps, 'stdout');
  outputRoute(app, deps, 'stderr');
}

function outputRoute(app: App, deps: TaskRouteDeps, stream: OutputStream): void {
  const { read, streams, logger, stopping, outputFollowers: followers } = deps;
  app.route({
    method: 'GET',
    url: `/organizations/:org/tasks/:id/output/${stream}`,
    config: { permission: 'task:read', accept: OCTETS, showsOutput: true, goesOn: true },
    schema: {
      tags: ['tasks'],
      operationId: stream === 'stdout' ? 'getTaskStdout' : 'getTaskStderr',
      summary: `What a run of a task wrote to ${stream}`,
      description: OUTPUT_DESCRIPTION,
      params: schemas.TaskParams,
      querystring: schemas.OutputQuery,
      response: { 200: OutputAnswer, 206: OutputAnswer },
    },
    handler: async ({ organization, params, query }, reply) => {
      const task = await existingTask(deps, organization.id, params.id);
      const { attempt = task.attempt, ...asked } = query;
      const of = { ...outputOfAttempt(task.id, attempt), stream };
      await answerOutput(reply, { read, streams, logger, stopping, followers }, of, asked, () =>
        outputStanding(read, organization.id, task.id, attempt),
      );
      return reply;
    },
  });
}
