import { formatMicros, showFeed } from '@muster/platform/feeds';
import type { App, EventStreams } from '@muster/platform/http';
import {
  answerOutput,
  OCTETS,
  OUTPUT_DESCRIPTION,
  OutputAnswer,
  OutputQuery,
  type OutputStream,
} from '@muster/platform/output';
import type { PushFeeds } from '../feeds.js';
import { outputOf, outputStanding } from '../output.js';
import type { PushLog } from '../ports.js';
import { nodeStatuses } from '../repository/reads.js';
import type { PushJobSpec } from '../types.js';
import { existingJob, type JobRouteDeps } from './job-routes.js';
import * as schemas from './schemas.js';
import { singleJob } from './view.js';

export interface StreamRouteDeps extends JobRouteDeps {
  readonly streams: EventStreams;
  readonly feeds: PushFeeds;
  readonly logger: PushLog;
  readonly now: () => number;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

const PUSHY = '/organizations/:org/pushy';

/** Event feeds (sheet §7.10). */
export function feedRoutes(app: App, deps: StreamRouteDeps): void {
  const accept = 'text/event-stream';
  const keepaliveMs = deps.config.push.keepalive * 1000;
  const { streams, logger, feeds } = deps;

  app.route({
    method: 'GET',
    url: `${PUSHY}/job_status_feed`,
    config: { permission: 'push:read', accept },
    schema: {
      tags: ['event feeds'],
      operationId: 'followPushJobs',
      summary: 'Starts and ends of all jobs, as server-sent events',
      description: 'Never ends. `Last-Event-ID` goes on after an event.',
      params: schemas.OrgParams,
      response: { 200: schemas.EventStreamAnswer },
    },
    handler: async (request, reply) => {
      const { id } = request.organization;
      showFeed(reply, { streams, logger, keepaliveMs }, (lastEventId, signal) =>
        feeds.organization.stream(id, lastEventId, signal),
      );
      return reply;
    },
  });

  app.route({
    method: 'GET',
    url: `${PUSHY}/job_status_feed/:id`,
    config: { permission: 'push:job', accept },
    schema: {
      tags: ['event feeds'],
      operationId: 'followPushJob',
      summary: 'Everything that happens in one job, as server-sent events',
      description: 'Ends with the job. Some time after its end: one `summary` event.',
      params: schemas.JobParams,
      response: { 200: schemas.EventStreamAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params } = request;
      const job = await existingJob(deps, organization, params.id);
      if (job.phase === 'finished' && !deps.controller.isLive(job.id)) {
        const nodes = await nodeStatuses(deps.read, job.id);
        const summary = singleJob(job, nodes, { includeFile: false, detail: false });
        const stream = streams.open(reply, { keepaliveMs });
        const timestamp = formatMicros(deps.now() * 1000);
        stream.send({ event: 'summary', id: 'job-1', data: { timestamp, ...summary } });
        stream.end();
        return reply;
      }
      showFeed(reply, { streams, logger, keepaliveMs }, (lastEventId, signal) =>
        feeds.subject.stream(organization.id, job.id, lastEventId, signal),
      );
      return reply;
    },
  });
}

/** Captured output (sheet §7.8), also while the command runs. */
export function outputRoutes(app: App, deps: StreamRouteDeps): void {
  outputRoute(app, deps, 'stdout');
  outputRoute(app, deps, 'stderr');
}

function outputRoute(app: App, deps: StreamRouteDeps, stream: OutputStream): void {
  const { read, streams, logger, stopping, controller } = deps;
  const answerDeps = { read, streams, logger, stopping, followers: controller.outputFollowers };
  app.route({
    method: 'GET',
    url: `${PUSHY}/jobs/:id/output/:node/${stream}`,
    config: { permission: 'push:job', accept: OCTETS, showsOutput: true, goesOn: true },
    schema: {
      tags: ['push jobs'],
      operationId: stream === 'stdout' ? 'getPushJobStdout' : 'getPushJobStderr',
      summary: `What a node wrote to ${stream}`,
      description: OUTPUT_DESCRIPTION,
      params: schemas.OutputParams,
      querystring: OutputQuery,
      response: { 200: OutputAnswer, 206: OutputAnswer },
    },
    handler: async (request, reply) => {
      const { organization, params, query } = request;
      const job = await existingJob(deps, organization, params.id);
      const { capture } = JSON.parse(job.spec) as PushJobSpec;
      const of = { ...outputOf(job.id, params.node), stream };
      await answerOutput(reply, answerDeps, of, query, () =>
        outputStanding(read, { id: job.id, capture }, params.node),
      );
      return reply;
    },
  });
}
